"""Rivals: the F-measure maximiser by enumeration, chains by their probabilities, thresholds by trying all."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from experiments.baselines import (
    EFP,
    GFM,
    RIVALS,
    MetaLabeler,
    ProbabilisticChain,
    TreesEFP,
    best_f_sets,
    smoothed_cut,
)
from experiments.label_sets.tuning import Choices, Logistic, held_out, log_loss, preparations
from setloss.losses import Dice

ONE_C = Choices(Cs=(1.0,), folds=2, trees=20)


def mean_f1(truth, said, empty=1.0):
    """Over the rows of `truth`, for one set or as many."""
    return 1 - Dice(zero_division=empty)(truth == 1, np.broadcast_to(said == 1, truth.shape)).mean()


@pytest.mark.parametrize("seed", range(20))
def test_the_maximiser_finds_the_set_of_largest_expected_f(seed):
    rng, p = np.random.default_rng(seed), 4
    sets = np.array(list(product([False, True], repeat=p)))
    chances = rng.dirichlet(np.full(len(sets), 0.3))
    joint = np.zeros((1, p, p))
    for one, chance in zip(sets, chances, strict=True):
        if one.any():
            joint[0, one, one.sum() - 1] += chance
    expected = [
        sum(chance * mean_f1(truth[None], said) for truth, chance in zip(sets, chances, strict=True)) for said in sets
    ]
    found = best_f_sets(joint, chances[:1])[0]
    assert expected[np.flatnonzero((sets == found).all(axis=1))[0]] == pytest.approx(max(expected))


@pytest.mark.parametrize("empty", [0.0, 1.0])
@pytest.mark.parametrize("rival", [EFP, GFM, TreesEFP])
def test_plug_in_rivals_are_best_by_enumeration_where_features_name_a_group(rival, empty):
    """Each of four groups has its own distribution of sets; models that can learn it decide as who knows it."""
    rng, p = np.random.default_rng(0), 3
    sets = np.array(list(product([0, 1], repeat=p)))
    chances = rng.dirichlet(np.full(len(sets), 0.5), size=4)
    draws = [rng.choice(len(sets), 400, p=row) for row in chances]
    X, Y = np.repeat(np.eye(4), 400, axis=0), sets[np.concatenate(draws)]
    said = rival(Choices(Cs=(1e4,), folds=2, trees=5, leaf=1)).fit(X, Y).predict(np.eye(4), empty)
    for found, drawn in zip(said, draws, strict=True):
        best = max(mean_f1(sets[drawn], one, empty) for one in sets)
        assert mean_f1(sets[drawn], found, empty) == pytest.approx(best, abs=5e-3)


def test_c_climbs_to_the_least_held_out_loss_of_the_path():
    choices, X, Y = Choices(folds=3), *data()
    splits = choices.few_splits(len(Y))

    def loss(C):
        return log_loss(*held_out(X, Y[:, 2], C, splits, 2))

    assert choices.climb(loss) == min(choices.Cs, key=loss)
    assert choices.climb(abs) == choices.Cs[0]
    assert choices.climb(lambda C: -C) == choices.Cs[-1]
    train, test = splits[0]
    by_hand = LogisticRegression(C=1.0, max_iter=1000).fit(X[train], Y[train, 0]).predict_proba(X[test])
    np.testing.assert_allclose(held_out(X, Y[:, 0], 1.0, splits, 2)[1][: len(test)], by_hand)


def test_sparse_features_are_prepared_in_all_ways_that_differ():
    counts = csr_array(np.random.default_rng(0).poisson(0.5, (20, 6)).astype(float))
    assert len(preparations(counts)) == 4
    assert len(preparations(counts * 0.5)) == 3  # no counts, no tf-idf
    assert len(preparations(counts > 0)) == 3  # the largest value of every column is 1 already
    for way in preparations(counts):
        assert np.square(way.fit_transform(counts).toarray()).sum(axis=1).mean() == pytest.approx(1)


def data(sparse=False):
    rng, n = np.random.default_rng(0), 400
    X = rng.normal(size=(n, 3))
    first = X[:, 0] + rng.logistic(size=n) > 0
    second = 3 * first - 1.5 + X[:, 1] + rng.logistic(size=n) > 0
    Y = np.column_stack([first, second, rng.random(n) < 0.1, np.zeros(n, dtype=bool)]).astype(int)
    return (csr_array(X) if sparse else X), Y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_learns_something_and_takes_constant_labels(name, sparse):
    X, Y = data(sparse)
    said = RIVALS[name](ONE_C).fit(X, Y).predict(X)
    assert said.shape == Y.shape
    assert not said[:, 3].any()
    assert mean_f1(Y, said) > mean_f1(Y, np.ones(4))


def test_samples_of_a_chain_have_its_probabilities():
    X, Y = data()
    ours = ProbabilisticChain(ONE_C).fit(X, Y[:, :2])
    ours.samples = 4000
    drawn = ours.draw(X[:3])
    first = LogisticRegression(C=1.0, max_iter=1000).fit(X, Y[:, 0])
    np.testing.assert_allclose(drawn[:, :, 0].mean(axis=1), first.predict_proba(X[:3])[:, 1], atol=0.04)
    chain = ClassifierChain(LogisticRegression(C=1.0, max_iter=1000)).fit(X, Y[:, :2])
    given = expit(chain.estimators_[1].decision_function(np.hstack([X[:3], np.ones((3, 1))])))
    among = [drawn[i, drawn[i, :, 0], 1].mean() for i in range(3)]
    np.testing.assert_allclose(among, given, atol=0.06)


def test_metalabeler_predicts_as_many_labels_as_its_number_model():
    X, Y = data()
    number = Logistic(X, Y.sum(axis=1), 1.0).model
    np.testing.assert_array_equal(MetaLabeler(ONE_C).fit(X, Y).predict(X).sum(axis=1), number.predict(X))


@pytest.mark.parametrize("seed", range(10))
def test_smoothed_thresholds_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    scores, truth = rng.integers(-3, 4, 12) / 2, rng.random(12) < rng.uniform(0, 0.6)

    def value(cut):
        said = scores > cut
        return (2 * (said & truth).sum() + 1) / (said.sum() + truth.sum() + 1)

    assert value(smoothed_cut(scores, truth)) == pytest.approx(max(value(cut) for cut in np.linspace(-3, 3, 61)))
    assert smoothed_cut(scores, np.zeros(12, dtype=bool)) > scores.max()
