"""The data of the experiments on tracks: what folds keep together, and the layout of the paper's face tracks."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from experiments import loaders
from experiments.running import data_folder
from experiments.tracks import data as track_data
from experiments.tracks.data import (
    TrackParameters,
    arabic_digits,
    arabic_speakers,
    buffy,
    generated_tracks,
    japanese_vowels,
)
from helpers.real_data import folder
from setloss.io import DatasetError


@pytest.fixture(scope="module")
def digits():
    """The folder of spoken digits, whose files are read once: they are megabytes of text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaders, "blocks_of_digits", cache(loaders.blocks_of_digits))
        yield folder("spoken_arabic_digits")


def test_generated_tracks_have_one_label_each_and_say_how_they_were_made():
    made = generated_tracks(TrackParameters(3, 2, 1, 0.5), n_bags=30, n_frames=100, n_features=5, seed=1)
    assert made.shape == "30 bags, 100 frames, 5 features"
    assert made.note == "separation 3, identity 2, noise 1, share of positives 0.5"
    assert made.X.dtype == np.float32
    for bag in range(30):
        assert len(set(made.targets[""][made.groups == bag])) == 1


def test_japanese_vowels_are_all_utterances():
    made = japanese_vowels(folder("japanese_vowels"), (3, 5))
    assert made.shape == "640 bags, 9961 frames, 12 features"
    assert list(made.targets) == ["speaker 3", "speaker 5"]
    bags = {name: len(set(made.groups[y])) for name, y in made.targets.items()}
    assert bags == {"speaker 3": 30 + 88, "speaker 5": 30 + 29}


def test_arabic_speakers_have_one_sex_and_say_every_digit(digits):
    sex, digit = arabic_speakers(digits, 1, every=2), arabic_digits(digits, (0, 7), 1, every=2)
    assert sex.n_bags == digit.n_bags == 44 * 10
    assert sex.note == "women against men, folds by speaker, 44 of 88 speakers, 1 of 10 utterances of every digit"
    assert np.array_equal(sex.units, digit.units)
    speakers = np.unique(sex.units)
    assert speakers.tolist() == list(range(0, 88, 2))
    women = [set(sex.targets[""][sex.units == speaker]) for speaker in speakers]
    # 33 men and 33 women in the first file, 11 and 11 in the second.
    assert women == [{33 <= speaker < 66 or speaker >= 77} for speaker in speakers]
    for speaker in speakers[::10]:
        said = digit.targets["digit 7"] & (digit.units == speaker)
        assert len(set(digit.groups[said])) == 1


def test_utterances_of_a_speaker_follow_each_other(digits):
    """Mean features jump at every tenth utterance of a digit: that is where the speaker changes."""
    tracks, _, _ = track_data._arabic(digits, "digit", 10, 1)
    kept = tracks.groups < 6600
    groups = tracks.groups[kept]
    sums = np.stack([np.bincount(groups, x) for x in tracks.X[kept].T], axis=1) / np.bincount(groups)[:, None]
    means = (sums / sums.std(axis=0)).reshape(10, 660, 13)
    steps = np.linalg.norm(np.diff(means, axis=1), axis=2).mean(axis=0)
    at_tens = np.arange(1, 660) % 10 == 0
    assert steps[at_tens].mean() > 2 * steps[~at_tens].mean()


def test_more_utterances_than_there_are_is_refused():
    with pytest.raises(ValueError, match="every speaker says a digit 10 times; 11 cannot be taken"):
        arabic_speakers(Path("unused"), 11)


def faces():
    generator = np.random.default_rng(0)
    return {"X": generator.normal(size=(6, 3)), "y": np.array([1, 1, -1, -1, -1, 1]), "groups": [1, 1, 2, 2, 3, 4]}


def test_buffy_from_npz_and_mat_are_the_same(tmp_path):
    assert buffy(tmp_path) is None
    parts = faces()
    savemat(tmp_path / "buffy.mat", parts)
    from_mat = buffy(tmp_path)
    np.savez(tmp_path / "buffy.npz", **parts)
    from_npz = buffy(tmp_path)
    for made in (from_mat, from_npz):
        assert np.array_equal(made.X, parts["X"])
        assert made.targets[""].tolist() == [True, True, False, False, False, True]
        assert made.groups.tolist() == parts["groups"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(5)}, "disagree"),
        ({"y": np.arange(6.0)}, "y in"),
        ({"X": np.full((6, 3), np.nan)}, "X must be finite"),
        ({"groups": None}, "groups"),
    ],
)
def test_broken_faces_are_said(tmp_path, change, message):
    parts = {name: value for name, value in (faces() | change).items() if value is not None}
    savemat(tmp_path / "buffy.mat", parts)
    with pytest.raises(DatasetError, match=message):
        buffy(tmp_path)


def test_a_file_that_is_no_matlab_file_is_said(tmp_path):
    (tmp_path / "buffy.mat").write_bytes(b"hello" * 100)
    with pytest.raises(DatasetError, match=r"buffy.mat cannot be read as tracks"):
        buffy(tmp_path)


def test_the_data_folder_is_the_one_given_or_the_environments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    assert data_folder(None) is None
    monkeypatch.setenv("SETLOSS_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    assert data_folder(Path("elsewhere")) == Path("elsewhere")
