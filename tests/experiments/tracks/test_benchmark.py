"""``python -m experiments tracks``: tables, ranks, files, and what is said where something is missing."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from experiments.document import Document
from experiments.tracks import benchmark as track_benchmark
from experiments.tracks import decided
from experiments.tracks.benchmark import benchmark, rank_table
from experiments.tracks.data import SOURCES, TrackParameters, generated_tracks
from experiments.tracks.methods import Budget
from experiments.tracks.protocol import Protocol
from helpers.experiment_commands import complaint, run

TINY = Protocol(Cs=(0.01, 0.1), outer=3, inner=2, votes=(False, True), budget=Budget(1e-1, 20))
METHODS = ("bd", "bd-monotone", "slack", "hinge", "linear-svc", "logistic")


def tiny(name="japanese-vowels"):
    made = generated_tracks(TrackParameters(3.0, 1.0, 1.0, 0.5), n_bags=30, n_frames=120, n_features=4)
    return replace(made, name=name, title="Tiny")


def test_tables_with_and_without_the_vote_and_paired_differences():
    document = benchmark(tiny(), TINY, METHODS, ("curve1", "curve3"), ("logistic",))
    frames, vote, differences, decisions, against = document.tables
    assert [row[0] for row in decisions.rows][:3] == [
        f"logistic regression + {r}" for r in ("counts", "vote", "threshold")
    ]
    assert [row[0] for row in against.rows][:2] == [
        "logistic regression: counts - vote",
        "logistic regression: expected / observed",
    ]
    assert [row[0] for row in frames.rows] == [
        "B_D",
        "B_D monotone",
        "S exact",
        "0-1 (hinge)",
        "LinearSVC",
        "logistic regression",
    ]
    assert frames.rows[1][2] is None  # no monotone closure for loss 3
    assert vote.rows[4][0] == "LinearSVC + vote"
    found = document.numbers["outcomes"]["curve1"]
    expected = np.subtract(found["bd"]["losses"], found["linear-svc"]["losses"])
    assert differences.rows[0][0] == "B_D - LinearSVC"
    assert differences.rows[0][1].mean == pytest.approx(expected.mean())
    assert differences.rows[0][1].error == pytest.approx(expected.std(ddof=1) / np.sqrt(3))
    json.dumps(document.as_dict(), allow_nan=False)


def test_ranks_by_hand():
    def outcome(loss):
        return {"losses": [loss, loss]}

    first = {"curve1": {"bd": outcome(0.1), "hinge": outcome(0.2), "lovasz": outcome(0.0), "bd+vote": outcome(0.0)}}
    second = {"curve1": {"bd": outcome(0.3), "hinge": outcome(0.3), "bd+vote": outcome(0.1)}}
    documents = {
        "a": Document("a", "a", numbers={"outcomes": first}),
        "b": Document("b", "b", numbers={"outcomes": second}),
    }
    # L is on one of the two only; the second is a tie.
    assert rank_table(documents, vote=False).rows == (("B_D", 1.25), ("0-1 (hinge)", 1.75))
    assert rank_table(documents, vote=True).rows == (("B_D + vote", 1.0),)


def test_the_command_writes_tables_and_json(tmp_path, monkeypatch):
    monkeypatch.setattr(track_benchmark, "QUICK", replace(TINY, Cs=(0.1,), outer_used=2))
    monkeypatch.setattr(track_benchmark, "benchmark", partial(benchmark, methods=METHODS, losses=("curve1", "dice")))
    monkeypatch.setattr(decided, "INNER", 2)
    monkeypatch.setitem(SOURCES, "japanese-vowels", lambda folder, full: tiny())
    data, out = tmp_path / "data", tmp_path / "new" / "results"
    (data / "japanese_vowels").mkdir(parents=True)
    run("tracks", "--data", data, "--out", out, "--jobs", 1)
    numbers = json.loads((out / "tracks-japanese-vowels.json").read_text())["numbers"]
    assert "linear-svc+vote" in numbers["outcomes"]["dice"]
    assert "**Mean rank, majority vote**" in (out / "tracks.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "nowhere has no folder buffy/features or japanese_vowels or spoken_arabic_digits"),
        (["--data", ".", "--datasets", "vowels"], "there is no data set 'vowels'; the names are japanese-vowels,"),
        (["--data", ".", "--datasets", "japanese-vowels"], "needs the folder japanese_vowels, which is not there"),
        ([], "no data: give --data"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    assert words in complaint("tracks", *arguments)


def test_broken_data_are_said(tmp_path):
    (tmp_path / "japanese_vowels").mkdir()
    assert "JapaneseVowels_TRAIN.ts" in complaint("tracks", "--data", tmp_path, "--out", tmp_path / "out")
