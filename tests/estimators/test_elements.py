"""The first mistakes with one's own table: text among the features, columns by name, classifiers of one label."""

import logging

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from setloss.estimators import BagDecisionCV, SetClassifier, SetDecisionCV
from setloss.estimators.elements import FeatureScaleWarning

generator = np.random.default_rng(0)
X = generator.standard_normal((40, 3))
Y = (X > 0.2).astype(int)
LINEAR = OneVsRestClassifier(LogisticRegression())


def table():
    """X with names, and a column of text."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["tempo", "energy", "length"])
    return frame.assign(genre=np.where(np.arange(40) % 2, "rock", "jazz"))


@pytest.mark.parametrize(
    "model", [SetClassifier(), SetDecisionCV(LINEAR), SetDecisionCV()], ids=lambda m: str(m)[:15]
)
def test_a_column_of_text_is_named_with_what_to_do(model):
    with pytest.raises(
        ValueError, match=r"column 'genre' of X to numbers: it holds text \('jazz'\). Leave it out, or"
    ):
        model.fit(table(), Y)


@pytest.mark.parametrize("model", [SetClassifier(), SetDecisionCV(LINEAR), SetDecisionCV()])
def test_a_column_of_dates_is_named_with_what_to_do(model):
    dates = np.datetime64("2020-01-01") + np.arange(40)
    with pytest.raises(ValueError, match=r"column 'day' of X to numbers: it holds dates or times. Leave it out, or"):
        model.fit(table().drop(columns="genre").assign(day=dates), Y)


@pytest.mark.parametrize("model", [SetClassifier(), SetDecisionCV(LINEAR)])
def test_a_model_that_was_never_fitted_says_so(model):
    with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
        model.predict(X)


def test_so_it_is_at_prediction_and_without_names():
    model = SetClassifier(tol=0.1).fit(X, Y)
    mixed = X.astype(object)
    mixed[3, 1] = "loud"
    with pytest.raises(ValueError, match=r"column 1 of X to numbers: it holds text \('loud'\)"):
        model.predict(mixed)


def test_other_failures_keep_their_words():
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        SetClassifier().fit(broken, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SetDecisionCV(LINEAR).fit(X, Y[:10])


def test_columns_of_different_scales_are_named():
    wide = table().drop(columns="genre")
    wide["length"] *= 1e5
    with pytest.warns(FeatureScaleWarning, match=r"column 'length' varies by .* column '(tempo|energy)' by") as said:
        SetClassifier(tol=0.1).fit(wide, Y)
    assert "make_pipeline(StandardScaler(), SetClassifier(...))" in str(said[0].message)


def test_a_classifier_of_one_label_is_told_from_one_of_many():
    with pytest.raises(
        ValueError, match=r"LogisticRegression learns one label and y has 3. .*OneVsRestClassifier\(Log"
    ):
        SetDecisionCV(LogisticRegression()).fit(X, Y)
    SetDecisionCV(LogisticRegression()).fit(X, Y[:, 0])


def test_missing_labels_are_sent_to_who_takes_them():
    missing = Y.astype(float)
    missing[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"y has missing labels, and ExtraTreesClassifier takes none:"):
        SetDecisionCV().fit(X, missing)
    SetDecisionCV(SetClassifier(tol=0.1)).fit(X, missing)


def test_more_folds_than_examples():
    with pytest.raises(ValueError, match=r"cv=5 folds need as many examples; there are 3. Lower cv."):
        SetDecisionCV(LINEAR).fit(X[:3], Y[:3])


def test_several_classes_in_one_column():
    with pytest.raises(ValueError, match=r"3 classes \(a, b, c...\). A label for each of them: pandas.get_du"):
        SetDecisionCV().fit(X, np.array(["a", "b", "c", "a"] * 10))


@pytest.mark.parametrize("rule", ["auto", "threshold"])
def test_verbose_tells_of_folds_and_of_the_rule(caplog, rule):
    with caplog.at_level(logging.INFO, "setloss"):
        SetDecisionCV(LINEAR, rule=rule, cv=3, verbose=1).fit(X, Y)
    lines = caplog.messages
    assert [line.split(" after ")[0] for line in lines[:3]] == [f"fold {k} of 3: held-out scores" for k in (1, 2, 3)]
    assert lines[3:5] == ["training on everything", "learning the decision"]
    assert lines[5].startswith("decided by ")
    assert ("held-out losses: " in lines[5]) == (rule == "auto")
    assert len(lines) == 6


def test_verbose_of_bags_and_silence_unless_it_is_asked_for(caplog):
    groups = np.arange(40) // 4
    with caplog.at_level(logging.INFO, "setloss"):
        quiet = BagDecisionCV(LogisticRegression(), cv=2).fit(X, Y[:, 0], groups)
        assert caplog.messages == []
        with parallel_config("threading"):
            loud = BagDecisionCV(LogisticRegression(), cv=2, n_jobs=2, verbose=1).fit(X, Y[:, 0], groups)
    assert caplog.messages[-2:] == ["learning the decision", "decided by counts"]
    assert np.array_equal(quiet.predict(X, groups), loud.predict(X, groups))
