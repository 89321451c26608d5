"""Data on disk in partitions: the same numbers as in memory, whole bags, and a sentence for what is broken."""

import os

import numpy as np
import pandas as pd
import pytest

from helpers.partitioned import assert_same_problem, frames, label_sets
from setloss import estimators
from setloss.dask import BagClassifier, PartitionError, SetClassifier, open_data, repartition_by_group
from setloss.dask.repartition import ends_of_partitions, whole_bag_chunks
from setloss.dask.rows_on_disk import RowsOnDisk
from setloss.datasets import DatasetError

SMALL = 400
"""Bytes of a partition: a few bags."""


@pytest.fixture(scope="module")
def tracks():
    X, y, groups = frames(bags=40, seed=2)
    return X.astype(np.float32), y, groups


def in_memory(tracks):
    """What a fit in partitions is compared with."""
    return estimators.BagClassifier(C=0.1, tol=1e-6, decision="sign").fit(*tracks)


def write(folder, kind, X, y, groups=None):
    arrays = {"X": X, "y": y} | ({} if groups is None else {"groups": groups})
    if kind == "npy":
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(folder), mode="w")
        for name, array in arrays.items():
            chunks = (7, *array.shape[1:])
            group.create_array(name, data=array, chunks=chunks)
    else:
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        columns |= {"label": y} if y.ndim == 1 else {f"label{j}": y[:, j] for j in range(y.shape[1])}
        frame = pd.DataFrame(columns | ({} if groups is None else {"group": groups}))
        for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
            frame.iloc[part].to_parquet(folder / f"{number}.parquet", row_group_size=9)
    return folder


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet"])
def test_tracks_on_disk_train_to_what_they_train_to_in_memory(tmp_path, tracks, kind):
    X, y, groups = tracks
    found = open_data(write(tmp_path, kind, X, y, groups), partition_bytes=SMALL)
    remote = BagClassifier(C=0.1, tol=1e-3).fit(found.X, *found.targets)
    assert_same_problem(remote, in_memory(tracks))
    plain = remote.to_local()
    vars(plain).pop("feature_names_in_", None)
    assert remote.score(found.X, *found.targets) == pytest.approx(plain.score(X, y, groups))
    assert remote.coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet"])
def test_label_sets_on_disk(tmp_path, kind):
    X, Y = label_sets()
    options = {"labels": "label"} if kind == "parquet" else {}
    found = open_data(write(tmp_path, kind, X, Y), partition_bytes=SMALL, **options)
    local = estimators.SetClassifier(C=0.1, decision="sign").fit(X, Y)
    assert_same_problem(SetClassifier(C=0.1, tol=1e-3).fit(found.X, *found.targets), local)


def test_the_parts_of_a_parquet_folder_are_its_rows_in_order(tmp_path, tracks):
    X, y, groups = tracks
    found = open_data(write(tmp_path, "parquet", X, y, groups), partition_bytes=SMALL)
    assert found.X.npartitions > 3
    parts = [part.compute(scheduler="synchronous") for part in found.X.to_delayed()]
    together = pd.concat(parts)
    assert np.array_equal(together[[f"x{j}" for j in range(X.shape[1])]].to_numpy(), X)
    assert np.array_equal(together["group"], groups)
    seen = [set(part["group"]) for part in parts]
    assert sum(map(len, seen)) == len(set(groups))


def test_a_memmap_is_trained_on_without_being_loaded(tmp_path, tracks):
    X, y, groups = tracks
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_problem(BagClassifier(C=0.1, tol=1e-3).fit(mapped, y, groups), in_memory(tracks))


def test_part_of_a_memmap_is_refused(tmp_path, tracks):
    X, y, groups = tracks
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="not part of another"):
        BagClassifier().fit(mapped[4:], y[4:], groups[4:])


def test_rows_of_a_file_that_was_cut_off(tmp_path, tracks):
    file = tmp_path / "X.npy"
    np.save(file, tracks[0])
    rows = RowsOnDisk.of_npy(file)
    assert np.array_equal(rows.read(3, 9), tracks[0][3:9])
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match="cut off"):
        rows.read(0, len(tracks[0]))


@pytest.mark.parametrize("parts", [1, 2, 5, 100])
def test_chunks_end_where_bags_end(tracks, parts):
    groups = tracks[2]
    chunks = whole_bag_chunks(groups, parts)
    assert sum(chunks) == len(groups)
    ends = np.cumsum(chunks)
    assert all(end == len(groups) or groups[end] != groups[end - 1] for end in ends)
    assert len(chunks) <= parts
    assert len(whole_bag_chunks(groups, 10**6)) == len(np.unique(groups))


def test_ends_of_partitions_are_about_evenly_apart():
    ends = np.arange(1, 1001)
    assert np.array_equal(ends_of_partitions(ends, 4), [250, 500, 750, 1000])


def test_a_frame_is_shuffled_into_whole_bags(tracks):
    import dask.dataframe as dd

    X, y, groups = tracks
    order = np.random.default_rng(0).permutation(len(y))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=y, track=groups).iloc[order]
    scattered = dd.from_pandas(frame.reset_index(drop=True), npartitions=4)
    with pytest.raises(ValueError, match=r"has frames in partitions . and .*repartition_by_group"):
        BagClassifier().fit(scattered, "label", "track")
    whole = repartition_by_group(scattered, groups="track")
    fitted = BagClassifier(C=0.1, tol=1e-3).fit(whole, "label", "track")
    assert_same_problem(fitted, in_memory(tracks))
    assert list(fitted.feature_names_in_) == list("abcde")


def back_again(groups):
    """The first bag has one more frame, at the end."""
    return np.concatenate([groups[:-1], groups[:1]])


def broken(tmp_path, tracks, change):
    X, y, groups = tracks
    arrays = {"X": X, "y": y, "groups": groups} | change
    for name, array in arrays.items():
        if array is not None:
            np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(DatasetError) as caught:
        open_data(tmp_path)
    return str(caught.value)


def test_broken_folders_of_arrays(tmp_path, tracks):
    X, y, groups = tracks
    assert "no array y" in broken(_new(tmp_path), tracks, {"y": None})
    assert "same rows" in broken(_new(tmp_path), tracks, {"y": y[:-1]})
    assert "no groups; add groups" in broken(_new(tmp_path), tracks, {"groups": None})
    assert "do not follow each other" in broken(_new(tmp_path), tracks, {"groups": back_again(groups)})
    assert "matrix" in broken(_new(tmp_path), tracks, {"X": X[:, 0]})
    assert "matrix" in broken(_new(tmp_path), tracks, {"X": np.asfortranarray(X)})
    assert "matrix" in broken(_new(tmp_path), tracks, {"X": X.astype(str)})


def _new(tmp_path):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    return folder


def test_other_broken_data(tmp_path, tracks):
    X, y, groups = tracks
    with pytest.raises(DatasetError, match="there is no file or folder"):
        open_data(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match="no zarr group"):
        open_data(_new(tmp_path))
    (tmp_path / "a.csv").write_text("x,label,group\n")
    with pytest.raises(DatasetError, match="not read in partitions"):
        open_data(tmp_path / "a.csv")
    folder = write(_new(tmp_path), "parquet", X, y, groups)
    with pytest.raises(DatasetError, match="no column 'bag'"):
        open_data(folder, group="bag")
    (folder / "1.parquet").write_bytes((folder / "1.parquet").read_bytes()[:-20])
    with pytest.raises(DatasetError, match=r"1\.parquet is not a complete Parquet file"):
        open_data(folder)
    folder = write(_new(tmp_path), "parquet", X, y, back_again(groups))
    with pytest.raises(DatasetError, match="comes back at row"):
        open_data(folder)
    folder = write(_new(tmp_path), "parquet", X, y, groups)
    pd.read_parquet(folder / "2.parquet").rename(columns={"x0": "z"}).to_parquet(folder / "2.parquet")
    with pytest.raises(DatasetError, match="differ in the column"):
        open_data(folder)
    folder = write(_new(tmp_path), "npy", X, y, groups)
    with pytest.raises(DatasetError, match="name columns of Parquet files"):
        open_data(folder, group="bag")


def test_files_in_folders_of_a_folder_and_a_chunk_that_is_broken(tmp_path, tracks):
    X, y, groups = tracks
    (tmp_path / "day=0").mkdir()
    write(tmp_path / "day=0", "parquet", X, y, groups)
    assert len(open_data(tmp_path).X) == len(y)
    folder = write(_new(tmp_path), "zarr", X, y, groups)
    chunk = next(file for file in (folder / "X" / "c").rglob("*") if file.is_file())
    chunk.write_bytes(b"nothing of the kind")
    found = open_data(folder)
    with pytest.raises(PartitionError, match="partition 0 cannot be read"):
        BagClassifier().fit(found.X, *found.targets)


def test_too_large_chunks_of_zarr(tmp_path, tracks):
    zarr = pytest.importorskip("zarr")
    X, y, groups = tracks
    group = zarr.open_group(str(tmp_path), mode="w")
    for name, array in {"X": X, "y": y, "groups": groups}.items():
        group.create_array(name, data=array, chunks=array.shape)
    with pytest.raises(DatasetError, match="are read whole"):
        open_data(tmp_path, partition_bytes=100)
    assert open_data(tmp_path).X.numblocks == (1, 1)


def test_too_large_row_groups_and_features_that_are_text(tmp_path, tracks):
    X, y, groups = tracks
    frame = pd.DataFrame(X, columns=list("abcde")).assign(label=y, group=groups)
    frame.to_parquet(tmp_path / "one.parquet")
    with pytest.raises(DatasetError, match=r"row groups of .* are read whole"):
        open_data(tmp_path / "one.parquet", partition_bytes=100)
    frame.assign(c="text").to_parquet(tmp_path / "two.parquet")
    with pytest.raises(DatasetError, match=r"column 'c' of .* has type .*string; it must hold numbers"):
        open_data(tmp_path / "two.parquet")


def test_a_pipe_among_parquet_files_is_refused_at_once(tmp_path, tracks):
    write(tmp_path, "parquet", *tracks)
    os.mkfifo(tmp_path / "3.parquet")
    with pytest.raises(DatasetError, match=r"3\.parquet is a pipe; a folder of Parquet files holds files"):
        open_data(tmp_path)


def test_folders_may_be_named_like_parquet_files(tmp_path, tracks):
    folder = tmp_path / "all.parquet" / "part.parquet"
    folder.mkdir(parents=True)
    write(folder, "parquet", *tracks)
    assert open_data(tmp_path / "all.parquet").X.npartitions == 1


@pytest.mark.parametrize("kind", ["binary", "list", "struct"])
def test_bag_ids_that_are_bytes_lists_or_structures_are_refused(tmp_path, kind):
    values = {"binary": [b"a", b"b"], "list": [[1], [2]], "struct": [{"a": 1}, {"a": 2}]}[kind]
    pd.DataFrame({"x": [1.0, 2.0], "label": [0, 1], "group": values}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DatasetError, match=rf"column 'group' of .* has type {kind}.*; bag ids are numbers or texts"):
        open_data(tmp_path / "t.parquet")
