"""The protocol on bags: no test bag has a say in anything, the same results whatever the jobs, decisions."""

import json
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from experiments.protocol import smallest_good_C
from experiments.tracks import report
from experiments.tracks.data import SOURCES, TrackProblem
from experiments.tracks.methods import METHODS, Budget, LinearRule, rules_along_path
from experiments.tracks.protocol import LOSSES, Protocol, run_protocol
from experiments.tracks.report import RULES, benchmark
from helpers.experiment_commands import complaint, run
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


def test_folds_keep_units_whole_and_strata_even():
    frames = problem(bags=40).frames("")
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
    test = clean.frames("").folds(SMALL.outer, SMALL.seed) == 0
    X, y = clean.X.copy(), clean.targets[""].copy()
    X[test] = 1e3 * np.random.default_rng(9).normal(size=X[test].shape)
    y[test] = ~y[test]
    first, second = last_rule(clean), last_rule(replace(clean, X=X, targets={"": y}))
    assert first.C == second.C
    assert np.array_equal(first.weights, second.weights)
    assert first.intercept == second.intercept


def test_the_outcome_is_the_loss_of_a_model_fitted_by_hand():
    """One C: a fold is `BagClassifier` on the training bags, judged on the others."""
    made = problem(standardise=False)
    found = run_protocol(made, ["bd"], ["dice"], replace(SMALL, Cs=(0.1,)))["dice", "bd"]
    fold, y = made.frames("").folds(3, 0), made.targets[""]
    for k in range(3):
        model = BagClassifier("dice", "bd", scale=2.0, C=0.1, tol=1e-2, max_iter=50, intercept_scaling=1.0)
        model.fit(made.X[fold != k], y[fold != k], made.groups[fold != k])
        losses = model.losses(made.X[fold == k], y[fold == k], made.groups[fold == k])
        assert found.losses[k] == pytest.approx(losses.mean())
    assert found.Cs == ((0.1,), (0.1,), (0.1,))


def test_c_is_chosen_by_inner_losses():
    made = problem()
    chosen = run_protocol(made, ["linear-svc"], ["curve2"], replace(SMALL, outer_used=1))["curve2", "linear-svc"].Cs
    frames = made.frames("")
    part = frames.part(frames.folds(3, 0) != 0)
    inner, losses = part.folds(2, 1), {}
    for C in SMALL.Cs:
        found = []
        for k in range(2):
            train, test = part.part(inner != k), part.part(inner == k)
            mean, deviation = train.X.mean(axis=0), train.X.std(axis=0)
            svc = LinearSVC(C=C, dual="auto", random_state=0).fit((train.X - mean) / deviation, train.y)
            right = svc.predict((test.X - mean) / deviation)
            found.append(loss_named("curve2")(test.y, right, groups=test.groups))
        losses[C] = np.concatenate(found)
    assert chosen == ((smallest_good_C(losses),),)


def test_results_do_not_depend_on_the_number_of_jobs_but_on_the_seed():
    made, methods = problem(), ["bd", "hinge", "slack-released"]
    once = run_protocol(made, methods, ["curve1", "dice"], SMALL)
    with joblib.parallel_config("threading"):  # the same code path as processes, without starting any
        twice = run_protocol(made, methods, ["curve1", "dice"], replace(SMALL, n_jobs=2))
    other = run_protocol(made, methods, ["curve1", "dice"], replace(SMALL, seed=1))
    assert once.keys() == twice.keys()
    for key in once:
        assert once[key].losses == twice[key].losses
        assert once[key].Cs == twice[key].Cs
    assert any(once[key].losses != other[key].losses for key in once)


def test_questions_are_averaged_and_progress_ends_at_one():
    made, heard = problem(), []
    two = replace(made, targets={"a": made.targets[""], "b": ~made.targets[""]})
    protocol = replace(SMALL, Cs=(0.1,))
    single = run_protocol(made, ["hinge"], ["curve1"], protocol)["curve1", "hinge"]
    turned = run_protocol(replace(made, targets={"": ~made.targets[""]}), ["hinge"], ["curve1"], protocol)
    follow = replace(protocol, progress=lambda *told: heard.append(told))
    both = run_protocol(two, ["hinge"], ["curve1"], follow)["curve1", "hinge"]
    assert both.losses == pytest.approx((np.array(single.losses) + turned["curve1", "hinge"].losses) / 2)
    assert heard[-1] == (1.0, "Made up: fold 3, 0-1 (hinge)")


@pytest.mark.parametrize("key", METHODS)
def test_every_method_trains_for_every_loss_it_suits(key):
    frames, method = problem(bags=12).frames(""), METHODS[key]
    suited = [loss for loss in LOSSES if method.suits(loss)]
    assert suited
    for loss in suited:
        rules = list(rules_along_path(method, loss, frames, (0.1, 0.01), Budget(1e-2, 50), standardise=True))
        assert [rule.C for rule in rules] == [0.01, 0.1]
        assert np.all(np.isfinite(rules[-1].losses(frames, loss)))


def test_which_methods_suit_which_loss():
    assert [METHODS["bd-monotone"].suits(loss) for loss in ("curve2", "curve3")] == [True, False]
    assert [loss for loss in LOSSES if METHODS["lovasz"].suits(loss)] == ["jaccard"]
    assert all(METHODS["lovasz-jaccard"].suits(loss) for loss in LOSSES)


def test_standardised_rules_score_raw_frames():
    """The rule of standardised frames, folded back, is the classifier on them; a constant feature does no harm."""
    frames = problem().frames("")
    X = np.hstack([1e3 * frames.X + 7, np.ones((len(frames.X), 1))])
    rule = next(
        rules_along_path(METHODS["linear-svc"], "dice", replace(frames, X=X), (0.1,), Budget(), standardise=True)
    )
    deviation = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    svc = LinearSVC(C=0.1, dual="auto", random_state=0).fit((X - X.mean(axis=0)) / deviation, frames.y)
    assert rule.scores(X) == pytest.approx(svc.decision_function((X - X.mean(axis=0)) / deviation), abs=1e-8)


def test_tables_of_operators_and_of_decisions():
    document = benchmark(problem(), SMALL, ("bd", "bd-monotone", "logistic"), ("curve1", "curve3"), ("logistic",))
    frames, decisions = document.tables
    assert [row[0] for row in frames.rows] == ["B_D", "B_D monotone", "logistic regression"]
    assert frames.rows[1][2] is None  # no monotone closure for loss 3
    assert [row[0] for row in decisions.rows] == [f"logistic regression + {rule}" for rule in RULES]
    assert decisions.rows[1][1].mean == pytest.approx(np.mean(document.numbers["decisions"]["logistic vote curve1"]))
    json.dumps(document.as_dict(), allow_nan=False)


def test_the_command_writes_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "QUICK", replace(SMALL, Cs=(0.1,), outer_used=2))
    few = partial(benchmark, methods=("bd", "logistic"), losses=("curve1",), bases=("logistic",))
    monkeypatch.setattr(report, "benchmark", few)
    monkeypatch.setitem(SOURCES, "japanese-vowels", ("japanese_vowels", lambda place, full: problem()))
    data, out = tmp_path / "data", tmp_path / "new" / "results"
    (data / "japanese_vowels").mkdir(parents=True)
    run("tracks", "--data", data, "--out", out, "--jobs", 1)
    assert "logistic" in json.loads((out / "tracks-made.json").read_text())["numbers"]["outcomes"]["curve1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "nowhere"], "nowhere has no folder japanese_vowels or spoken_arabic_digits"),
        (["--data", ".", "--datasets", "vowels"], "there is no data set 'vowels'; the names are japanese-vowels,"),
        (["--data", ".", "--datasets", "japanese-vowels"], "needs the folder japanese_vowels, which is not there"),
        ([], "no data: give --data"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    assert words in complaint("tracks", *arguments)
