"""Labels in columns of tables: words and marks for yes and no, and all labels of a row in one cell."""

import numpy as np
import pytest

from setloss.io import DatasetError, read

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

NAN = np.nan


def labels_of(tmp_path, columns, labels, **options):
    frame = pd.DataFrame(columns)
    frame.assign(size=range(len(frame))).to_csv(tmp_path / "t.csv", index=False)
    return read(tmp_path / "t.csv", labels=labels, **options)


@pytest.mark.parametrize(
    ("cells", "options", "sets"),
    [
        (["a;b", "b", None, "c, d; a"], {}, [{"a", "b"}, {"b"}, set(), {"c, d", "a"}]),
        (["a|b", "b", None, "c, d|a"], {}, [{"a", "b"}, {"b"}, set(), {"c, d", "a"}]),
        (["a, b", "b", ",a", "b,b"], {}, [{"a", "b"}, {"b"}, {"a"}, {"b"}]),
        (["a/b", "b", "a", "b"], {"separator": "/"}, [{"a", "b"}, {"b"}, {"a"}, {"b"}]),
        (["a, b", "c", "a, b", "c"], {"separator": ";"}, [{"a, b"}, {"c"}, {"a, b"}, {"c"}]),
        (["a, b", "c", "a, b", "c"], {"separator": ""}, [{"a, b"}, {"c"}, {"a, b"}, {"c"}]),
        (["news", "sport", "news", None], {}, [{"news"}, {"sport"}, {"news"}, set()]),
        (["['a', 'b c']", "['b c']", "[]", '["it\'s", "a"]'], {}, [{"a", "b c"}, {"b c"}, set(), {"it's", "a"}]),
        (["['a' 'b']", "[b]", None, "[a, b]"], {"separator": ","}, [{"a", "b"}, {"b"}, set(), {"a", "b"}]),
        (["1;2", "2", "1", "2"], {}, [{"1", "2"}, {"2"}, {"1"}, {"2"}]),
    ],
)
def test_all_labels_of_a_row_in_one_cell(tmp_path, cells, options, sets):
    data = labels_of(tmp_path, {"tags": cells}, "tags", **options)
    assert list(data.label_names) == sorted(set.union(*sets))
    assert [{data.label_names[j] for j in np.flatnonzero(row)} for row in data.Y] == sets
    assert list(data.X.columns) == ["size"]
    assert (data.cell[0], data.Y.dtype) == ("tags", np.int64)
    assert ("empty cells (1)" in data.notes[0][1]) == (None in cells)


def test_many_labels_come_as_a_sparse_matrix(tmp_path, monkeypatch):
    monkeypatch.setattr("setloss.io.tables.MAX_DENSE", 8 * 2 * 3 - 1)
    Y = labels_of(tmp_path, {"tags": ["a;b;c", "b"]}, "tags").Y
    assert (Y.format, Y.dtype, Y.indices.dtype) == ("csr", np.int64, np.int32), "as liblinear wants them"
    assert Y.toarray().tolist() == [[1, 1, 1], [0, 1, 0]]


def test_commas_in_names_do_not_hide_a_rarer_sign_between_them(tmp_path):
    cells = ["Smith, J"] * 50 + ["Smith, J; Doe, A"]
    assert labels_of(tmp_path, {"who": cells}, "who").label_names == ("Doe, A", "Smith, J")
    cells = ["a, b"] * 500 + ["a; b"]
    assert labels_of(tmp_path, {"who": cells}, "who").label_names == ("a", "a; b", "b")


def test_lists_in_parquet(tmp_path):
    pd.DataFrame({"tags": [["a", "b"], ["b"], None], "size": [1, 2, 3]}).to_parquet(tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet", labels="tags")
    assert (data.label_names, data.Y.tolist()) == (("a", "b"), [[1, 1], [0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("columns", "found", "noted"),
    [
        ({"y_a": ["yes", "no", None], "y_b": [1, 0, 1]}, [[1, 1], [0, 0], [NAN, 1]], {"y_a"}),
        ({"y_a": ["x", None, "X"], "y_b": [1, 0, 1]}, [[1, 1], [0, 0], [1, 1]], {"y_a"}),
        ({"y_a": [1, None, 1], "y_b": [None, None, 1]}, [[1, 0], [0, 0], [1, 1]], {"y_a", "y_b"}),
        ({"y_a": [1, None, 1], "y_b": [None, None, None]}, [[1, 0], [0, 0], [1, 0]], {"y_a", "y_b"}),
        ({"y_a": [1, None, 1], "y_b": [0, 1, None]}, [[1, 0], [NAN, 1], [1, NAN]], {"y_a", "y_b"}),
        ({"y_a": ["T", "F", "t"], "y_b": [-1, 1, -1]}, [[1, 0], [0, 1], [1, 0]], {"y_a"}),
        ({"y_a": [0, 0, 0], "y_b": [True, False, True]}, [[0, 1], [0, 0], [0, 1]], {"y_a", "y_b"}),
    ],
)
def test_words_and_marks_are_labels_and_are_said(tmp_path, columns, found, noted):
    data = labels_of(tmp_path, columns, "y_")
    np.testing.assert_array_equal(data.Y, found)
    assert {name for name, _ in data.notes} == noted | {"y_..."}
    assert data.cell is None


def test_one_column_of_yes_and_no_is_one_label(tmp_path):
    assert labels_of(tmp_path, {"spam": ["yes", "no", "yes"]}, "spam").Y.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize(
    ("columns", "labels", "options", "words"),
    [
        ({"tags": ["a", "b", "c"]}, "tags", {}, "no label occurs twice in column 'tags'"),
        ({"y_a": ["x", "red", "x"], "y_b": [1, 1, 0]}, "y_", {}, "row 2, column 'y_a'"),
        ({"y_a": [1, 2, 3]}, "y_a", {}, "row 2, column 'y_a'"),
        ({"group": [1, 2, 3], "label": [1, 0, 1]}, None, {"separator": ";"}, "separator="),
    ],
)
def test_what_is_no_label_is_refused(tmp_path, columns, labels, options, words):
    with pytest.raises(DatasetError, match=words):
        labels_of(tmp_path, columns, labels, **options)


def test_columns_that_a_prefix_took_are_named(tmp_path):
    for columns in ({"tags": ["a;b", "b"]}, {"tag_a": [1, 0], "tag_b": [0, 1]}):
        notes = dict(labels_of(tmp_path, columns, "tag").notes)
        assert all(repr(name) in notes["tag..."] for name in columns)
    assert "tags..." not in dict(labels_of(tmp_path, {"tags": ["a;b", "b"]}, "tags").notes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(tmp_path, encoding):
    (tmp_path / "t.csv").write_text("tags,size\na;b,1\nb,2\n", encoding=encoding)
    with pytest.raises(DatasetError, match=r"UTF-16, .*save it in UTF-8"):
        read(tmp_path / "t.csv", labels="tags")


def test_words_in_the_one_label_column_of_tracks_are_refused_as_such(tmp_path):
    pd.DataFrame({"group": [1, 1], "label": ["cat", "dog"], "x": [1, 2]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DatasetError, match="'cat'; a label with a column of its own is 0 or 1"):
        read(tmp_path / "t.csv")


def test_labels_that_may_be_slips_are_told(tmp_path):
    notes = dict(labels_of(tmp_path, {"tags": ["Bug;api", "bug", "api", "Bug"]}, "tags").notes)
    assert "differ in case only: 'Bug', 'bug'" in notes["tags"]
    unknown = dict(labels_of(tmp_path, {"y_a": ["yes", "no", None], "y_b": [1, 0, None]}, "y_").notes)
    assert all("empty cells (1) are not known" in unknown[name] for name in ("y_a", "y_b"))
