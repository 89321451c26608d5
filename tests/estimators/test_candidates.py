"""Which classifiers are compared: kinds, preparations, values of C, tables."""

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
from setloss.estimators import SetDecisionCV, candidates
from setloss.estimators.candidates import PATH, Path, default_kinds, kinds_of, preparations
from setloss.estimators.fit_log import innermost
from setloss.io import TableEncoder

LINEAR = OneVsRestClassifier(LogisticRegression())
TREES = ExtraTreesClassifier(10, min_samples_leaf=3, random_state=0)


def ways(X):
    return [type(steps[0]) if steps else None for steps, _ in preparations(X)]


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


def test_kinds_of_named_classifiers():
    scaled = make_pipeline(StandardScaler(), LINEAR)
    assert kinds_of([LINEAR, TREES, scaled]) == [[Path((LINEAR,)), Path((scaled,))], [Path((TREES,))]]


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
