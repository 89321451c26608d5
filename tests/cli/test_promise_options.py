"""Promises of ``setloss train``, the column ``answered`` of ``predict``, and what ``evaluate`` says and draws."""

import io
import subprocess
import sys

import numpy as np
import pytest

import setloss
from helpers.command_line import complaint, parsed, run
from setloss.io import read_table

pd = pytest.importorskip("pandas")
NAMES = ["y_0", "y_1", "y_2", "y_3"]


def examples(rows, seed):
    """Labels that three of five features tell, with noise that differs from row to row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    scores = X[:, [0, 1, 2, 0]] * rng.choice([0.3, 6.0], size=(rows, 1)) - 0.3
    Y = rng.random(scores.shape) < 1 / (1 + np.exp(-scores))
    return pd.DataFrame(X * 1.0, columns=list("abcde")).assign(**dict(zip(NAMES, Y.T.astype(int), strict=True)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of label sets and of tracks, and models with a promise."""
    folder = tmp_path_factory.mktemp("promised")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        examples(1200, 0).to_csv("train.csv", index=False)
        examples(600, 1).to_csv("new.csv", index=False)
        (folder / "said.txt").write_text(
            run(
                "train train.csv --labels y_ --method logistic --cv 2 --promise 0.7 --confidence 0.8 --model m.skops"
            ).stdout
        )
        bags = np.arange(1500) // 5
        x = np.random.default_rng(0).normal(size=1500) + 2 * (bags % 2)
        pd.DataFrame({"group": bags, "a": x, "label": bags % 2}).to_csv("tracks.csv", index=False)
        run("train tracks.csv --method logistic --cv 2 --promise 0.8 --model tracks.skops")
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_rows_are_kept_for_the_promise(folder):
    said = (folder / "said.txt").read_text()
    assert "300 of 1200 sets were kept" in said
    assert "900 sets, 5 features" in said
    promise = setloss.load("m.skops")[-1].promise_
    assert (promise.at_most, promise.confidence, promise.sets) == (pytest.approx(0.3), 0.8, 300)
    assert str(promise) in said


def test_predict_says_which_sets_are_answered_and_evaluate_how_these_score():
    table, model = read_table("new.csv"), setloss.load("m.skops")
    run("predict m.skops new.csv --out out.csv")
    found = pd.read_csv("out.csv")
    assert list(found.columns) == [*NAMES, "answered"]
    answered = model[-1].promise_.answers(model[:-1].transform(table))
    assert 0.1 < answered.mean() < 0.95
    assert (found["answered"] == answered).all()
    assert list(pd.read_csv(io.StringIO(run("predict m.skops new.csv --probabilities").stdout)).columns) == [
        *NAMES,
        "answered",
    ]
    scores = 1 - model[-1].losses(model[:-1].transform(table), table[NAMES].to_numpy())
    facts = parsed("evaluate m.skops new.csv --json")["promise"]
    assert facts["score"] == pytest.approx(scores[answered].mean())
    assert facts["share"] == pytest.approx(answered.mean())
    assert facts["score"] > 0.67 > scores.mean()
    holes = np.where(np.arange(600)[:, None] < 100, np.nan, table[NAMES].to_numpy(float))
    holes[100:200, 0] = np.nan  # of which the other labels count
    pd.concat([table.drop(columns=NAMES), pd.DataFrame(holes, columns=NAMES)], axis=1).to_csv(
        "holes.csv", index=False
    )
    observed = parsed("evaluate m.skops holes.csv --json")
    assert (observed["sets"], observed["promise"]["share"]) == (500, pytest.approx(answered[100:].mean()))
    words = run("evaluate m.skops new.csv").stdout
    assert f"observed: F1 {facts['score']:.4f}" in words
    assert (facts["error"], facts["at_least"]) == pytest.approx(
        (scores[answered].std(ddof=1) / answered.sum() ** 0.5, 0.7)
    )
    assert parsed("evaluate m.skops new.csv --loss jaccard --json")["promise"] is None, "promised for F1 only"
    assert "answered" not in run("predict m.skops new.csv --loss jaccard").stdout.splitlines()[0]


def test_every_element_of_a_track_is_answered_with_it():
    assert setloss.load("tracks.skops")[-1].promise_.sets == 75, "a quarter of the bags, each whole"
    run("predict tracks.skops tracks.csv --out tracks-out.csv")
    found = pd.read_csv("tracks-out.csv")
    assert (found.groupby("group")["answered"].nunique() == 1).all()
    facts = parsed("evaluate tracks.skops tracks.csv --json")["promise"]
    assert facts["share"] == pytest.approx(found.groupby("group")["answered"].first().mean())


def test_the_curve_is_drawn(folder):
    pytest.importorskip("matplotlib")
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["setloss.cli.predict"], "_draw", lambda *given: drawn.append(given))
        run("evaluate m.skops new.csv --plot curve.png")
    scores, answered = drawn[0][-2:]
    assert answered[: answered.sum()].all(), "the surest first, and these are answered"
    assert scores[:200].mean() > scores.mean() > scores[-200:].mean()
    command = [sys.executable, "-m", "setloss", "evaluate", "m.skops", "new.csv", "--plot", "curve.png"]
    together = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert together.stdout.endswith("\nsetloss: figure written to curve.png\n")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    examples(50, 2).drop(columns=NAMES).to_csv("bare.csv", index=False)
    assert "has no labels" in complaint("evaluate m.skops bare.csv --plot curve.png")
    for name in ("curve", "curve.xyz"):
        assert f".svg files; got {name}" in complaint(f"evaluate none.skops new.csv --plot {name}")
