"""Mulan's ARFF and XML files: small ones by hand, and the real ones against their published statistics."""

import csv
import io

import numpy as np
import pytest
from scipy.io import arff as scipy_arff

from helpers.real_data import folder
from setloss.io import DatasetError, read

XML = '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'


def written(tmp_path, text, labels=("p", "q"), name="data.arff", xml="data.xml"):
    (tmp_path / xml).write_text(XML.format("".join(f'<label name="{label}"></label>' for label in labels)))
    (tmp_path / name).write_text(text)
    return tmp_path / name


DENSE = r"""% a comment
@RELATION 'with blanks'

@Attribute 'a name' NUMERIC
@attribute 'it\'s' real
@attribute p {0,1}
@attribute	n	integer
@attribute q { 1 , 0 }
@DATA
% another
0.5, -1e3, 0, 7, 1
 1,2,1,3,'0'
"""


def test_dense(tmp_path):
    data = read(written(tmp_path, DENSE))
    np.testing.assert_array_equal(data.X, [[0.5, -1000, 7], [1, 2, 3]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])
    assert data.feature_names == ("a name", "it's", "n")
    assert data.label_names == ("p", "q")
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)


SPARSE = """@relation r
@attribute a numeric
@attribute p {0,1}
@attribute b {0,1}
@attribute q {1,0}
@data
{0 2.5,1 1,3 0}
{}
{ 2 1 , 0 -1 }
{0 0, 3 1}
"""


def test_sparse_rows_leave_out_the_first_declared_value(tmp_path):
    data = read(written(tmp_path, SPARSE))
    np.testing.assert_array_equal(data.X.toarray(), [[2.5, 0], [0, 0], [-1, 1], [0, 0]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 1], [0, 1]])
    assert data.X.format == "csr"
    assert data.X.nnz == 3


def test_dense_and_sparse_say_the_same(tmp_path):
    header = (
        "@relation r\n@attribute c {red,'dark blue',10}\n@attribute x real\n"
        "@attribute z {1,0}\n@attribute p {0,1}\n@data\n"
    )
    dense = read(written(tmp_path, header + "10,1,0,1\nred,0,1,0\n'dark blue',3,0,1\n", labels=["p"]))
    sparse = read(
        written(tmp_path, header + "{0 10,1 1,2 0,3 1}\n{}\n{0 'dark blue', 1 3, 2 0, 3 1}\n", labels=["p"])
    )
    np.testing.assert_array_equal(dense.X, [[1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [3, 0, 1, 0, 0]])
    np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    np.testing.assert_array_equal(sparse.Y, dense.Y)
    assert dense.feature_names == sparse.feature_names == ("x", "c=red", "c=dark blue", "c=10", "z")


HEADER = "@relation r\n@attribute a real\n@attribute p {0,1}\n@attribute q {0,1}\n@data\n"
NAN = np.nan


@pytest.mark.parametrize(
    ("text", "Y"),
    [
        (HEADER + "1,?,0\n2,1,?\n3,0,1\n", [[NAN, 0], [1, NAN], [0, 1]]),
        (HEADER + "{0 1,1 ?}\n{0 2,1 1,2 ?}\n{0 3,2 1}\n", [[NAN, 0], [1, NAN], [0, 1]]),
        (
            HEADER.replace("p {0,1}", "p {-1,+1}").replace("q {0,1}", "q numeric") + "1,-1,1\n2,+1,1\n",
            [[0, 1], [1, 1]],
        ),
    ],
)
def test_missing_labels_labels_of_minus_one_and_of_one_class(tmp_path, text, Y):
    data = read(written(tmp_path, text))
    np.testing.assert_array_equal(data.Y, Y)
    assert data.Y.dtype == np.array(Y).dtype


def test_labels_by_file_hierarchy_and_number(tmp_path):
    path = written(tmp_path, DENSE, labels=["q"])
    (tmp_path / "tree.xml").write_text(XML.format('<label name="q"><label name="p"/></label>'))
    assert read(path).label_names == ("q",)
    assert read(path, labels=tmp_path / "tree.xml").label_names == ("p", "q")
    assert read(path, labels=1).label_names == ("q",)


@pytest.mark.parametrize("name", ["d-train.arff", "d-test.arff", "d_Train.arff", "d.arff"])
def test_the_xml_file_beside(tmp_path, name):
    assert read(written(tmp_path, DENSE, name=name, xml="d.xml")).label_names == ("p", "q")


@pytest.mark.parametrize(
    ("name", "sizes", "d", "p", "cardinality"),
    [
        ("emotions", (391, 202), 72, 6, 1.8685),
        ("scene", (1211, 1196), 294, 6, 1.074),
        ("yeast", (1500, 917), 103, 14, 4.2371),
        ("medical", (333, 645), 1449, 45, 1.2454),
    ],
)
def test_real_data(name, sizes, d, p, cardinality):
    train, test = (read(folder(name) / f"{name}-{split}.arff") for split in ("train", "test"))
    assert (train.X.shape, test.X.shape) == ((sizes[0], d), (sizes[1], d))
    assert (train.Y.shape, test.Y.shape) == ((sizes[0], p), (sizes[1], p))
    assert train.feature_names == test.feature_names
    assert len(train.feature_names) == d
    assert train.label_names == test.label_names
    Y = np.concatenate([train.Y, test.Y])
    assert Y.sum(1).mean() == pytest.approx(cardinality, abs=1e-3)
    assert Y.sum(1).min() > 0
    if name in ("emotions", "yeast"):  # which scipy reads, too
        records, _ = scipy_arff.loadarff(io.StringIO((folder(name) / f"{name}-test.arff").read_text()))
        columns = (*test.feature_names, *test.label_names)
        theirs = np.column_stack([records[column].astype(float) for column in columns])
        np.testing.assert_array_equal(np.hstack([test.X, test.Y]), theirs)


def test_features_of_a_file_without_labels(tmp_path):
    header = "@relation r\n@attribute x real\n@attribute c {red,blue}\n@attribute z {0,1}\n@data\n"
    (tmp_path / "a.arff").write_text(header + "1,blue,?\n2,red,1\n3,?,0\n")
    found = read(tmp_path / "a.arff", labels=0)
    np.testing.assert_array_equal(found.X, [[1, np.nan, 0, 1], [2, 1, 1, 0], [3, 0, np.nan, np.nan]])
    assert found.feature_names == ("x", "z", "c=red", "c=blue")
    assert found.Y.shape == (3, 0)


def test_a_cell_that_is_too_long_for_the_parser_is_told(tmp_path, request):
    before = csv.field_size_limit(131_072)  # as Python has it; other packages raise it
    request.addfinalizer(lambda: csv.field_size_limit(before))
    path = written(tmp_path, DENSE.replace(" 1,2,1,3,'0'", f"{'1' * 140_000},2,1,3,0"))
    with pytest.raises(DatasetError, match=r"data.arff cannot be read as ARFF: field larger than field limit"):
        read(path)
