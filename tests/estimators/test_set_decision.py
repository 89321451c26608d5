"""`SetDecision`: scores in, sets out; label sets and bags, rules, words for scores, expected scores, conventions."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.utils import estimator_checks, get_tags

from helpers.estimator_data import probabilities_of, scored_bags, scored_labels
from setloss import Dice
from setloss.decisions import decide
from setloss.estimators import SetDecision
from setloss.losses import CostCurve

S, Y = scored_labels()


# ---------------------------------------------------------------- label sets


def test_the_count_model_is_found_and_decides_exactly():
    S, Y = scored_labels(3000)
    model = SetDecision(rule="counts").fit(S, Y)
    assert model.calibration_.scale == pytest.approx(2, rel=0.15)
    best = decide(model.calibration_.log_odds(S), "f1", counts=model.calibration_.counts())
    np.testing.assert_array_equal(model.predict(S), best.sets)
    np.testing.assert_allclose(model.expected_loss(S), best.expected_loss, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(S), model.calibration_.model(S).marginals)


def test_the_form_of_scores_and_labels_does_not_matter():
    plain = SetDecision(rule="counts").fit(S, Y)
    sparse = SetDecision(rule="counts").fit(S, csr_array(Y))
    signs = SetDecision(rule="counts").fit(S.tolist(), 2 * Y - 1)
    np.testing.assert_array_equal(plain.predict(S), sparse.predict(S))
    np.testing.assert_array_equal(2 * plain.predict(S) - 1, signs.predict(S))
    assert plain.score(S, csr_array(Y)) == pytest.approx(plain.score(S, Y))
    chances = SetDecision(rule="counts", scores="probabilities").fit(probabilities_of(S), Y)
    np.testing.assert_array_equal(plain.predict(S), chances.predict(probabilities_of(S)))


def test_missing_labels_are_summed_out_and_not_judged():
    gaps = Y.astype(float)
    gaps[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    gaps[3] = np.nan
    model = SetDecision().fit(S, gaps)
    assert model.score(S, Y) > SetDecision().fit(S, Y).score(S, Y) - 0.02
    assert len(model.losses(S, gaps)) == len(S) - 1
    known = np.arange(len(S)) != 3
    half, other = (SetDecision(rule="half").fit(S[some], gaps[some]) for some in (known, slice(None)))
    assert half.rule_losses_["half"] == pytest.approx(other.rule_losses_["half"], rel=1e-12)


def test_weights_count_as_copies_do():
    S, Y = scored_labels(100)
    weights = np.where(np.arange(100) < 50, 2.0, 1.0)
    copies = np.concatenate([np.arange(100), np.arange(50)])
    one = SetDecision(rule="threshold").fit(S, Y, sample_weight=weights)
    other = SetDecision(rule="threshold").fit(S[copies], Y[copies])
    assert one.thresholds() == pytest.approx(other.thresholds())
    assert one.score(S, Y, sample_weight=weights) == pytest.approx(other.score(S[copies], Y[copies]))


def test_a_loss_that_falls_is_decided_among_the_largest_scores():
    S, Y = scored_labels(60, p=20)
    model = SetDecision(CostCurve(((0, 0), (0.1, 0.5), (1, 0.2))), rule="counts").fit(S, Y)
    assert model.predict(S).shape == Y.shape


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


# ---------------------------------------------------------------- bags


def test_on_bags_of_one_label_it_finds_the_vote_by_itself():
    (S, y, groups), (T, z, names) = scored_bags(), scored_bags(seed=1)
    model = SetDecision(rule="counts").fit(S, y, groups=groups)
    predicted = model.predict(T, groups=names)
    assert all(len(np.unique(predicted[names == bag])) == 1 for bag in np.unique(names))
    assert set(model.rule_losses_) == {"counts", "threshold", "half"}
    one = SetDecision(rule="threshold").fit(S, y, groups=groups)
    assert model.score(T, z, groups=names) > one.score(T, z, groups=names)
    assert model.predict_proba(T, groups=names).sum(axis=1) == pytest.approx(np.ones(len(T)))
    for losses in (model.expected_loss(T, groups=names), model.losses(T, z, groups=names)):
        assert losses.shape == (len(np.unique(names)),)
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


# ---------------------------------------------------------------- conventions


@pytest.mark.parametrize(
    "check",
    ["estimator_cloneable", "estimator_repr", "get_params_invariance", "no_attributes_set_in_init",
     "parameters_default_constructible", "set_params"],
)  # fmt: skip
def test_scikit_learn_accepts_it(check):
    """The checks that do not fit: others give labels that are no sets."""
    getattr(estimator_checks, f"check_{check}")("SetDecision", SetDecision())


def test_it_is_tagged_and_says_that_it_is_not_fitted():
    model = SetDecision(Dice(), rule="counts", average="samples", scores="log-odds")
    assert get_tags(model).classifier_tags.multi_label
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(np.zeros((2, 3)))


# ---------------------------------------------------------------- errors


def test_probabilities_are_never_taken_for_log_odds():
    model = SetDecision().fit(S, Y)
    with pytest.raises(ValueError, match='scores="probabilities"'):
        model.predict(probabilities_of(S))
    assert model.predict([[0.3] * 6]).shape == (1, 6), "a few numbers are what the fit was told"
    assert SetDecision(scores="log-odds").fit(probabilities_of(S), Y).score(probabilities_of(S), Y) > 0.5


def test_scores_of_other_labels_are_refused():
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
    """Learned and decided as if 0 were 1 %, whether zeros occur in the fit or only in predictions."""
    (V, Y), (W, Z) = voted_labels(300), voted_labels(300, seed=1)
    assert {0, 1} <= set(V.ravel())
    inside, certain = np.clip(W, 0.01, 0.99), logit(W) if word == "log-odds" else W
    clipped = SetDecision(rule="counts", scores="probabilities").fit(np.clip(V, 0.01, 0.99), Y)
    scores = logit(V) if word == "log-odds" else V
    model = SetDecision(rule="counts", scores=word).fit(scores, Y)
    np.testing.assert_allclose(model.predict_proba(certain), clipped.predict_proba(inside))
    kept = ((V > 0) & (V < 1)).all(axis=1)
    without = SetDecision(rule="counts", scores=word).fit(scores[kept], Y[kept])
    assert without.score(certain, Z) > clipped.score(inside, Z) - 0.03


# ---------------------------------------------------------------- tables and lists of scores


def test_tables_whose_columns_are_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    S, Y = (pandas.DataFrame(values, columns=list("abcdef")) for values in scored_labels())
    back = S[list("fedcba")]
    with pytest.raises(ValueError, match="another order; reorder"):
        SetDecision().fit(back, Y)
    model = SetDecision().fit(S, Y)
    assert model.score(S, Y) == SetDecision().fit(S.to_numpy(), Y.to_numpy()).score(S.to_numpy(), Y.to_numpy())
    assert model.feature_names_in_.tolist() == list("abcdef")
    renamed = S.set_axis(list("uvwxyz"), axis=1)
    uses = [model.predict, model.predict_proba, model.expected_loss, lambda s: model.score(s, Y)]
    for use in (*uses, lambda s: model.promise(s, Y, at_most=0.5)):
        with pytest.raises(ValueError, match="another order; reorder"):
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
