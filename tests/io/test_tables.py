"""CSV and Parquet: tracks with a group column, label sets with several label columns, tables as they are."""

import sys

import numpy as np
import pytest

from setloss.io import DatasetError, LabelSets, Tracks, read, read_table

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FRAME = pd.DataFrame(
    {
        "track": ["t2", "t2", "t1", "t2"],
        "a": [0.1, 1 / 3, 1e-300, -4],
        "face": [1, 1, 0, 1],
        "b, quoted": [1, 2, 3, 4],
    }
)
KINDS = ["csv", "parquet"]


def saved(tmp_path, frame, kind):
    path = tmp_path / f"data.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_tracks_and_label_sets(tmp_path, kind):
    data = read(saved(tmp_path, FRAME, kind), group="track", label="face")
    assert isinstance(data, Tracks)
    np.testing.assert_array_equal(data.X, FRAME[["a", "b, quoted"]])
    assert (data.y.tolist(), data.y.dtype) == ([1, 1, 0, 1], np.int64)
    assert (data.groups.tolist(), data.feature_names) == (["t2", "t2", "t1", "t2"], ("a", "b, quoted"))
    frame = pd.DataFrame({"is_red": [1, -1, 1], "x": [1, 2, 3], "is_big": [-1, -1, 1]})
    for labels in ("is_", ["is_red", "is_big"]):
        data = read(saved(tmp_path, frame, kind), labels=labels)
        assert isinstance(data, LabelSets)
        assert (data.Y.tolist(), data.Y.dtype) == ([[1, 0], [0, 0], [1, 1]], np.int64)
        np.testing.assert_array_equal(data.X, [[1], [2], [3]])
        assert (data.feature_names, data.label_names) == (("x",), ("is_red", "is_big"))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_labels_missing_features_and_booleans(tmp_path, kind):
    frame = pd.DataFrame({"x": [True, False], "p": pd.array([True, None], dtype="boolean"), "q": [np.nan, 0]})
    data = read(saved(tmp_path, frame.assign(z=[None, 2.5]), kind), labels=["p", "q"])
    np.testing.assert_array_equal(data.Y, [[1, np.nan], [np.nan, 0]])
    np.testing.assert_array_equal(data.X.astype(float), [[1, np.nan], [0, 2.5]])


def test_bag_ids_of_csv_files_are_text(tmp_path):
    def groups(*ids):
        path = tmp_path / "a.csv"
        path.write_text("group,label,x\n" + "".join(f"{i},1,2\n" for i in ids))
        return read(path).groups.tolist()

    assert groups("7", "-10", "0") == ["7", "-10", "0"]
    assert groups("7", "007") == ["7", "007"]
    assert groups("1.0", "2") == ["1.0", "2"]


def test_the_type_of_a_column_is_that_of_the_whole_file(tmp_path):
    path = tmp_path / "a.csv"
    rows = 200_000
    path.write_text("group,label,x\n" + "1,0,7\n" * rows + "1,1,0.5\n")
    data = read(path)
    assert data.X.iloc[-1, 0] == 0.5
    assert len(data.X) == rows + 1


def test_parquet_keeps_float32_and_takes_a_named_index_and_no_other(tmp_path):
    frame = FRAME.astype({"a": np.float32, "b, quoted": np.float32}).set_index("track")
    data = read(saved(tmp_path, frame, "parquet"), group="track", label="face")
    assert set(data.X.dtypes) == {np.dtype(np.float32)}
    assert data.groups.tolist() == FRAME["track"].tolist()
    data = read(saved(tmp_path, FRAME.set_axis([5, 3, 9, 1]), "parquet"), group="track", label="face")
    assert data.feature_names == ("a", "b, quoted")


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_libraries_it_says_what_to_install(tmp_path, monkeypatch, kind):
    path = saved(tmp_path, FRAME, kind)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=r"needs pandas and pyarrow; install setloss\[io\]"):
        read(path)


def test_decimal_commas_and_an_index_that_pandas_wrote(tmp_path):
    table = pd.DataFrame({"a": [1.0, 0.5, -2.25], "b": [3, 4, 5], "is_x": [0, 1, 1]})
    for name, sep, decimal, index in (
        ("s.csv", ";", ",", False),
        ("t.tsv", "\t", ",", False),
        ("p.csv", ";", ".", False),
        ("i.csv", ",", ".", True),
    ):
        table.to_csv(tmp_path / name, sep=sep, decimal=decimal, index=index)
        data = read(tmp_path / name, labels="is_")
        assert np.array_equal(data.X, table[["a", "b"]])
        assert np.array_equal(data.Y, table[["is_x"]])


def test_a_table_is_read_as_it_is(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,city,day,n,is_x\n007,Rome,2020-02-03,1,0\n8,,2020-02-04,,1\n")
    frame = read_table(path, text=["id"])
    assert frame["id"].tolist() == ["007", "8"]
    assert frame.isna().sum().tolist() == [0, 1, 0, 1, 0]
    assert frame["day"].dt.day.tolist() == [3, 4]
    data = read(path, labels="is_", ignore=["city"])
    assert list(data.X.columns) == ["id", "day", "n"]
    np.testing.assert_array_equal(data.Y, [[0], [1]])
