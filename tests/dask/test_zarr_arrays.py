"""zarr groups and folders of .npy files from anywhere: judged by their descriptions, before anything is decoded."""

import json
import os
import zipfile

import numpy as np
import pytest

from setloss.dask import open_data
from setloss.datasets import DatasetError

zarr = pytest.importorskip("zarr")

NOT_NUMBERS = "describes values of type"


@pytest.fixture(params=[2, 3])
def folder(tmp_path, request):
    """A good zarr group in both formats."""
    group = zarr.open_group(str(tmp_path / "z"), mode="w", zarr_format=request.param)
    for name, values in {"X": np.eye(4), "y": np.array([0, 1, 0, 1]), "groups": np.array([0, 0, 1, 1])}.items():
        group.create_array(name, data=values)
    return tmp_path / "z"


def description(folder, name):
    return next(path for path in (folder / name / "zarr.json", folder / name / ".zarray") if path.exists())


def forge(folder, name, **changes):
    """Rewrite the description of an array; keys that only the other format has are left out."""
    file = description(folder, name)
    content = json.loads(file.read_text())
    content |= {key: value for key, value in changes.items() if key in content}
    file.write_text(json.dumps(content))


def test_a_good_group_is_read(folder):
    data = open_data(folder)
    np.testing.assert_array_equal(data.X.compute(), np.eye(4))


@pytest.mark.parametrize("name", ["X", "y", "groups"])
@pytest.mark.parametrize(
    "kind", ["|O", "object", "string", "variable_length_bytes", [["a", "<f8"]], "<c16", "<M8[s]", 7]
)
def test_types_that_are_not_plain_numbers_are_refused(folder, name, kind):
    if (name, kind) == ("groups", "string"):
        return
    forge(folder, name, dtype=kind, data_type=kind)
    with pytest.raises(DatasetError, match=NOT_NUMBERS):
        open_data(folder)


@pytest.mark.parametrize("codec", ["pickle", "json2", "numcodecs.pickle", "vlen-bytes", "no such codec", 3])
def test_codecs_that_are_not_on_the_list_are_refused(folder, codec, monkeypatch):
    monkeypatch.setattr(zarr, "open_group", None)  # nothing of zarr is called
    named = {"name": codec, "id": codec, "configuration": {}}
    forge(folder, "X", codecs=[named], compressor=named)
    with pytest.raises(DatasetError, match="names the codec"):
        open_data(folder)


def test_codecs_inside_of_shards_and_filters_are_judged_too(folder):
    inner = {"chunk_shape": [2, 2], "codecs": [{"name": "pickle"}], "index_codecs": []}
    forge(folder, "X", codecs=[{"name": "sharding_indexed", "configuration": inner}], filters=[{"id": "pickle"}])
    with pytest.raises(DatasetError, match="names the codec 'pickle'"):
        open_data(folder)


@pytest.mark.parametrize("shape", [[10**9, 10**9], [-1, 4], [2.5, 4], "many", None])
def test_shapes_that_promise_too_much_or_nothing_are_refused(folder, shape):
    forge(folder, "X", shape=shape)
    with pytest.raises(DatasetError, match="promises shape"):
        open_data(folder)


def test_chunks_that_promise_too_much_are_refused(folder):
    grid = {"name": "regular", "configuration": {"chunk_shape": [10**6, 10**6]}}
    forge(folder, "X", chunks=[10**6, 10**6], chunk_grid=grid)
    with pytest.raises(DatasetError, match="promises chunks"):
        open_data(folder)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("<U999", 2**20), ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 4000}}, 2**20)],
)
def test_texts_that_promise_too_much_are_refused(folder, kind, rows):
    forge(folder, "groups", dtype=kind, data_type=kind, shape=[rows])
    with pytest.raises(DatasetError, match=r"promises shape '\[1048576\]'"):
        open_data(folder)


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '{"shape": [4, 4]}', " " * 2**21])
def test_descriptions_that_are_none(folder, text):
    description(folder, "y").write_text(text)
    with pytest.raises(DatasetError, match=r"is not the description|describes values|holds no Parquet"):
        open_data(folder)


def test_a_pipe_for_a_description_is_refused_at_once(folder):
    file = description(folder, "y")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(DatasetError, match="is a pipe"):
        open_data(folder)


# ---------------------------------------------------------------- .npy files


@pytest.fixture
def arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(4))
    np.save(tmp_path / "y.npy", np.array([0, 1, 0, 1]))
    np.save(tmp_path / "groups.npy", np.array(["a", "a", "b", "b"]))
    return tmp_path


def test_a_zip_in_place_of_labels(arrays):
    with zipfile.ZipFile(arrays / "y.npy", "w") as archive:
        archive.writestr("y", "0")
    with pytest.raises(DatasetError, match=r"y\.npy cannot be used: the magic string is not correct"):
        open_data(arrays)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([1j, 1, 0, 0]), "y of .* has type complex128; labels are 0 and 1"),
        (np.array(["a", "b", "a", "b"]), "y of .* has type <U1; labels are 0 and 1"),
        (np.zeros(4, dtype=[("a", "f8")]), "not plain numbers or texts"),
    ],
    ids=["complex", "texts", "structures"],
)
def test_labels_that_are_no_numbers(arrays, values, words):
    np.save(arrays / "y.npy", values)
    with pytest.raises(DatasetError, match=words):
        open_data(arrays)


def test_groups_that_are_not_unicode(arrays):
    content = (arrays / "groups.npy").read_bytes()
    (arrays / "groups.npy").write_bytes(content[:-4] + b"\xff\xff\xff\xff")
    with pytest.raises(DatasetError, match=r"groups\.npy holds text that is not Unicode"):
        open_data(arrays)


def test_labels_that_promise_more_than_there_is(arrays):
    content = (arrays / "y.npy").read_bytes()
    (arrays / "y.npy").write_bytes(content.replace(b"(4,), }" + b" " * 9, b"(4000000000,), }"))
    with pytest.raises(DatasetError, match="another length than its shape"):
        open_data(arrays)


@pytest.mark.parametrize("name", ["X", "y", "groups"])
def test_pipes_are_refused_at_once(arrays, name):
    (arrays / f"{name}.npy").unlink()
    os.mkfifo(arrays / f"{name}.npy")
    with pytest.raises(DatasetError, match="is a pipe; it must be a file"):
        open_data(arrays)


def test_a_device_and_a_name_that_is_too_long(tmp_path):
    with pytest.raises(DatasetError, match="is a device"):
        open_data("/dev/zero")
    with pytest.raises(DatasetError, match="File name too long"):
        open_data(tmp_path / ("x" * 300))
