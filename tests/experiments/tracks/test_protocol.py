"""The protocol on bags: no test bag has a say in anything, votes by hand, the same results whatever the jobs."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from experiments.tracks.data import TrackProblem
from experiments.tracks.methods import METHODS, Budget, Frames, decisions, rules_along_path
from experiments.tracks.protocol import (
    LOSSES,
    Protocol,
    bag_losses,
    mean_loss,
    run_protocol,
    stratified_folds,
)
from setloss import loss_named
from setloss.estimators import BagClassifier

SMALL = Protocol(Cs=(0.01, 0.1, 1.0), outer=3, inner=2, budget=Budget(1e-2, 50))


def problem(seed=0, bags=36, d=4, shift=0.8, **options):
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), generator.integers(1, 8, size=bags))
    y = groups % 3 == 0
    X = generator.normal(size=(len(y), d)) + shift * y[:, None] + 0.5 * generator.normal(size=(bags, d))[groups]
    parts = {"units": groups, "strata": y, "standardise": True} | options
    return TrackProblem("made", "Made up", X, {"": y}, groups, **parts)


# ---------------------------------------------------------------- folds


def test_folds_keep_units_whole_and_strata_even():
    made = problem(bags=40)
    fold = stratified_folds(made.groups, made.strata, 4, seed=3)
    of_bag = [set(fold[made.groups == bag]) for bag in range(40)]
    assert all(len(folds) == 1 for folds in of_bag)
    positives = np.bincount([next(iter(folds)) for bag, folds in enumerate(of_bag) if bag % 3 == 0], minlength=4)
    sizes = np.bincount([next(iter(folds)) for folds in of_bag], minlength=4)
    assert np.ptp(positives) <= 1
    assert np.ptp(sizes) <= 1
    assert np.array_equal(fold, stratified_folds(made.groups, made.strata, 4, seed=3))
    assert not np.array_equal(fold, stratified_folds(made.groups, made.strata, 4, seed=4))


def test_too_few_units_are_refused():
    with pytest.raises(ValueError, match="5 folds need at least as many bags or speakers; there are 2"):
        stratified_folds(np.array([0, 0, 1]), np.zeros(3), 5, 0)


# ---------------------------------------------------------------- nothing leaks


@pytest.mark.parametrize("method", ["bd", "hinge", "slack-greedy", "linear-svc", "logistic"])
def test_test_bags_have_no_influence_on_the_model(method, monkeypatch):
    """Turn the labels of the first fold's test bags around and their frames into noise: C and w stay the same."""
    from experiments.tracks import protocol as tracks

    def first_fold(made):
        seen = []

        def spy(rule, frames, loss, *, vote):
            seen.append((rule.C, rule.weights.copy(), rule.intercept))
            return mean_loss(rule, frames, loss, vote=vote)

        monkeypatch.setattr(tracks, "mean_loss", spy)
        run_protocol(made, [method], ["curve1"], replace(SMALL, outer_used=1))
        return seen[0]

    clean = problem()
    test = stratified_folds(clean.units, clean.strata, SMALL.outer, SMALL.seed) == 0
    X, y = clean.X.copy(), clean.targets[""].copy()
    X[test] = 1e3 * np.random.default_rng(9).normal(size=X[test].shape)
    y[test] = ~y[test]
    poisoned = replace(clean, X=X, targets={"": y})
    C, weights, intercept = first_fold(clean)
    C_too, weights_too, intercept_too = first_fold(poisoned)
    assert C_too == C
    assert np.array_equal(weights, weights_too)
    assert intercept == intercept_too


def test_the_outcome_is_the_loss_of_a_model_fitted_by_hand():
    """One C: a fold is `BagClassifier` on the training bags, judged on the others."""
    made = problem(standardise=False)
    protocol = replace(SMALL, Cs=(0.1,))
    found = run_protocol(made, ["bd"], ["dice"], protocol)["dice", "bd"]
    fold, y = stratified_folds(made.units, made.strata, 3, 0), made.targets[""]
    for k in range(3):
        model = BagClassifier("dice", "bd", scale=2.0, C=0.1, tol=1e-2, max_iter=50, intercept_scaling=1.0)
        model.fit(made.X[fold != k], y[fold != k], made.groups[fold != k])
        losses = model.losses(made.X[fold == k], y[fold == k], made.groups[fold == k])
        assert found.losses[k] == pytest.approx(losses.mean())
    assert found.Cs == ((0.1,), (0.1,), (0.1,))


def test_c_is_the_one_of_least_inner_loss():
    made = problem()
    chosen = run_protocol(made, ["linear-svc"], ["curve2"], replace(SMALL, outer_used=1))["curve2", "linear-svc"].Cs
    fold = stratified_folds(made.units, made.strata, 3, 0)
    inside, y = fold != 0, made.targets[""]
    X, y, groups = made.X[inside], y[inside], made.groups[inside]
    inner = stratified_folds(groups, y, 2, 1)
    totals = []
    for C in SMALL.Cs:
        total = 0.0
        for k in range(2):
            mean, deviation = X[inner != k].mean(axis=0), X[inner != k].std(axis=0)
            svc = LinearSVC(C=C, dual="auto", random_state=0).fit((X[inner != k] - mean) / deviation, y[inner != k])
            right = svc.predict((X[inner == k] - mean) / deviation)
            total += loss_named("curve2")(y[inner == k], right, groups=groups[inner == k]).sum()
        totals.append(total)
    assert chosen == ((SMALL.Cs[int(np.argmin(totals))],),)


def test_c_of_least_loss_when_all_bags_are_for_training(monkeypatch):
    from experiments.tracks import protocol as tracks

    for middle, expected in ((0.1, 0.1), (0.3, 1.0), (0.2, 0.1)):  # of equally good ones the smallest
        path = [tracks._HeldOut(np.full((1, 4), loss), 0.0) for loss in (0.5, middle, 0.2)]
        monkeypatch.setattr(tracks, "_along_path", lambda *given, path=path: path)
        assert tracks.best_C(problem(), METHODS["bd"], "curve1", SMALL) == expected


# ---------------------------------------------------------------- repeats


def test_results_do_not_depend_on_the_number_of_jobs_but_on_the_seed():
    made = problem()
    methods = ["bd", "hinge", "slack-released"]
    once = run_protocol(made, methods, ["curve1", "dice"], SMALL)
    with joblib.parallel_config("threading"):  # the same code path as processes, without starting any
        twice = run_protocol(made, methods, ["curve1", "dice"], replace(SMALL, n_jobs=2))
    other = run_protocol(made, methods, ["curve1", "dice"], replace(SMALL, seed=1))
    assert once.keys() == twice.keys()
    for key in once:
        assert once[key].losses == twice[key].losses
        assert once[key].Cs == twice[key].Cs
    assert any(once[key].losses != other[key].losses for key in once)


def test_questions_are_averaged():
    made = problem()
    two = replace(made, targets={"a": made.targets[""], "b": ~made.targets[""]})
    protocol = replace(SMALL, Cs=(0.1,))
    single = run_protocol(made, ["hinge"], ["curve1"], protocol)["curve1", "hinge"]
    turned = run_protocol(replace(made, targets={"": ~made.targets[""]}), ["hinge"], ["curve1"], protocol)
    both = run_protocol(two, ["hinge"], ["curve1"], protocol)["curve1", "hinge"]
    expected = (np.array(single.losses) + turned["curve1", "hinge"].losses) / 2
    assert both.losses == pytest.approx(expected)


def test_progress_ends_at_one():
    heard = []
    run_protocol(problem(), ["hinge"], ["curve1"], replace(SMALL, progress=lambda *told: heard.append(told)))
    assert [share for share, _ in heard] == pytest.approx([1 / 3, 2 / 3, 1])
    assert heard[0][1] == "Made up: fold 1, 0-1 (hinge)"


# ---------------------------------------------------------------- methods and decisions


def test_majority_vote_by_hand():
    scores = np.array([1.0, -1.0, 2.0, 0.5, -0.5, 0.0])
    groups = np.array([0, 0, 0, 1, 1, 2])
    assert decisions(scores, groups, vote=False).tolist() == [True, False, True, True, False, False]
    # Two of three; a tie and a score of 0 are negative.
    assert decisions(scores, groups, vote=True).tolist() == [True, True, True, False, False, False]
    order = np.array([3, 0, 5, 1, 4, 2])
    assert decisions(scores[order], groups[order], vote=True).tolist() == [False, True, False, True, False, True]


def test_vote_and_no_vote_are_judged_side_by_side():
    found = run_protocol(problem(), ["hinge"], ["curve1"], replace(SMALL, votes=(False, True)))
    assert set(found) == {("curve1", "hinge"), ("curve1", "hinge+vote")}


@pytest.mark.parametrize("key", METHODS)
def test_every_method_trains_for_every_loss_it_suits(key):
    made, method = problem(bags=12), METHODS[key]
    frames = Frames(made.X, made.targets[""], made.groups)
    suited = [loss for loss in LOSSES if method.suits(loss)]
    assert suited
    for loss in suited:
        rules = list(rules_along_path(method, loss, frames, (0.1, 0.01), Budget(1e-2, 50), standardise=True))
        assert [rule.C for rule in rules] == [0.01, 0.1]
        assert np.all(np.isfinite(bag_losses(rules[-1], frames, loss, vote=False)))


def test_which_methods_suit_which_loss():
    assert not METHODS["bd-monotone"].suits("curve3")
    assert METHODS["bd-monotone"].suits("curve2")
    assert [loss for loss in LOSSES if METHODS["lovasz"].suits(loss)] == ["jaccard"]
    assert all(METHODS["lovasz-jaccard"].suits(loss) for loss in LOSSES)
    assert not METHODS["hinge"].per_loss
    assert METHODS["slack@1"].scale == 1.0


def test_standardised_rules_score_raw_frames():
    """The rule of standardised frames, folded back, is the classifier on them; a constant feature does no harm."""
    made = problem()
    X = np.hstack([1e3 * made.X + 7, np.ones((len(made.X), 1))])
    y = made.targets[""]
    frames = Frames(X, y, made.groups)
    rule = next(rules_along_path(METHODS["linear-svc"], "dice", frames, (0.1,), Budget(), standardise=True))
    deviation = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    svc = LinearSVC(C=0.1, dual="auto", random_state=0).fit((X - X.mean(axis=0)) / deviation, y)
    assert rule.scores(X) == pytest.approx(svc.decision_function((X - X.mean(axis=0)) / deviation), abs=1e-8)
