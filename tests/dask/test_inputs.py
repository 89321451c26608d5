"""Dask collections become partitions: arrays, DataFrames, and columns that are cut like the rows, or between bags."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from helpers.children import python
from helpers.estimator_data import frame_data, label_data
from helpers.partitioned import in_parts, lengths
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.dask import repartition_by_group

dd = pytest.importorskip("dask.dataframe")
X, y, groups = frame_data()
FEATURES = list("abcde")
TABLE = pd.DataFrame(X, columns=FEATURES).assign(label=y, track=groups, weight=1.0)


def test_without_dask_the_message_says_how_to_install_it():
    """Dask is an extra that `setloss.dask` asks for and the rest never imports."""
    result = python("import sys; sys.modules['dask'] = None; from setloss.estimators import *; import setloss.dask")
    assert result.returncode == 1
    assert "install it with: pip install 'setloss[dask]'" in result.stderr


def test_columns_cut_elsewhere_are_cut_like_X_if_their_lengths_are_known():
    data = in_parts(2, X, y, groups)
    expected = SetClassifier().fit(**data)
    model = SetClassifier().fit(data["X"], data["y"].rechunk(7), groups=data["groups"].rechunk(-1))
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    unknown = data["X"][da.from_array(np.ones(len(y), dtype=bool), chunks=(lengths(len(y), 2, groups),))]
    with pytest.raises(ValueError, match=r"y has 1 partitions and X 2.*compute_chunk_sizes"):
        SetClassifier().fit(unknown, data["y"].rechunk(-1), groups=data["groups"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((5, 2)), "takes dask arrays and DataFrames"),
        (da.zeros(5), "two axes"),
        (da.zeros((6, 2), chunks=3), "y has 5 rows and X has 6"),
    ],
)
def test_what_is_no_dask_matrix_or_of_another_length(rows, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SetClassifier().fit(rows, da.zeros(5))


# ---------------------------------------------------------------- tables


def test_data_frames_give_what_arrays_give():
    ends = np.cumsum((0, *lengths(len(y), 3, groups)))
    parts = [dd.from_pandas(TABLE[lo:hi], npartitions=1) for lo, hi in pairwise(ends)]
    lazy, rows = dd.concat(parts), TABLE[FEATURES]
    model = SetClassifier().fit(lazy, "label", groups="track", sample_weight="weight")
    np.testing.assert_array_equal(model.coef_, SetClassifier().fit(**in_parts(3, X, y, groups)).coef_)
    np.testing.assert_array_equal(model.feature_names_in_, FEATURES)
    plain = model.to_local()
    np.testing.assert_array_equal(model.predict(lazy).compute(), plain.predict(rows))
    scores = model.decision_function(lazy.drop(columns="label")).compute()
    np.testing.assert_allclose(scores, plain.decision_function(rows))
    assert model.score(lazy, "label", groups="track") == pytest.approx(plain.score(rows, y, groups=groups))


def test_label_sets_in_columns_of_a_data_frame():
    X, Y = label_data(40)
    frame = pd.concat([pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")], axis=1)
    model = SetClassifier().fit(dd.from_pandas(frame, npartitions=3), ["y0", "y1", "y2"])
    predicted = model.predict(dd.from_pandas(frame, npartitions=2)).compute()
    np.testing.assert_array_equal(predicted, model.to_local().predict(frame.filter(like="x")))
    assert list(predicted.columns) == ["0", "1", "2"]


@pytest.mark.parametrize(("columns", "named"), [(("label", "shot"), "groups='shot'"), ((np.zeros(3), None), "y=")])
def test_columns_that_are_not_there(columns, named):
    with pytest.raises(ValueError, match=rf"{named}.* names of its columns: a, b"):
        SetClassifier().fit(dd.from_pandas(TABLE, npartitions=3), columns[0], groups=columns[1])


# ---------------------------------------------------------------- partitions of whole bags


@pytest.mark.parametrize("npartitions", [1, 3, 7, 100, None])
def test_arrays_are_cut_between_bags(npartitions):
    lazy, labels, names = (da.from_array(array, chunks=5) for array in (X, y, groups))
    rows = repartition_by_group(lazy, names, npartitions)
    assert len(rows.chunks[0]) == min(npartitions or 1, len(np.unique(groups))) or npartitions == 7
    ends = np.cumsum(rows.chunks[0])[:-1]
    assert np.all(groups[ends] != groups[ends - 1])
    np.testing.assert_array_equal(rows.compute(), X)
    SetClassifier(tol=1e-2).fit(rows, labels, groups=names)


def test_a_data_frame_is_shuffled():
    mixed = TABLE.iloc[np.random.default_rng(0).permutation(len(y))].reset_index(drop=True)
    lazy = dd.from_pandas(mixed, npartitions=4).shuffle(on="track")
    tracks = [set(part["track"].compute()) for part in lazy.partitions]
    assert sum(map(len, tracks)) == len(set(groups.tolist()))
    assert SetClassifier().fit(lazy, "label", groups="track").dual_gap_ <= 1e-3


def test_what_cannot_be_cut_is_said():
    rows = da.from_array(X, chunks=9)
    with pytest.raises(ValueError, match=r"bag 0 do not follow each other .* row \d+.*; sort the rows"):
        repartition_by_group(rows, groups=groups % 5)
    with pytest.raises(ValueError, match="groups must name the bag of each of"):
        repartition_by_group(rows, groups=groups[1:])
    with pytest.raises(TypeError, match="give a dask array"):
        repartition_by_group(X, groups=groups)
