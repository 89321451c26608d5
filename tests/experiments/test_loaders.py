"""The two sets of utterances, against the counts of their PROVENANCE.md."""

import gzip

import numpy as np
import pytest

from experiments.loaders import load_japanese_vowels, load_spoken_arabic_digits
from helpers.real_data import folder
from setloss.io import DatasetError


@pytest.mark.parametrize(
    ("split", "bags", "frames", "longest", "per_speaker"),
    [("train", 270, 4274, 26, [30] * 9), ("test", 370, 5687, 29, [31, 35, 88, 44, 29, 24, 40, 50, 29])],
)
def test_japanese_vowels(split, bags, frames, longest, per_speaker):
    tracks = load_japanese_vowels(folder("japanese_vowels"), split)
    sizes = np.bincount(tracks.groups)
    assert tracks.X.shape == (frames, 12)
    assert (len(sizes), sizes.min(), sizes.max()) == (bags, 7, longest)
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    np.testing.assert_array_equal(np.bincount(tracks.y[first])[1:], per_speaker)
    np.testing.assert_array_equal(tracks.y, np.repeat(tracks.y[first], sizes))


def test_japanese_vowels_agree_with_the_raw_file():
    path = folder("japanese_vowels")
    raw = np.loadtxt(path / "ae.train")
    np.testing.assert_allclose(load_japanese_vowels(path).X, raw[(raw != 1).any(axis=1)], atol=1e-9)


@pytest.mark.parametrize(
    ("split", "bags", "frames", "shortest", "longest"),
    [("train", 6600, 263256, 4, 93), ("test", 2200, 87063, 7, 83)],
)
def test_spoken_arabic_digits(split, bags, frames, shortest, longest):
    tracks = load_spoken_arabic_digits(folder("spoken_arabic_digits"), split)
    sizes = np.bincount(tracks.groups)
    assert tracks.X.shape == (frames, 13)
    assert (len(sizes), sizes.min(), sizes.max(), np.median(sizes)) == (bags, shortest, longest, 39)
    digits = tracks.y[np.concatenate(([0], np.cumsum(sizes)[:-1]))]
    np.testing.assert_array_equal(digits, np.repeat(np.arange(10), bags // 10))


def written(tmp_path, blocks=2200, packed=False):
    rng = np.random.default_rng(0)
    sizes = 1 + np.arange(blocks) % 2
    X = rng.integers(-9, 9, (sizes.sum(), 13)) / 4
    lines = [" ".join(map(str, row)) for row in X]
    text = "".join(" " * 12 + "\n" + "\n".join(part) + " \n" for part in np.split(lines, np.cumsum(sizes)[:-1]))
    path = tmp_path / f"Test_Arabic_Digit.txt{'.gz' * packed}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return X, sizes


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_and_their_labels_by_order(tmp_path, packed):
    X, sizes = written(tmp_path, packed=packed)
    for target, expected in (("digit", np.arange(2200) // 220), ("sex", np.arange(2200) % 220 >= 110)):
        tracks = load_spoken_arabic_digits(tmp_path, "test", target)
        np.testing.assert_array_equal(tracks.X, X)
        np.testing.assert_array_equal(tracks.y, np.repeat(expected, sizes))
        np.testing.assert_array_equal(tracks.groups, np.repeat(np.arange(2200), sizes))


def test_another_number_of_utterances_is_refused(tmp_path):
    written(tmp_path, blocks=2199)
    with pytest.raises(DatasetError, match="has 2199 utterances, 2200 are expected; labels go by their order"):
        load_spoken_arabic_digits(tmp_path, "test")


def test_series_of_one_file(tmp_path):
    (tmp_path / "JapaneseVowels_TEST.ts").write_text("#c\n@problemName x\n@data\n1,2:3,4:9\n5:6:1\n\n")
    tracks = load_japanese_vowels(tmp_path, "test")
    np.testing.assert_array_equal(tracks.X, [[1, 3], [2, 4], [5, 6]])
    assert tracks.y.tolist() == [9, 9, 1]
    assert tracks.groups.tolist() == [0, 0, 1]
