"""The choice of a classifier: kinds by held-out loss, preparations and C by held-out likelihood."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from helpers.estimator_data import one_or_two_labels
from setloss.decisions.rules import RuleLearner
from setloss.estimators import SetDecisionCV, candidates, trials
from setloss.estimators.candidates import PATH, Path, default_kinds, kinds_of, preparations
from setloss.estimators.fit_log import innermost
from setloss.io import TableEncoder

LINEAR = OneVsRestClassifier(LogisticRegression())
TREES = ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0)


def word_counts(n=240, words=300, seed=0):
    """Texts of very different lengths; three rare words each speak for one of four labels, common ones for none."""
    generator = np.random.default_rng(seed)
    Y = (generator.random((n, 4)) < 0.35).astype(int)
    rates = np.tile(np.r_[np.zeros(12), generator.gamma(0.3, size=words - 12)], (n, 1))
    rates[:, :12] += 0.25 * np.repeat(Y, 3, axis=1)
    return csr_array(generator.poisson(rates * generator.lognormal(1, 1, size=(n, 1)))).astype(float), Y


def ways(X):
    return [type(steps[0]) if steps else None for steps, _ in preparations(X)]


@pytest.mark.parametrize("peak", range(13))
@pytest.mark.parametrize("start", [0, 4, 12])
def test_a_path_is_climbed_from_its_start_and_as_far_as_it_rises(start, peak):
    asked = []
    values = {i: -abs(i - peak) for i in range(13)}
    assert trials._climb(lambda i: asked.append(i) or values[i], start, 13) == peak
    assert len(set(asked)) <= abs(peak - start) + 3


def test_preparations_that_change_nothing_or_make_no_sense_are_left_out():
    counts = csr_array(np.array([[1.0, 0, 4], [0, 2, 1], [3, 3, 0]]))
    assert ways(counts) == [None, Normalizer, MaxAbsScaler, TfidfTransformer]
    assert ways(csr_array(counts > 0).astype(float)) == [None, Normalizer, TfidfTransformer]
    assert ways(-counts) == [None, Normalizer, MaxAbsScaler]
    assert ways(0.7 * counts) == [None, Normalizer, MaxAbsScaler]
    assert ways(csr_array(Normalizer().fit_transform(counts))) == [None, MaxAbsScaler]
    assert ways(csr_array((3, 2))) == [None]


def test_the_search_begins_where_c_fits_the_length_of_the_rows():
    starts = {scale: PATH[default_kinds(csr_array(scale * np.eye(4)))[0][0].start] for scale in (0.1, 1.0, 10.0)}
    assert starts == {0.1: 1000.0, 1.0: 10.0, 10.0: 0.1}


def test_word_counts_are_not_scaled_by_their_largest_value():
    X, Y = word_counts()
    model = SetDecisionCV(cv=3).fit(X[:160], Y[:160])
    assert not any(isinstance(step, MaxAbsScaler) for step in model.estimator_)
    scaled = SetDecisionCV(
        [make_pipeline(MaxAbsScaler(), OneVsRestClassifier(LogisticRegression(C=C))) for C in PATH]
    )
    assert model.score(X[160:], Y[160:]) > scaled.set_params(cv=3).fit(X[:160], Y[:160]).score(X[160:], Y[160:])


def test_the_preparation_that_is_likeliest_is_taken_whichever_it_is():
    """Rows of very different lengths, whose direction says the labels: as given they say little."""
    generator = np.random.default_rng(0)
    Y = (generator.random((160, 2)) < 0.5).astype(int)
    X = np.abs(generator.normal(1, 0.3, size=(160, 6)))
    X[:, :2] *= np.where(Y == 1, 1.6, 0.4)
    lengths = generator.lognormal(0, 2, size=(160, 1))
    assert isinstance(SetDecisionCV(cv=2).fit(csr_array(X * lengths), Y).estimator_[0], Normalizer)


def test_kinds_are_compared_on_another_fold_than_their_rules_are_learned_on(monkeypatch):
    """Even where one fold holds out enough sets: judged on a single one, all kinds are as good and the first wins."""
    monkeypatch.setattr(trials, "ENOUGH_HELD_OUT", 1)
    X = np.random.default_rng(0).normal(size=(200, 6))
    products = (X[:, :3] * X[:, 3:] > 0).astype(int)
    assert isinstance(SetDecisionCV([LINEAR, TREES], cv=2).fit(X, products).estimator_, ExtraTreesClassifier)


def test_the_path_of_c_goes_on_while_its_edge_is_best():
    """Labels without noise: the less shrunk the likelier."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    model = SetDecisionCV(cv=2).fit(csr_array(X), (X[:, :3] > 0).astype(int))
    assert innermost(model.estimator_).C >= 100


def test_kinds_of_named_classifiers():
    scaled = make_pipeline(StandardScaler(), LINEAR)
    assert kinds_of([LINEAR, TREES, scaled]) == [[Path((LINEAR,)), Path((scaled,))], [Path((TREES,))]]


@pytest.mark.parametrize("prefit", [False, True])
def test_kinds_are_compared_by_held_out_loss_and_not_by_likelihood(monkeypatch, prefit):
    """The likelier kind is not taken if it decides worse."""
    X, Y = one_or_two_labels(90)
    seen = []
    given = [LINEAR, TREES]
    if prefit:
        given = [LINEAR.fit(X, Y), TREES.fit(X, Y)]
    monkeypatch.setattr(
        RuleLearner, "decided_loss", lambda learner, *how: seen.append(learner.log_likelihood) or -len(seen)
    )
    model = SetDecisionCV(given, cv="prefit" if prefit else 2).fit(X, Y)
    assert isinstance(model.estimator_, ExtraTreesClassifier)
    assert len(seen) == 2
    monkeypatch.setattr(RuleLearner, "decided_loss", lambda learner, *how: learner.log_likelihood)
    least_likely = SetDecisionCV(given, cv="prefit" if prefit else 2).fit(X, Y)
    assert isinstance(least_likely.estimator_, (OneVsRestClassifier, ExtraTreesClassifier)[int(np.argmin(seen))])


@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_trees_are_taken_where_they_decide_better(monkeypatch, average):
    monkeypatch.setattr(candidates, "TREES", 30)
    X = np.random.default_rng(0).normal(size=(200, 6))
    products = (X[:, :3] * X[:, 3:] > 0).astype(int)
    trees = SetDecisionCV(cv=2, average=average).fit(X, products).estimator_
    assert isinstance(trees, ExtraTreesClassifier)
    for tree in (one.tree_ for one in trees.estimators_):  # no leaf stores a single row
        assert tree.n_node_samples[tree.children_left < 0].min() >= 3
    sums = (X[:, :3] + X[:, 3:] > 0).astype(int)
    assert isinstance(innermost(SetDecisionCV(cv=2, average=average).fit(X, sums).estimator_), LogisticRegression)


def test_which_kinds_are_compared_by_what_the_features_are():
    """Trees alone take missing features; none for sparse features, missing labels and frames."""
    X, Y = one_or_two_labels(80)
    kinds = {
        (True, True): default_kinds(X),
        (False, True): default_kinds(np.where(X > 2, np.nan, X)),
        (True, False): default_kinds(csr_array(X)),
    }
    for (linear, trees), found in kinds.items():
        names = [type(innermost(kind[0].estimators[0])) for kind in found]
        assert names == [LogisticRegression] * linear + [ExtraTreesClassifier] * trees
    assert len(default_kinds(X, in_bags=True)) == len(default_kinds(X, missing=True)) == 1
    sparse = SetDecisionCV(cv=2).fit(csr_array(X), Y, sample_weight=np.linspace(1, 2, len(X)))
    assert sparse.score(csr_array(X), Y) > 0.5


def test_many_examples_are_compared_on_the_first_folds(monkeypatch):
    """The one that is kept then goes on with the other folds."""
    X, Y = one_or_two_labels(75)
    whole = SetDecisionCV([LINEAR, TREES], cv=4).fit(X, Y)
    monkeypatch.setattr(trials, "ENOUGH_HELD_OUT", 1)
    few = SetDecisionCV([LINEAR, TREES], cv=4).fit(X, Y)
    assert few.decision_.rule_losses_ == whole.decision_.rule_losses_


def test_a_single_candidate_is_not_compared(monkeypatch):
    monkeypatch.setattr(RuleLearner, "decided_loss", None)
    monkeypatch.setattr(trials, "_climb", None)
    X, Y = one_or_two_labels(60)
    assert SetDecisionCV(LINEAR, cv=2).fit(X, Y).predict(X).shape == Y.shape


def tickets(n=240, seed=0):
    """A table with text, categories, missing numbers and dates; a word of the text says which labels there are."""
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(seed)
    Y = (generator.random((n, 3)) < 0.4).astype(int)
    filler = np.array(["please", "help", "the", "page", "today", "again", "slow", "never", "works", "always"])
    texts = [" ".join([*generator.choice(filler, 8), *np.array(["login", "money", "crash"])[row == 1]]) for row in Y]
    size = generator.normal(size=n)
    size[::9] = np.nan
    created = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(generator.integers(0, 10**6, size=n), unit="s")
    city = generator.choice(["Paris", "Rome"], n)
    return pandas.DataFrame({"body": texts, "city": city, "size": size, "created": created}), Y


def test_tables_are_encoded_in_folds_as_in_the_end(monkeypatch):
    monkeypatch.setattr(candidates, "TREES", 10)
    X, Y = tickets()
    model = SetDecisionCV(cv=2).fit(X[:160], Y[:160])
    assert isinstance(model.estimator_[0], TableEncoder)
    assert model.score(X[160:], Y[160:]) > 0.9
    assert list(model.feature_names_in_) == list(X.columns)
    plain = SetDecisionCV(cv=2).fit(X[["city", "size", "created"]], Y)
    assert isinstance(plain.estimator_[0], TableEncoder)
    kinds = default_kinds(X[["city", "size", "created"]])
    assert [type(innermost(kind[0].estimators[0])) for kind in kinds] == [LogisticRegression, ExtraTreesClassifier]
    assert len(default_kinds(X)) == len(default_kinds(X)[0]) == 1
    assert not isinstance(default_kinds(X[["size"]].fillna(0))[0][0].estimators[0][0], TableEncoder)
