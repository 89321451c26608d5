"""A classifier for each label, trained where the label is known."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from setloss.estimators import SetDecisionCV
from setloss.estimators.label_scores import LabelwiseClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, :2] + RNG.normal(size=(80, 2)) > 0).astype(float)
HOLES = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
WEIGHTS = RNG.random(80)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_each_label_is_learned_from_the_rows_where_it_is_known(weights):
    model = LabelwiseClassifier(LogisticRegression()).fit(X, HOLES, sample_weight=weights)
    for j, chances in enumerate(model.predict_proba(X)):
        known = ~np.isnan(HOLES[:, j])
        given = None if weights is None else weights[known]
        alone = LogisticRegression().fit(X[known], HOLES[known, j], sample_weight=given)
        np.testing.assert_array_equal(chances, alone.predict_proba(X))


def test_without_holes_it_is_that_of_scikit_learn():
    ours, theirs = (kind(LogisticRegression()).fit(X, Y) for kind in (LabelwiseClassifier, MultiOutputClassifier))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    flat = LabelwiseClassifier(LogisticRegression()).fit(X, Y[:, 0])
    np.testing.assert_array_equal(flat.predict(X)[:, 0], theirs.predict(X)[:, 0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_default_takes_missing_labels_of_tables_and_arrays():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    for features in (X, table):
        model = SetDecisionCV(cv=2).fit(features, pd.DataFrame(HOLES, columns=["oil", "gas"]))
        assert model.score(features, Y) > 0.6
        named = model.predict_names(features)
        assert [set(row) for row in named] == [
            {name for name, chosen in zip(("oil", "gas"), row, strict=True) if chosen}
            for row in model.predict(features)
        ]
    with pytest.raises(AttributeError, match="fit with a table y"):
        SetDecisionCV(cv=2).fit(X, Y).predict_names(X)
