"""The protocol on bags: no test bag has a say in anything, the same results whatever the jobs, decisions."""

import json
from dataclasses import replace
from functools import partial
from itertools import combinations

import joblib
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from experiments.protocol import smallest_good_C
from experiments.tracks import report
from experiments.tracks.data import SOURCES, Frames, TrackProblem
from experiments.tracks.protocol import LinearRule, Protocol, run_protocol
from experiments.tracks.report import RULES, benchmark, majority
from helpers.experiment_commands import complaint, run
from setloss import loss_named

SMALL = Protocol(Cs=(0.01, 0.1, 1.0), outer=3, inner=2, tol=1e-2, max_iter=50)


def problem(bags=36):
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(bags), generator.integers(1, 8, size=bags))
    y = groups % 3 == 0
    X = generator.normal(size=(len(y), 4)) + 0.8 * y[:, None] + 0.5 * generator.normal(size=(bags, 4))[groups]
    return TrackProblem("made", "Made up", Frames(X, y, groups, groups, y))


def test_folds_keep_units_whole_and_strata_even():
    frames = problem(bags=40).frames
    fold = frames.folds(4, seed=3)
    of_bag = [set(fold[frames.groups == bag]) for bag in range(40)]
    assert all(len(folds) == 1 for folds in of_bag)
    positives = np.bincount([next(iter(folds)) for bag, folds in enumerate(of_bag) if bag % 3 == 0], minlength=4)
    sizes = np.bincount([next(iter(folds)) for folds in of_bag], minlength=4)
    assert np.ptp(positives) <= 1
    assert np.ptp(sizes) <= 1
    assert np.array_equal(fold, frames.folds(4, seed=3))
    assert not np.array_equal(fold, frames.folds(4, seed=4))
    with pytest.raises(ValueError, match="50 folds need at least as many bags or speakers; there are 40"):
        frames.folds(50, 0)


@pytest.mark.parametrize("method", ["bd", "hinge", "slack-greedy", "linear-svc", "logistic"])
def test_test_bags_have_no_influence_on_the_model(method, monkeypatch):
    """Turn the labels of the first fold's test bags around and their frames into noise: C and w stay the same."""
    known = LinearRule.losses

    def last_rule(made):
        seen = []
        monkeypatch.setattr(LinearRule, "losses", lambda rule, *given: seen.append(rule) or known(rule, *given))
        run_protocol(made, [method], ["curve1"], replace(SMALL, outer_used=1))
        return seen[-1]

    clean = problem()
    test = clean.frames.folds(SMALL.outer, SMALL.seed) == 0
    X, y = clean.frames.X.copy(), clean.frames.y.copy()
    X[test] = 1e3 * np.random.default_rng(9).normal(size=X[test].shape)
    y[test] = ~y[test]
    first, second = last_rule(clean), last_rule(replace(clean, frames=replace(clean.frames, X=X, y=y)))
    assert (first.C, first.intercept) == (second.C, second.intercept)
    assert np.array_equal(first.weights, second.weights)


def test_c_is_chosen_by_inner_losses_and_the_outcome_is_that_of_a_model_fitted_by_hand(monkeypatch):
    """LinearSVC, fold by fold; the number of processes changes nothing, and a constant feature does no harm."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    made = problem()
    X = np.hstack([1e3 * made.frames.X + 7, np.ones((len(made.frames.X), 1))])
    made = replace(made, frames=replace(made.frames, X=X))
    with joblib.parallel_config("threading"):  # the same code path as processes, without starting any
        found = run_protocol(made, ["linear-svc"], ["curve2"], SMALL)["curve2", "linear-svc"]
    frames = made.frames

    def losses(part, inside, C):
        train, test = part.part(~inside), part.part(inside)
        mean, deviation = train.X.mean(axis=0), np.where(train.X.std(axis=0) > 0, train.X.std(axis=0), 1)
        svc = LinearSVC(C=C, dual="auto", random_state=0).fit((train.X - mean) / deviation, train.y)
        return loss_named("curve2")(test.y, svc.predict((test.X - mean) / deviation), groups=test.groups)

    for k in range(3):
        outer = frames.folds(3, 0) == k
        part = frames.part(~outer)
        inner = part.folds(2, 1)
        by_C = {C: np.concatenate([losses(part, inner == j, C) for j in range(2)]) for C in SMALL.Cs}
        assert found.Cs[k] == smallest_good_C(by_C)
        assert found.losses[k] == pytest.approx(losses(frames, outer, found.Cs[k]).mean())


def test_decisions_learn_from_scores_that_are_held_out():
    """Trees know all training frames by heart; of noise, held-out scores say nothing."""
    frames = problem().frames
    noise = replace(frames, X=np.random.default_rng(5).normal(size=frames.X.shape))
    held_out, known = report._scores("trees", noise, noise, 0)
    assert roc_auc_score(noise.y, held_out) < 0.7
    assert roc_auc_score(noise.y, known) > 0.9


def test_a_vote_is_won_by_more_than_half():
    said = np.array([True, False, True, True, False, False])
    assert majority(said, np.array([4, 4, 4, 9, 9, 2])).tolist() == [True, True, True, False, False, False]


def test_the_command_writes_tables_of_operators_and_of_decisions(tmp_path, monkeypatch):
    few = partial(
        benchmark, methods=("bd", "bd-monotone", "logistic"), losses=("curve1", "curve3"), bases=("logistic",)
    )
    monkeypatch.setattr(report, "USUAL", SMALL)
    monkeypatch.setattr(report, "benchmark", few)
    monkeypatch.setitem(SOURCES, "japanese-vowels", ("japanese_vowels", lambda place, full: problem()))
    (tmp_path / "japanese_vowels").mkdir()
    run("tracks", "--data", tmp_path, "--out", tmp_path / "new" / "results")
    document = json.loads((tmp_path / "new" / "results" / "tracks-made.json").read_text())
    frames, decisions = document["tables"]
    assert [row[0] for row in frames["rows"]] == ["B_D", "B_D monotone", "logistic regression"]
    assert frames["rows"][1][2] is None  # no monotone closure for loss 3
    assert [row[0] for row in decisions["rows"]] == [f"logistic regression + {rule}" for rule in RULES]
    by_rule = [document["numbers"]["decisions"][f"logistic {rule} curve1"] for rule in RULES]
    assert decisions["rows"][0][1]["mean"] == pytest.approx(np.mean(by_rule[0]))
    assert all(one != other for one, other in combinations(by_rule, 2))


def test_without_data_the_command_says_where_they_go(monkeypatch):
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    assert "japanese-vowels in nowhere/japanese_vowels" in complaint("tracks", "--data", "nowhere")
    assert "no data: give --data" in complaint("tracks")
