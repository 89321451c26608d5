"""CSV and Parquet: tracks with a group column, label sets with several label columns."""

import sys

import numpy as np
import pytest

from setloss.datasets import DatasetError, LabelSets, Tracks, load, load_features, read_csv, read_parquet

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame(
    {
        "track": ["t2", "t2", "NA", "t2"],
        "a": [0.1, 1 / 3, 1e-300, -4],
        "face": [1, 1, 0, 1],
        "b, quoted": [1, 2, 3, 4],
    }
)


def saved(tmp_path, frame, kind):
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tracks(tmp_path, kind):
    data = load(saved(tmp_path, FRAME, kind), group="track", label="face")
    assert isinstance(data, Tracks)
    np.testing.assert_array_equal(data.X, FRAME[["a", "b, quoted"]])
    np.testing.assert_array_equal(data.y, [1, 1, 0, 1])
    assert data.groups.tolist() == ["t2", "t2", "NA", "t2"]
    assert data.groups.dtype.kind == "U"
    assert data.feature_names == ("a", "b, quoted")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("labels", ["is_", ["is_red", "is_big"]])
def test_label_sets(tmp_path, kind, labels):
    frame = pd.DataFrame({"is_red": [1, -1, 1], "x": [1, 2, 3], "is_big": [-1, -1, 1]})
    data = load(saved(tmp_path, frame, kind), labels=labels)
    assert isinstance(data, LabelSets)
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(data.X, [[1], [2], [3]])
    assert (data.feature_names, data.label_names) == (("x",), ("is_red", "is_big"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_missing_labels_and_booleans(tmp_path, kind):
    frame = pd.DataFrame({"x": [True, False], "p": pd.array([True, None], dtype="boolean"), "q": [np.nan, 0]})
    data = load(saved(tmp_path, frame, kind), labels=["p", "q"])
    np.testing.assert_array_equal(data.Y, [[1, np.nan], [np.nan, 0]])
    np.testing.assert_array_equal(data.X, [[1], [0]])


def test_bag_ids_of_csv_files_are_whole_numbers_or_text(tmp_path):
    def groups(*ids):
        path = tmp_path / "a.csv"
        path.write_text("group,label,x\n" + "".join(f"{i},1,2\n" for i in ids))
        return load(path).groups.tolist()

    assert groups("7", "-10", "0") == [7, -10, 0]
    assert groups("7", "007") == ["7", "007"]
    assert groups("1.0", "2") == ["1.0", "2"]
    assert groups("nan", "None") == ["nan", "None"]


def test_csv_with_byte_order_mark_blank_lines_and_windows_line_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbfgroup,label,x\r\n1,0,2.5\r\n\r\n1,0,3\r\n")
    np.testing.assert_array_equal(load(path).X, [[2.5], [3]])


def test_parquet_keeps_float32_and_takes_a_named_index(tmp_path):
    frame = FRAME.astype({"a": np.float32, "b, quoted": np.float32}).set_index("track")
    data = load(saved(tmp_path, frame, "parquet"), group="track", label="face")
    assert data.X.dtype == np.float32
    assert data.groups.tolist() == FRAME["track"].tolist()


def test_parquet_takes_no_column_from_an_unnamed_index_or_from_the_path(tmp_path):
    (tmp_path / "year=2020").mkdir()
    frame = FRAME.set_axis([5, 3, 9, 1])
    data = load(saved(tmp_path / "year=2020", frame, "parquet"), group="track", label="face")
    assert data.feature_names == ("a", "b, quoted")


@pytest.mark.parametrize(
    ("reader", "kind", "module"), [(read_csv, "csv", "pandas"), (read_parquet, "parquet", "pyarrow.parquet")]
)
def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch, reader, kind, module):
    path = saved(tmp_path, FRAME, kind)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        DatasetError, match=rf"needs {module.split('.')[0]}; install it with pip install 'setloss\[io\]'"
    ):
        reader(path)


@pytest.mark.parametrize("kind", ["binary", "list", "struct"])
@pytest.mark.parametrize("column", ["group", "x"])
def test_columns_of_bytes_lists_or_structures_are_refused(tmp_path, kind, column):
    pytest.importorskip("pyarrow")
    values = {"binary": [b"a", b"b"], "list": [[1], [2]], "struct": [{"a": 1}, {"a": 2}]}[kind]
    frame = pd.DataFrame({"x": [1.0, 2.0], "label": [0, 1], "group": ["a", "b"]} | {column: values})
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DatasetError, match=rf"column '{column}' of .* has type {kind}"):
        read_parquet(tmp_path / "t.parquet")


def test_decimal_commas_between_semicolons_or_tabs(tmp_path):
    table = pd.DataFrame({"a": [1.0, 0.5, -2.25], "b": [3, 4, 5], "is_x": [0, 1, 1]})
    for name, sep in (("semicolons.csv", ";"), ("tabs.tsv", "\t")):
        table.to_csv(tmp_path / name, sep=sep, decimal=",", index=False)
        data = read_csv(tmp_path / name, labels="is_")
        assert np.array_equal(data.X, table[["a", "b"]])
        assert np.array_equal(data.Y, table[["is_x"]])


def test_text_among_features_and_among_labels_is_told_apart(tmp_path):
    file = tmp_path / "songs.csv"
    file.write_text("title,tempo,is_calm\nHey Jude,1,0\n")
    with pytest.raises(DatasetError, match=r"column 'title' of .* is 'Hey Jude', .*; encode the column, leave"):
        read_csv(file, labels="is_")
    file.write_text("tempo,is_calm\n1,no\n2,yes\n")
    with pytest.raises(DatasetError, match=r"column 'is_calm' of .* is 'no'; labels are in \{0, 1\} or"):
        read_csv(file, labels="is_")


def test_an_index_that_pandas_wrote_is_left_out(tmp_path):
    plain, indexed = tmp_path / "plain.csv", tmp_path / "indexed.csv"
    FRAME.to_csv(plain, index=False)
    FRAME.to_csv(indexed)
    expected, data = (read_csv(path, group="track", label="face") for path in (plain, indexed))
    assert data.feature_names == expected.feature_names
    assert np.array_equal(data.X, expected.X)
    assert load_features(indexed, ["a"], tracks=True, group="track", not_features=["face"]).unused == ("b, quoted",)
