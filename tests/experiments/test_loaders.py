"""Readers of public data: against the counts of their PROVENANCE.md where they are there, and on written files."""

import gzip

import numpy as np
import pytest

from experiments.loaders import (
    DataSet,
    find_data_sets,
    load_japanese_vowels,
    load_spoken_arabic_digits,
    read_data_set,
)
from experiments.tracks.data import arabic_speakers
from helpers.label_set_data import small, write_arff
from helpers.real_data import folder
from setloss.io import DatasetError

# ---------------------------------------------------------------- label sets


@pytest.mark.parametrize("sparse", [False, True])
def test_arff_files_with_nominal_attributes_and_empty_sets(tmp_path, sparse):
    data = small(sparse=sparse)
    write_arff(tmp_path / "small", data)
    read = read_data_set("small", find_data_sets(tmp_path)["small"])
    np.testing.assert_array_equal(read.Y, data.Y)
    assert read.n_train == 40
    dense = read.X.toarray() if sparse else read.X
    np.testing.assert_allclose(dense[:, :5], data.X.toarray() if sparse else data.X)
    np.testing.assert_array_equal(dense[:, -1], np.arange(60) % 3 == 0)


def test_a_single_file_needs_halves(tmp_path):
    write_arff(tmp_path / "one", small())
    (tmp_path / "one" / "small-test.arff").unlink()
    (tmp_path / "one" / "small-train.arff").rename(tmp_path / "one" / "small.arff")
    read = read_data_set("one", find_data_sets(tmp_path)["one"])
    with pytest.raises(DatasetError, match="no standard split into two files; ask for halves"):
        read.splits()
    for train, test in read.splits(4):
        assert sorted([*train, *test]) == list(range(40))
        assert len(train) == 20


def test_folders_without_the_data_set_and_parts_that_differ_are_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"no data set in .*NAME-train\.arff"):
        find_data_sets(tmp_path)
    write_arff(tmp_path / "small", small())
    with pytest.raises(DatasetError, match="has no data set 'scene'; it has small"):
        find_data_sets(tmp_path, ["scene"])
    other = small()
    write_arff(tmp_path / "other", DataSet("other", other.X[:, :4], other.Y, 40))
    with pytest.raises(DatasetError, match="have different feature_names"):
        read_data_set("x", (tmp_path / "small" / "small-train.arff", tmp_path / "other" / "small-test.arff"))


# ---------------------------------------------------------------- utterances


def test_series_of_files(tmp_path):
    files = [tmp_path / f"JapaneseVowels_{part}.ts" for part in ("TRAIN", "TEST")]
    files[0].write_text("#c\n@problemName x\n@data\n1,2:3,4:9\n5:6:1\n\n")
    files[1].write_text("@data\n7:8:2\n")
    tracks = load_japanese_vowels(tmp_path)
    np.testing.assert_array_equal(tracks.X, [[1, 3], [2, 4], [5, 6], [7, 8]])
    assert (tracks.y.tolist(), tracks.groups.tolist()) == ([9, 9, 1, 2], [0, 0, 1, 2])
    files[1].write_text("@data\n1,nan:3,4:9\n")
    with pytest.raises(DatasetError, match="use the original"):
        load_japanese_vowels(tmp_path)


def written(place, split, blocks, packed=False):
    sizes = 1 + np.arange(blocks) % 2
    X = np.random.default_rng(0).integers(-9, 9, (sizes.sum(), 13)) / 4
    lines = [" ".join(map(str, row)) for row in X]
    text = "".join(" " * 12 + "\n" + "\n".join(part) + " \n" for part in np.split(lines, np.cumsum(sizes)[:-1]))
    path = place / f"{split}_Arabic_Digit.txt{'.gz' * packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return X, sizes


def test_blocks_of_digits_with_labels_and_speakers_by_order(tmp_path):
    first, second = written(tmp_path, "Train", 6600), written(tmp_path, "Test", 2200, packed=True)
    tracks, speakers = load_spoken_arabic_digits(tmp_path)
    np.testing.assert_array_equal(tracks.X, np.vstack([first[0], second[0]]))
    women = np.concatenate([np.arange(6600) % 660 >= 330, np.arange(2200) % 220 >= 110])
    sizes = np.concatenate([first[1], second[1]])
    np.testing.assert_array_equal(tracks.y, np.repeat(women, sizes))
    np.testing.assert_array_equal(tracks.groups, np.repeat(np.arange(8800), sizes))
    by_order = np.concatenate([np.arange(6600) % 660 // 10, 66 + np.arange(2200) % 220 // 10])
    np.testing.assert_array_equal(speakers, np.repeat(by_order, sizes))
    written(tmp_path, "Train", 6599)
    with pytest.raises(DatasetError, match="has 6599 utterances, 6600 are expected; labels go by their order"):
        load_spoken_arabic_digits(tmp_path)


def test_arabic_speakers_have_one_sex():
    """33 men and 33 women in the first file, 11 and 11 in the second; means jump where the speaker changes."""
    frames = arabic_speakers(folder("spoken_arabic_digits"), 2, every=2).frames
    assert len(set(frames.groups)) == 44 * 20
    women = {speaker: set(frames.y[frames.units == speaker]) for speaker in range(0, 88, 2)}
    assert women == {speaker: {33 <= speaker < 66 or speaker >= 77} for speaker in range(0, 88, 2)}
    bag = np.unique(frames.groups, return_inverse=True)[1]
    means = np.stack([np.bincount(bag, x) for x in frames.X.T], axis=1) / np.bincount(bag)[:, None]
    of_digits = (means / means.std(axis=0))[:660].reshape(10, 66, 13)
    steps = np.linalg.norm(np.diff(of_digits, axis=1), axis=2).mean(axis=0)
    assert steps[1::2].mean() > 2 * steps[::2].mean()
