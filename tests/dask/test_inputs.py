"""Dask collections become partitions: arrays, DataFrames, and columns that are cut like the rows."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest

from helpers.estimator_data import frame_data, label_data
from helpers.partitioned import lengths, parted
from setloss.dask import DaskSetClassifier as SetClassifier


def test_labels_in_partitions_of_unknown_length_and_another_number():
    X, y, groups = frame_data()
    sizes = lengths(len(y), 2, groups)
    rows, labels, names = parted(sizes, X, y, groups)
    unknown = rows[da.from_array(np.ones(len(y), dtype=bool), chunks=(sizes,))]
    with pytest.raises(ValueError, match=r"y has 1 partitions and X 2.*compute_chunk_sizes"):
        SetClassifier().fit(unknown, labels.rechunk(-1), groups=names)


def test_labels_of_another_length():
    with pytest.raises(ValueError, match="y has 5 rows and X has 6"):
        SetClassifier().fit(da.zeros((6, 2), chunks=3), da.zeros((5, 2), chunks=5))


def test_labels_cut_elsewhere_are_cut_like_X():
    X, y, groups = frame_data()
    rows, labels, names = parted(lengths(len(y), 2, groups), X, y, groups)
    expected = SetClassifier().fit(rows, labels, groups=names)
    model = SetClassifier().fit(rows, labels.rechunk(7), groups=names.rechunk(-1))
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize(
    ("X", "message"),
    [(np.zeros((3, 2)), "takes dask arrays and DataFrames"), (da.zeros(3), "two axes")],
)
def test_what_is_no_dask_matrix(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SetClassifier().fit(X, da.zeros(3))


def table():
    """A DataFrame of frames, in three partitions of whole bags."""
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, y, groups = frame_data()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=y, track=groups, weight=1.0)
    edges = np.cumsum((0, *lengths(len(y), 3, groups)))
    return frame, dd.concat([dd.from_pandas(frame[lo:hi], npartitions=1) for lo, hi in pairwise(edges)])


def test_data_frames_give_what_arrays_give():
    frame, lazy = table()
    X, y, groups = frame_data()
    model = SetClassifier().fit(lazy, "label", groups="track", sample_weight="weight")
    sizes = lengths(len(y), 3, groups)
    np.testing.assert_array_equal(
        model.coef_, SetClassifier().fit(*parted(sizes, X, y), groups=parted(sizes, groups)[0]).coef_
    )
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    plain = model.to_local()
    np.testing.assert_array_equal(model.predict(lazy).compute(), plain.predict(frame[list("abcde")]))
    scores = model.decision_function(lazy.drop(columns="label")).compute()
    np.testing.assert_allclose(scores, plain.decision_function(frame[list("abcde")]))
    score = model.score(lazy, "label", groups="track")
    assert score == pytest.approx(plain.score(frame[list("abcde")], y, groups=groups))


def test_label_sets_in_columns_of_a_data_frame():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, Y = label_data(40)
    frame = pd.concat([pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")], axis=1)
    lazy = dd.from_pandas(frame, npartitions=3)
    model = SetClassifier().fit(lazy, ["y0", "y1", "y2"])
    predicted = model.predict(dd.from_pandas(frame, npartitions=2)).compute()
    np.testing.assert_array_equal(predicted, model.to_local().predict(frame.filter(like="x")))
    assert list(predicted.columns) == ["0", "1", "2"]


@pytest.mark.parametrize(("columns", "named"), [(("label", "shot"), "groups='shot'"), ((np.zeros(3),), "y=")])
def test_columns_that_are_not_there(columns, named):
    _, lazy = table()
    with pytest.raises(ValueError, match=rf"{named}.* names of its columns: a, b"):
        SetClassifier().fit(lazy, columns[0], groups=columns[1] if len(columns) > 1 else None)
