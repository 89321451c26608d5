"""``setloss benchmark tracks``: tables, ranks, files, and what is said where something is missing."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from setloss.cli.benchmark_tracks import tracks
from setloss.cli.commands import OneSentenceGroup
from setloss.cli.progress import Interrupted
from setloss.reproduction.document import Document
from setloss.reproduction.tracks import benchmark as track_benchmark
from setloss.reproduction.tracks import decided
from setloss.reproduction.tracks.benchmark import benchmark, rank_table
from setloss.reproduction.tracks.data import SOURCES, TrackParameters, generated_tracks
from setloss.reproduction.tracks.methods import Budget
from setloss.reproduction.tracks.protocol import Protocol

TINY = Protocol(Cs=(0.01, 0.1), outer=3, inner=2, votes=(False, True), budget=Budget(1e-1, 20))
METHODS = ("bd", "bd-monotone", "slack", "hinge", "linear-svc", "logistic")

app = typer.Typer(cls=OneSentenceGroup)
app.command()(tracks)
app.callback()(lambda: None)


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
    result = CliRunner().invoke(app, ["tracks", "--data", str(data), "--out", str(out), "--jobs", "1", "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed == json.loads((out / "tracks.json").read_text())
    assert set(printed["data_sets"]) == {"japanese-vowels"}
    assert "linear-svc+vote" in printed["data_sets"]["japanese-vowels"]["numbers"]["outcomes"]["dice"]
    assert "**Mean rank, majority vote**" in (out / "tracks.md").read_text()
    assert {path.name for path in out.iterdir()} == {
        "tracks.json",
        "tracks.md",
        "tracks-japanese-vowels.json",
        "tracks-japanese-vowels.md",
    }


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch):
    def second(folder, full):
        raise Interrupted

    monkeypatch.setattr(track_benchmark, "QUICK", TINY)
    monkeypatch.setattr(track_benchmark, "benchmark", lambda problem, protocol: Document("tracks-a", "A"))
    monkeypatch.setitem(SOURCES, "japanese-vowels", lambda folder, full: tiny())
    monkeypatch.setitem(SOURCES, "arabic-digits-sex", second)
    for name in ("japanese_vowels", "spoken_arabic_digits"):
        (tmp_path / name).mkdir()
    result = CliRunner().invoke(app, ["tracks", "--data", str(tmp_path), "--out", str(tmp_path), "--jobs", "1"])
    assert result.exit_code == 130
    assert "data sets that are done: japanese-vowels" in result.stderr
    assert (tmp_path / "tracks-a.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "--data: there is no folder nowhere"),
        (["--data", "."], "has no folder buffy/features or japanese_vowels or spoken_arabic_digits"),
        (["--data", ".", "--datasets", "vowels"], "there is no data set 'vowels'; the names are japanese-vowels,"),
        (["--data", ".", "--datasets", "japanese-vowels"], "needs the folder japanese_vowels, which is not there"),
        ([], "no data: give --data DIR"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    result = CliRunner().invoke(app, ["tracks", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_output_that_is_a_file_and_broken_data_are_said(tmp_path):
    (tmp_path / "japanese_vowels").mkdir()
    (tmp_path / "file").write_text("")
    common = ["tracks", "--data", str(tmp_path), "--out"]
    blocked = CliRunner().invoke(app, [*common, str(tmp_path / "file")])
    assert blocked.exit_code == 2
    assert "cannot be made" in blocked.stderr
    broken = CliRunner().invoke(app, [*common, str(tmp_path / "out")])
    assert broken.exit_code == 2
    assert "JapaneseVowels_TRAIN.ts" in broken.stderr
