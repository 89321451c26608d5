"""What both deciders share: rules, other losses, averages, what to expect, promises, Dask arrays block by block."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from helpers.estimator_data import one_or_two_labels, probabilities_of, scored_bags, scored_labels
from setloss import Dice, Hamming, Jaccard
from setloss.decisions import make_promise
from setloss.decisions.rules import RULES
from setloss.estimators import SetDecision, SetDecisionCV

(S, Y), (T, Z) = scored_labels(), scored_labels(800, seed=1)


def test_knowing_how_many_beats_every_other_rule_where_the_number_is_nearly_constant():
    models = {rule: SetDecision(rule=rule).fit(S, Y) for rule in RULES}
    found = {rule: model.score(T, Z) for rule, model in models.items()}
    assert found["counts"] > max(found[rule] for rule in ("plug-in", "threshold", "half")) + 0.02
    assert models["auto"].rule_name_ == "counts"
    assert set(models["auto"].rule_losses_) == {"counts", "threshold", "half"}
    assert set(models["plug-in"].rule_losses_) == {"plug-in", "threshold", "half"}


def test_another_loss_needs_no_fit_for_the_count_model():
    S, Y = scored_labels(100)
    for rule in ("auto", "counts", "plug-in"):
        model = SetDecision(rule=rule).fit(S, Y)
        anew = SetDecision(Jaccard(), rule="counts" if rule == "auto" else rule).fit(S, Y)
        np.testing.assert_array_equal(model.set_params(loss="jaccard").predict(S), anew.predict(S))
    model = SetDecision(rule="threshold").fit(S, Y)
    counts = SetDecision(rule="counts").fit(S, Y)
    np.testing.assert_array_equal(model.set_params(rule="auto").predict(S), counts.predict(S))
    model.set_params(rule="threshold", loss="jaccard")
    with pytest.raises(ValueError, match="call fit again"):
        model.predict(S)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_macro_and_micro_f1_get_thresholds_of_their_own(average):
    model = SetDecision(average=average).fit(S, Y)
    assert model.score(T, Z) == pytest.approx(f1_score(Z, model.predict(T), average=average))
    assert model.score(T, Z) > f1_score(Z, T > 0, average=average)
    np.testing.assert_allclose(model.thresholds(probabilities=True), probabilities_of(model.thresholds()))
    for method in (model.expected_loss, model.expected_score):
        with pytest.raises(ValueError, match="samples"):
            method(T)


def test_the_interval_of_the_expected_score_covers_as_often_as_it_says():
    """Fits and new examples drawn anew each time; neither 90 % nor 50 % is said too boldly or too carefully."""
    hits = {0.9: 0, 0.5: 0}
    for seed in range(14):
        (S, Y), (T, Z) = scored_labels(60, p=4, seed=seed), scored_labels(60, p=4, seed=100 + seed)
        model = SetDecision(rule="counts" if seed % 2 else "threshold").fit(S, Y)
        for level in hits:
            found = model.expected_score(T, level=level)
            hits[level] += found.low <= model.score(T, Z) <= found.high
    assert hits[0.9] >= 11
    assert 3 <= hits[0.5] <= 11


def test_expected_scores_are_right_where_the_count_model_is_wrong(monkeypatch):
    """Three labels in every set, and scores with an offset for each set, but elements are taken as independent."""
    monkeypatch.setattr("setloss.decisions.rules.FEWEST_STUDIED", 10**9)

    def drawn(n, seed):
        generator = np.random.default_rng(seed)
        truth = generator.random((n, 8)).argsort(axis=1) < 3
        return np.where(truth, 2.0, -2.0) + generator.normal(size=(n, 8)) + 2 * generator.normal(size=(n, 1)), truth

    (S, Y), (T, Z) = drawn(2000, 0), drawn(4000, 1)
    for rule in ("plug-in", "threshold"):
        model = SetDecision(rule=rule).fit(S, Y)
        assert abs(1 - model.expected_loss(T).mean() - model.score(T, Z)) > 0.04
        assert model.expected_score(T).value == pytest.approx(model.score(T, Z), abs=0.02)


@pytest.mark.parametrize("rule", ["counts", "threshold", "half"])
def test_a_promise_answers_the_surest_sets_of_every_rule(rule):
    """Learned from 600 sets, held on 4,000 others; the limit is that of `make_promise` for the order by loss."""
    (S, Y), (C, D), (T, Z) = scored_labels(300), scored_labels(600, seed=1), scored_labels(4000, seed=2)
    model = SetDecision(rule=rule).fit(S, Y)
    worst = model.losses(C, D).mean()
    promise = model.promise(C, D, at_most=0.8 * worst)
    order = model.calibration_.expected_losses(model.predict(C) == 1, C, Dice())
    assert promise.limit == make_promise(order, model.losses(C, D), at_most=0.8 * worst).limit
    answered = promise.answers(T)
    assert 0.2 < answered.mean() < 1
    assert model.losses(T, Z)[answered].mean() < 0.8 * worst < model.losses(T, Z).mean()
    assert promise.share == promise.answers(C).mean()


def test_a_promise_about_groups_weights_and_known_labels():
    (S, y, groups), (C, z, names) = scored_bags(), scored_bags(600, seed=1)
    model = SetDecision(rule="counts").fit(S, y, groups=groups)
    promise = model.promise(C, z, groups=names, at_most=0.4)
    assert (promise.answers(C, groups=names) == (model.expected_loss(C, groups=names) <= promise.limit)).all()
    kept = names < 300
    part = model.promise(C[kept], z[kept], groups=names[kept], at_most=0.4)
    assert part == model.promise(C, z, groups=names, at_most=0.4, sample_weight=kept.astype(float))
    assert promise.sets == 600 == 2 * part.sets
    scores, labels = scored_labels(900)
    gaps = np.where(np.arange(900)[:, None] % 3 == 0, np.nan, labels)
    model = SetDecision().fit(*scored_labels(seed=1))
    some = model.promise(scores, gaps, at_most=0.3)
    assert some == model.promise(scores[np.arange(900) % 3 > 0], labels[np.arange(900) % 3 > 0], at_most=0.3)


def test_a_promise_about_losses_above_one():
    new, labels = scored_labels(4000, seed=2)
    model = SetDecision(Hamming(normalize=False), rule="counts").fit(S, Y)
    promise = model.promise(T, Z, at_most=1.0)
    assert model.losses(new, labels)[promise.answers(new)].mean() < 1.0 < model.losses(new, labels).mean()
    shares = SetDecision(Hamming(), rule="counts").fit(S, Y).promise(T, Z, at_most=1 / 6)
    assert (promise.answers(new) == shares.answers(new)).all()


def test_a_promise_is_kept_for_the_parameters_it_was_made_for():
    model = SetDecision(rule="counts").fit(S, Y)
    assert not hasattr(model, "promise_")
    promise = model.promise(T, Z, at_most=0.3)
    answered = promise.answers(S)
    assert model.promise_ == promise
    assert not hasattr(model.set_params(loss="jaccard"), "promise_")
    assert (promise.answers(S) == answered).all(), "a promise goes on for the loss it is about"
    assert (model.set_params(loss="f1").promise_.answers(S) == answered).all()
    assert not hasattr(model.fit(S, Y), "promise_")
    with pytest.raises(ValueError, match="samples"):
        SetDecision(average="macro").fit(S, Y).promise(T, Z, at_most=0.3)


# ---------------------------------------------------------------- Dask arrays


def test_scores_of_dask_are_decided_block_by_block():
    da = pytest.importorskip("dask.array")
    (S, Y), rows = scored_labels(900), []
    model = SetDecision().fit(S[:300], Y[:300])
    model._read = lambda scores, *rest: rows.append(len(scores)) or SetDecision._read(model, scores, *rest)
    lazy = da.from_array(S, chunks=(250, 4))
    found = model.predict(lazy), model.predict_proba(lazy), model.expected_loss(lazy)
    assert not rows, "nothing is computed before it is asked for"
    promise = model.promise(S[300:], Y[300:], at_most=0.3)
    answered = promise.answers(lazy)
    del rows[:]
    for values, method in zip(found, (model.predict, model.predict_proba, model.expected_loss), strict=True):
        computed = values.compute(scheduler="synchronous")
        assert max(rows) <= 250
        np.testing.assert_array_equal(computed, method(S))
        assert (values.dtype, values.shape) == (computed.dtype, computed.shape)
        del rows[:]
    np.testing.assert_array_equal(answered.compute(scheduler="synchronous"), promise.answers(S))
    some = lazy[lazy[:, 0] > 9]
    for method, shape in ((model.predict, (0, 6)), (model.expected_loss, (0,))):  # a filter may leave empty blocks
        none = method(some).compute(scheduler="synchronous")
        assert (none.shape, none.dtype) == (shape, method(S).dtype)


def test_a_fit_draws_rows_of_dask_arrays(monkeypatch):
    da = pytest.importorskip("dask.array")
    S, Y = scored_labels(900)
    lazy = da.from_array(S, chunks=(250, 6)), da.from_array(Y, chunks=(400, 6))
    plain, all_rows = SetDecision().fit(S, Y), SetDecision().fit(*lazy)
    np.testing.assert_array_equal(plain.predict(S), all_rows.predict(S))
    monkeypatch.setattr("setloss.estimators.set_decision.MOST_SETS", 500)
    drawn = SetDecision().fit(*lazy, sample_weight=np.ones(900))
    assert drawn.calibration_.scale == pytest.approx(plain.calibration_.scale, rel=0.2)
    assert drawn.calibration_.scale != plain.calibration_.scale
    table = pytest.importorskip("pandas").DataFrame(Y)  # its rows are drawn alike
    assert SetDecision().fit(lazy[0], table).calibration_.scale == drawn.calibration_.scale
    with pytest.raises(ValueError, match="groups"):
        plain.fit(*lazy, groups=np.arange(900))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        plain.fit(lazy[0][lazy[0][:, 0] > 0], Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plain.fit(lazy[0][:100], lazy[1])


def test_features_of_dask_are_decided_block_by_block_too():
    da = pytest.importorskip("dask.array")
    X, Y = one_or_two_labels(100)
    model = SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=2).fit(X, Y)
    lazy = da.from_array(X, chunks=(30, 4))
    for method in (model.predict, model.predict_proba, model.expected_loss):
        found, computed = method(lazy), method(X)
        assert (found.shape, found.dtype) == (computed.shape, computed.dtype)
        np.testing.assert_array_equal(found.compute(scheduler="synchronous"), computed)
