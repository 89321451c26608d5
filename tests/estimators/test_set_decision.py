"""`SetDecision`: scores in, sets out; label sets and bags, rules, words for scores, expected scores, conventions."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.metrics import f1_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_estimator_cloneable,
    check_estimator_repr,
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from setloss import Dice, Hamming, Jaccard
from setloss.decisions import decide, make_promise
from setloss.decisions.rules import RULES
from setloss.estimators import SetDecision
from setloss.losses import CostCurve


def scored_labels(n=400, p=6, seed=0, most=2):
    """Scores whose log-odds are twice as large, with sets of one or two labels."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(-0.5, 1, size=(n, p))
    sizes = range(most + 1)
    chosen = [list(some) for k in sizes for some in itertools.combinations(range(p), k)]
    sets = np.array([np.isin(np.arange(p), some) for some in chosen])
    logs = 2 * scores @ sets.T + np.array([-2.0, 2.0, 3.0])[sets.sum(axis=1)]
    return scores, sets[np.argmax(logs + generator.gumbel(size=logs.shape), axis=1)].astype(int)


def scored_bags(bags=150, largest=8, seed=0):
    """Bags of one label each, and scores that say a little of it; elements are shuffled."""
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(bags), generator.integers(1, largest + 1, size=bags)))
    y = (generator.random(bags) < 0.4)[groups]
    return generator.normal(y - 0.5, 1.0), y.astype(int), groups


def probabilities_of(scores):
    return 1 / (1 + np.exp(-scores))


# ---------------------------------------------------------------- label sets


def test_knowing_how_many_beats_every_other_rule_where_the_number_is_nearly_constant():
    (S, Y), (T, Z) = scored_labels(), scored_labels(800, seed=1)
    models = {rule: SetDecision(rule=rule).fit(S, Y) for rule in RULES}
    found = {rule: model.score(T, Z) for rule, model in models.items()}
    assert found["counts"] > max(found[rule] for rule in ("plug-in", "threshold", "half")) + 0.02
    assert models["auto"].rule_name_ == "counts"
    assert set(models["auto"].rule_losses_) == {"counts", "threshold", "half"}
    assert set(models["plug-in"].rule_losses_) == {"plug-in", "threshold", "half"}


def test_the_count_model_is_found_and_decides_exactly():
    S, Y = scored_labels(3000)
    model = SetDecision(rule="counts").fit(S, Y)
    assert model.calibration_.scale == pytest.approx(2, rel=0.15)
    best = decide(model.calibration_.log_odds(S), "f1", counts=model.calibration_.counts())
    np.testing.assert_array_equal(model.predict(S), best.sets)
    np.testing.assert_allclose(model.expected_loss(S), best.expected_loss, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(S), model.calibration_.model(S).marginals)


def test_the_form_of_scores_and_labels_does_not_matter():
    S, Y = scored_labels()
    plain = SetDecision(rule="counts").fit(S, Y)
    sparse = SetDecision(rule="counts").fit(S, csr_array(Y))
    signs = SetDecision(rule="counts").fit(S.tolist(), 2 * Y - 1)
    np.testing.assert_array_equal(plain.predict(S), sparse.predict(S))
    np.testing.assert_array_equal(2 * plain.predict(S) - 1, signs.predict(S))
    assert plain.score(S, csr_array(Y)) == pytest.approx(plain.score(S, Y))
    chances = SetDecision(rule="counts", scores="probabilities").fit(probabilities_of(S), Y)
    np.testing.assert_array_equal(plain.predict(S), chances.predict(probabilities_of(S)))


def test_missing_labels_are_summed_out_and_not_judged():
    S, Y = scored_labels()
    gaps = Y.astype(float)
    gaps[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    gaps[3] = np.nan
    model = SetDecision().fit(S, gaps)
    assert model.score(S, Y) > SetDecision().fit(S, Y).score(S, Y) - 0.02
    assert len(model.losses(S, gaps)) == len(S) - 1


def test_weights_count_as_copies_do():
    S, Y = scored_labels(100)
    weights = np.where(np.arange(100) < 50, 2.0, 1.0)
    copies = np.concatenate([np.arange(100), np.arange(50)])
    one = SetDecision(rule="threshold").fit(S, Y, sample_weight=weights)
    other = SetDecision(rule="threshold").fit(S[copies], Y[copies])
    assert one.thresholds() == pytest.approx(other.thresholds())
    assert one.score(S, Y, sample_weight=weights) == pytest.approx(other.score(S[copies], Y[copies]))


def test_another_loss_needs_no_fit_for_the_count_model():
    S, Y = scored_labels(100)
    for rule in ("auto", "counts", "plug-in"):
        model = SetDecision(rule=rule).fit(S, Y)
        anew = SetDecision(Jaccard(), rule="counts" if rule == "auto" else rule).fit(S, Y)
        np.testing.assert_array_equal(model.set_params(loss="jaccard").predict(S), anew.predict(S))
    model = SetDecision(rule="threshold").fit(S, Y).set_params(loss="jaccard")
    with pytest.raises(ValueError, match="call fit again"):
        model.predict(S)


def test_a_loss_that_falls_is_decided_among_the_largest_scores():
    S, Y = scored_labels(60, p=20)
    model = SetDecision(CostCurve(((0, 0), (0.1, 0.5), (1, 0.2))), rule="counts").fit(S, Y)
    assert model.predict(S).shape == Y.shape


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_macro_and_micro_f1_get_thresholds_of_their_own(average):
    (S, Y), (T, Z) = scored_labels(), scored_labels(800, seed=1)
    model = SetDecision(average=average).fit(S, Y)
    assert model.score(T, Z) == pytest.approx(f1_score(Z, model.predict(T), average=average))
    assert model.score(T, Z) > f1_score(Z, T > 0, average=average)
    np.testing.assert_allclose(model.thresholds(probabilities=True), probabilities_of(model.thresholds()))
    for method in (model.expected_loss, model.expected_score):
        with pytest.raises(ValueError, match="samples"):
            method(T)


def test_many_sparse_labels():
    """33,000 labels are more than int16 counts, and too many for a count model: independent labels decide."""
    generator = np.random.default_rng(0)
    n, p = 10, 33_000
    scores = generator.normal(-9, 1, size=(n, p))
    rows, columns = np.repeat(np.arange(n), 3), generator.integers(p, size=3 * n)
    columns[:3] = [32_766, 32_768, p - 1]
    scores[rows, columns] += 9
    Y = csr_array((np.ones(3 * n, dtype=np.int8), (rows, columns)), shape=(n, p))
    Y.data[:] = 1
    model = SetDecision().fit(scores, Y)
    assert set(model.rule_losses_) == {"plug-in", "threshold", "half"}
    assert model.score(scores, Y) > 0.6
    assert model.predict(scores)[0, [32_766, 32_768, p - 1]].sum() >= 2


# ---------------------------------------------------------------- what to expect


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


# ---------------------------------------------------------------- bags


def test_on_bags_of_one_label_it_finds_the_vote_by_itself():
    (S, y, groups), (T, z, names) = scored_bags(), scored_bags(seed=1)
    model = SetDecision(rule="counts").fit(S, y, groups=groups)
    predicted = model.predict(T, groups=names)
    assert all(len(np.unique(predicted[names == bag])) == 1 for bag in np.unique(names))
    assert set(model.rule_losses_) == {"counts", "threshold", "half"}
    assert model.score(T, z, groups=names) > SetDecision(rule="threshold").fit(S, y, groups=groups).score(
        T, z, groups=names
    )
    assert model.predict_proba(T, groups=names).sum(axis=1) == pytest.approx(np.ones(len(T)))
    assert (
        model.expected_loss(T, groups=names).shape
        == model.losses(T, z, groups=names).shape
        == (len(np.unique(names)),)
    )
    assert model.expected_score(T, groups=names).value == pytest.approx(model.score(T, z, groups=names), abs=0.1)


def test_long_bags_cost_what_their_length_is():
    """One bag of 20,000 elements among short ones: a table over its counts would have 400 million cells."""
    S, y, groups = scored_bags(100)
    long = np.random.default_rng(1).normal(0.5, 1.0, size=20_000)
    S, y, groups = (
        np.concatenate(pair) for pair in ((S, long), (y, np.ones(20_000, int)), (groups, np.full(20_000, 100)))
    )
    model = SetDecision().fit(S, y, groups=groups)
    assert model.predict(S, groups=groups)[-20_000:].mean() > 0.9
    chances = model.predict_proba(S, groups=groups)[-20_000:, 1]
    order = np.argsort(long)
    assert np.all(np.diff(chances[order]) >= -1e-9)


# ---------------------------------------------------------------- promises


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
    (S, Y), (C, D), (T, Z) = scored_labels(), scored_labels(800, seed=1), scored_labels(4000, seed=2)
    model = SetDecision(Hamming(normalize=False), rule="counts").fit(S, Y)
    promise = model.promise(C, D, at_most=1.0)
    assert model.losses(T, Z)[promise.answers(T)].mean() < 1.0 < model.losses(T, Z).mean()
    shares = SetDecision(Hamming(), rule="counts").fit(S, Y).promise(C, D, at_most=1 / 6)
    assert (promise.answers(T) == shares.answers(T)).all()


def test_a_promise_is_kept_for_the_parameters_it_was_made_for():
    (S, Y), (C, D) = scored_labels(), scored_labels(600, seed=1)
    model = SetDecision(rule="counts").fit(S, Y)
    assert not hasattr(model, "promise_")
    promise = model.promise(C, D, at_most=0.3)
    answered = promise.answers(S)
    assert model.promise_ == promise
    assert not hasattr(model.set_params(loss="jaccard"), "promise_")
    assert (promise.answers(S) == answered).all(), "a promise goes on for the loss it is about"
    assert (model.set_params(loss="f1").promise_.answers(S) == answered).all()
    assert not hasattr(model.fit(S, Y), "promise_")
    with pytest.raises(ValueError, match="samples"):
        SetDecision(average="macro").fit(S, Y).promise(C, D, at_most=0.3)


# ---------------------------------------------------------------- Dask arrays


def test_scores_of_dask_are_decided_block_by_block():
    da = pytest.importorskip("dask.array")
    S, Y = scored_labels(900)
    model, rows = SetDecision().fit(S[:300], Y[:300]), []
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
    with pytest.raises(ValueError, match="groups"):
        plain.fit(*lazy, groups=np.arange(900))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        plain.fit(lazy[0][lazy[0][:, 0] > 0], Y)
    with pytest.raises(ValueError, match="y have 900 rows"):
        plain.fit(lazy[0][:100], lazy[1])


# ---------------------------------------------------------------- conventions


CHECKS = (
    check_estimator_cloneable, check_estimator_repr, check_get_params_invariance, check_no_attributes_set_in_init,
    check_parameters_default_constructible, check_set_params,
)  # fmt: skip


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learn_accepts_it(check):
    """The checks that fit: others give labels that are no sets."""
    check("SetDecision", SetDecision())


def test_it_is_tagged_and_says_that_it_is_not_fitted():
    model = SetDecision(Dice(), rule="counts", average="samples", scores="log-odds")
    assert get_tags(model).classifier_tags.multi_label
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(np.zeros((2, 3)))


# ---------------------------------------------------------------- errors


def test_probabilities_are_never_taken_for_log_odds():
    S, Y = scored_labels()
    model = SetDecision().fit(S, Y)
    with pytest.raises(ValueError, match='scores="probabilities"'):
        model.predict(probabilities_of(S))
    assert model.predict([[0.3] * 6]).shape == (1, 6), "a few numbers are what the fit was told"
    assert SetDecision(scores="log-odds").fit(probabilities_of(S), Y).score(probabilities_of(S), Y) > 0.5


def test_scores_of_other_labels_are_refused():
    S, Y = scored_labels()
    model = SetDecision().fit(S, Y)
    for wrong in (S[:, :4], S[:, 0]):
        with pytest.raises(ValueError, match="expecting 6 features"):
            model.predict(wrong)
    np.testing.assert_array_equal(model.predict(S, groups=np.zeros(len(S))), model.predict(S))  # rows are the sets
    with pytest.raises(ValueError, match="counts"):
        SetDecision(rule="counts").fit(S, Y).thresholds()


# ---------------------------------------------------------------- certainty


def voted_labels(n, trees=20, seed=0):
    """Labels, and the share of votes for each: often 0 or 1, and then not always right."""
    generator = np.random.default_rng(seed)
    chances = probabilities_of(generator.normal(-1, 2, size=(n, 6)))
    return generator.binomial(trees, chances) / trees, (generator.random(chances.shape) < chances).astype(int)


@pytest.mark.parametrize("word", ["probabilities", "log-odds"])
def test_votes_of_zero_and_one_are_not_taken_for_certain(word):
    """Learned and decided as if 0 were about half a vote, whether zeros occur in the fit or only in predictions."""
    (V, Y), (W, Z) = voted_labels(300), voted_labels(300, seed=1)
    assert (V == 0).any()
    assert (V == 1).any()
    clipped = SetDecision(rule="counts", scores="probabilities").fit(np.clip(V, 0.025, 0.975), Y)
    scores = (lambda votes: votes) if word == "probabilities" else logit
    model = SetDecision(rule="counts", scores=word).fit(scores(V), Y)
    assert model.score(scores(W), Z) == pytest.approx(clipped.score(np.clip(W, 0.025, 0.975), Z), abs=0.01)
    np.testing.assert_allclose(
        model.predict_proba(scores(W)), clipped.predict_proba(np.clip(W, 0.025, 0.975)), atol=0.02
    )
    kept = ((V > 0) & (V < 1)).all(axis=1)
    without = SetDecision(rule="counts", scores=word).fit(scores(V[kept]), Y[kept])
    assert without.score(scores(W), Z) > clipped.score(np.clip(W, 0.025, 0.975), Z) - 0.03


def test_decide_takes_certainty_at_its_word():
    assert decide(np.array([[0.0, 1.0]]), "f1", scores="probabilities").expected_loss == pytest.approx(0)
    assert decide(np.array([[-np.inf, np.inf]]), "f1").expected_loss == pytest.approx(0)


# ---------------------------------------------------------------- tables and lists of scores


def test_tables_whose_columns_are_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    S, Y = (pandas.DataFrame(values, columns=list("abcdef")) for values in scored_labels())
    back = S[list("fedcba")]
    with pytest.raises(ValueError, match="another order; reorder them"):
        SetDecision().fit(back, Y)
    model = SetDecision().fit(S, Y)
    assert model.score(S, Y) == SetDecision().fit(S.to_numpy(), Y.to_numpy()).score(S.to_numpy(), Y.to_numpy())
    assert model.feature_names_in_.tolist() == list("abcdef")
    renamed = S.set_axis(list("uvwxyz"), axis=1)
    uses = [model.predict, model.predict_proba, model.expected_loss, lambda s: model.score(s, Y)]
    for use in (*uses, lambda s: model.promise(s, Y, at_most=0.5)):
        with pytest.raises(ValueError, match="another order; reorder them"):
            use(back)
        with pytest.raises(ValueError, match=r"columns of scores are \['u'.*of the fit \['a'"):
            use(renamed)
    plain = SetDecision().fit(S.to_numpy(), Y.to_numpy())
    with pytest.raises(ValueError, match="another order"):
        plain.score(back, Y)
    named = SetDecision().fit(S.to_numpy(), Y)
    with pytest.raises(ValueError, match="another order"):
        named.predict(back)
    other = SetDecision().fit(renamed, Y)
    np.testing.assert_array_equal(other.predict(renamed), model.predict(S))
    assert not hasattr(other.fit(S.to_numpy(), Y), "feature_names_in_")


def test_lists_of_the_probabilities_of_both_classes_are_those_of_the_second():
    S, Y = scored_labels()
    P = probabilities_of(S)
    both = [np.column_stack([1 - p, p]) for p in P.T]
    model = SetDecision(scores="probabilities").fit(both, Y)
    plain = SetDecision(scores="probabilities").fit(P, Y)
    np.testing.assert_array_equal(model.predict(both), plain.predict(P))
    with pytest.raises(ValueError, match="probabilities"):
        SetDecision().fit(both, Y)
    for strange in (np.ones((len(Y), 1)), np.log(both[1])):
        with pytest.raises(ValueError, match=r"label 1 .*np.column_stack\(\[p"):
            SetDecision(scores="probabilities").fit([both[0], strange, *both[2:]], Y)
