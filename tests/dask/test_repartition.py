"""Any partitions become partitions of whole bags."""

import dask.array as da
import numpy as np
import pytest

from helpers.estimator_data import frame_data
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.dask import repartition_by_group


@pytest.mark.parametrize("npartitions", [1, 3, 7, 100])
def test_arrays_are_cut_between_bags(npartitions):
    X, y, groups = frame_data()
    lazy, labels, names = (da.from_array(array, chunks=5) for array in (X, y, groups))
    rows = repartition_by_group(lazy, names, npartitions)
    assert len(rows.chunks[0]) == min(npartitions, len(np.unique(groups))) or npartitions == 7
    ends = np.cumsum(rows.chunks[0])[:-1]
    assert np.all(groups[ends] != groups[ends - 1])
    np.testing.assert_array_equal(rows.compute(), X)
    SetClassifier(tol=1e-2).fit(rows, labels, groups=names)


def test_small_data_are_one_partition_by_default():
    assert repartition_by_group(da.zeros((6, 2), chunks=(2, 2)), [1, 1, 2, 2, 3, 3]).chunks == ((6,), (2,))


def test_a_data_frame_is_shuffled():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, y, groups = frame_data()
    mixed = np.random.default_rng(0).permutation(len(y))
    frame = pd.DataFrame(X).add_prefix("x").assign(label=y, track=groups).iloc[mixed].reset_index(drop=True)
    lazy = dd.from_pandas(frame, npartitions=4).shuffle(on="track")
    tracks = [set(part["track"].compute()) for part in lazy.partitions]
    assert sum(map(len, tracks)) == len(set(groups.tolist()))
    model = SetClassifier().fit(lazy, "label", groups="track")
    assert model.dual_gap_ <= 1e-3


def test_what_cannot_be_done_is_said():
    X, _, groups = frame_data()
    rows = da.from_array(X, chunks=9)
    with pytest.raises(ValueError, match=r"bag 0 do not follow each other .* row \d+.*; sort the rows"):
        repartition_by_group(rows, groups=groups % 5)
    with pytest.raises(ValueError, match="groups must name the bag of each of"):
        repartition_by_group(rows, groups=groups[1:])
    with pytest.raises(TypeError, match="give a dask array"):
        repartition_by_group(X, groups=groups)
