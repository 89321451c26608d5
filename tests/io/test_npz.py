"""NumPy archives: label sets and tracks."""

import numpy as np
import pytest

from setloss.io import LabelSets, Tracks, read

X = np.arange(12.0).reshape(4, 3)
Y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_label_sets(tmp_path, dtype, save):
    names = {"feature_names": np.array(["a", "b", "c"]), "label_names": np.array(["p", "q"])}
    save(tmp_path / "a.npz", X=np.asfortranarray(X.astype(dtype)), Y=2 * Y - 1, **names)
    data = read(tmp_path / "a.npz")
    assert isinstance(data, LabelSets)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y, Y)
    assert (data.X.dtype, data.Y.dtype) == (dtype, np.int64)
    assert (data.feature_names, data.label_names) == (("a", "b", "c"), ("p", "q"))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float16, np.longdouble])
def test_other_numbers_become_float64_and_labels_may_be_missing(tmp_path, kind):
    holes = np.where(np.eye(4, 2), np.nan, Y)
    np.savez(tmp_path / "a.npz", X=Y.astype(kind), Y=holes)
    data = read(tmp_path / "a.npz")
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, Y)
    np.testing.assert_array_equal(data.Y, holes)


@pytest.mark.parametrize("groups", [np.array([7, 7, 3, 7]), np.array(["b", "b", "a", "b"])])
def test_tracks(tmp_path, groups):
    np.savez(tmp_path / "a.npz", X=X, y=[1, 1, -1, 1], groups=groups)
    data = read(tmp_path / "a.npz")
    assert isinstance(data, Tracks)
    np.testing.assert_array_equal(data.y, [1, 1, 0, 1])
    np.testing.assert_array_equal(data.groups, groups)
    np.savez(tmp_path / "new.npz", X=X, groups=groups)
    assert read(tmp_path / "new.npz").y is None


def test_an_archive_of_features_alone_has_no_labels(tmp_path):
    np.savez(tmp_path / "a.npz", X=X)
    assert read(tmp_path / "a.npz").Y.shape == (4, 0)
