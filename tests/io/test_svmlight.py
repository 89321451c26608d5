"""Multi-label svmlight files, written by hand and by scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from helpers.real_data import folder
from setloss.io import read


def written(tmp_path, text, name="data.svm"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_label_sets_empty_sets_comments_and_blank_lines(tmp_path):
    data = read(written(tmp_path, "# a comment\n1,3 1:0.5 4:1 # note\n 2:-2e-1\n\n2\n"))
    np.testing.assert_array_equal(data.Y, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(data.X.toarray(), [[0, 0.5, 0, 0, 1], [0, 0, -0.2, 0, 0], [0, 0, 0, 0, 0]])
    assert data.Y.dtype == np.int64
    assert data.label_names == ("1", "2", "3")
    assert data.feature_names is None


@pytest.mark.parametrize(
    ("text", "options", "Y", "d"),
    [
        ("0,2 1:1 3:1\n1 2:1\n", {}, [[1, 0, 1], [0, 1, 0]], 4),  # labels from 0, features from 1
        ("1 0:1 3:1\n12 1:1\n5 1:1", {}, [[1, 0, 0], [0, 0, 1], [0, 1, 0]], 4),  # only what is there
        ("2 1:1\n", {"labels": ["0", "1", "2"], "features": 5}, [[0, 0, 1]], 5),
        ("2 1:1\n", {"labels": ["1", "2", "3"]}, [[0, 1, 0]], 2),
        (" 1:1\n", {}, [[]], 2),
    ],
)
def test_numbering(tmp_path, text, options, Y, d):
    data = read(written(tmp_path, text), **options)
    np.testing.assert_array_equal(data.Y, Y)
    assert data.X.shape == (len(Y), d)


def test_many_labels_come_as_a_sparse_matrix(tmp_path, monkeypatch):
    monkeypatch.setattr("setloss.io.data.MAX_DENSE", 8 * 2 * 33_000 - 1)
    data = read(written(tmp_path, "0,32999 1:1\n5,5 1:2\n"), labels=list(map(str, range(33_000))))
    assert data.Y.format == "csr"
    assert data.Y.dtype == np.int64
    assert data.Y.shape == (2, 33_000)
    assert data.Y.sum(axis=1).tolist() == [2, 1]
    assert data.Y.indices.dtype == data.X.indices.dtype == np.int32, "as liblinear wants them"


@pytest.mark.parametrize("name", ["medical", "emotions"])
def test_round_trip_of_real_data(tmp_path, name):
    arff = read(folder(name) / f"{name}-train.arff")
    p, d = arff.Y.shape[1], arff.X.shape[1]
    dump_svmlight_file(arff.X, arff.Y, str(tmp_path / "a.libsvm"), multilabel=True)
    data = read(tmp_path / "a.libsvm", labels=list(map(str, range(p))), features=d)
    assert abs(data.X - arff.X).max() < 1e-12
    np.testing.assert_array_equal(data.Y, arff.Y)
