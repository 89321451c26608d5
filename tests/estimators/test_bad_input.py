"""What cannot be used is refused with one sentence that names the argument: a table over all public estimators.

Every row is (what is wrong, a call, words that the sentence must have). Data are right but for the one thing.
"""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from helpers.estimator_data import frame_data, label_data
from setloss.estimators import SetClassifier, SetClassifierCV, SetDecision, SetDecisionCV

X, Y = label_data()
F, y, groups = frame_data()
N = len(y)
ONE = np.arange(N) == 3
SMALL = {"Cs": [1.0], "cv": 2}
ROWS, GROUPED = {"X": X, "y": Y}, {"X": F, "y": y, "groups": groups}
LINEAR = [(SetClassifier, {}, ROWS), (SetClassifierCV, SMALL, GROUPED)]
NAN = float("nan")
PARAMETERS = {
    "C": ["1", None, [1.0], 0.0, -1.0, NAN, np.inf, 1j],
    "Cs": ["1", [], 0, -2, [0.0, 1.0], [-1.0], [NAN], [np.inf], [[1.0]], 1.5, ["a"], None],
    "tol": [None, "small", -1.0, NAN, np.inf, [1e-3]],
    "max_iter": ["x", 2.5, 0, None, -3],
    "max_time": [0.0, -1.0, "60", NAN],
    "solver": [3, None, "sgd", ["admm"]],
    "operator": [None, 3, "db", []],
    "scale": [-1.0, 0.0, NAN, "2", None],
    "loss": [None, 3, "dicee", []],
    "callbacks": [3, None, [3], "print"],
    "cv": [[], 1, 0, -1, "five", 1000, 2.5],
    "fit_intercept": ["no", None, 3],
    "intercept_scaling": [0.0, -1.0, "none", None, NAN],
    "warm_start": ["yes", None],
    "random_state": ["zero", -1, 1.5],
    "verbose": ["loud", -1],
    "n_jobs": ["all", 1.5],
}


def refused(call, *words):
    """Run it; it raises a sentence with these words, and is no failure of something inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
    said = str(caught.value)
    assert len(said) > 20
    for word in words:
        assert re.search(word, said), said


@pytest.mark.parametrize(("estimator", "usual", "data"), LINEAR)
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(estimator, usual, data, name):
    for value in PARAMETERS[name] if name in estimator().get_params() else ():
        refused(lambda value=value: estimator(**(usual | {name: value})).fit(**data), name)


masked_rows = np.ma.masked_array(X, X > 1)
dates = np.datetime64("2020-01-01") + np.arange(N * 5).reshape(N, 5)


DATA = {
    "masked X": (lambda: SetClassifier().fit(masked_rows, Y), "X .*masked", "filled"),
    "masked y": (lambda: SetClassifier().fit(F, np.ma.masked_array(y, ONE), groups=groups), "y .*masked"),
    "masked groups": (lambda: SetClassifier().fit(F, y, groups=np.ma.masked_array(groups, ONE)), "groups .*masked"),
    "dates as features": (lambda: SetClassifier().fit(dates, y, groups=groups), "column .* of X .*dates"),
    "complex features": (lambda: SetClassifier().fit(X + 1j, Y), "[Cc]omplex"),
    "complex labels": (lambda: SetClassifier().fit(X, Y + 0j), "[Cc]omplex"),
    "NaN among frames": (lambda: SetClassifier().fit(F, np.where(ONE, np.nan, y), groups=groups), "y .*3"),
    "None among frames": (
        lambda: SetClassifier().fit(F, np.where(ONE, None, y), groups=groups),
        "y .*missing.*get_dummies",
    ),
    "labels of two kinds": (lambda: SetClassifier().fit(F, np.where(ONE, "a", y.astype(object)), groups=groups), "y"),
    "a column of groups": (lambda: SetClassifier().fit(F, y, groups=groups[:, None]), "groups .*each"),
    "fewer bags than folds": (
        lambda: SetClassifierCV(Cs=[1.0]).fit(F, y, groups=np.minimum(groups, 1)),
        "cv=5",
        "groups",
    ),
    "text among features": (lambda: SetClassifier().fit(np.where(X > 2, "loud", X), Y), "column .* of X .*text"),
    "labels 1 and 2": (lambda: SetClassifier().fit(X, Y + 1), "0 and 1", "2"),
    "labels 0 and .5": (lambda: SetClassifier().fit(X, 0.5 * Y), "contains 0.5"),
    "labels 0 and -1": (lambda: SetClassifier().fit(X, np.where(Y, -1, np.arange(3) % 2)), "both 0 and -1"),
    "infinite labels": (lambda: SetClassifier().fit(X, np.where(Y, np.inf, 0.0)), "infinity"),
    "text labels": (lambda: SetClassifier().fit(X, np.where(Y, "yes", "no")), r"y holds '(yes|no)'.*\(y == 'yes'\)"),
    "lists of labels": (lambda: SetClassifier().fit(X, [[0], [0, 1]] * 9), "MultiLabelBinarizer"),
    "one class": (lambda: SetClassifier().fit(X, 0 * Y), "only one class"),
    "weights of one class": (lambda: SetClassifier().fit(F, y, groups=np.arange(N), sample_weight=y), "one class"),
    "three classes": (lambda: SetClassifier().fit(X, np.arange(18) % 3), "binary", "get_dummies"),
    "nothing known": (lambda: SetClassifier().fit(X, np.full(Y.shape, np.nan)), "one class|known label"),
    "operator that does not fit": (lambda: SetClassifier(operator="lovasz").fit(X, Y), "needs a submodular function"),
    "sparse labels of score": (lambda: SetClassifier().fit(X, 2 * Y - 1).score(X, csr_array(Y)), "y contains 0"),
    "other classes of score": (
        lambda: SetClassifier().fit(F, y, groups=groups).score(F, y + 5, groups=groups),
        "y contains 6|5",
    ),
}


S, f = 2 * X[:, :3], 3 * F[:, 0]
MIXED = np.where(ONE, "a", groups.astype(object))


def cv(estimator=OneVsRestClassifier(LogisticRegression()), *arguments, **parameters):  # noqa: B008 (never fitted)
    return SetDecisionCV(estimator, *arguments, **parameters)


class Untrainable(LogisticRegression):
    """What is wrong is found before it is trained."""

    def fit(self, X, y):
        pytest.fail("trained")


DECISIONS = {
    "loss": (lambda: SetDecision(3).fit(S, Y), "loss"),
    "rule": (lambda: SetDecision(rule=3).fit(S, Y), "rule"),
    "average": (lambda: SetDecision(average="x").fit(S, Y), "average"),
    "kind of scores": (lambda: SetDecision(scores=3).fit(S, Y), "scores"),
    "masked scores": (lambda: SetDecision().fit(np.ma.masked_array(S, S > 1), Y), "scores .*masked"),
    "complex scores": (lambda: SetDecision().fit(S + 1j, Y), "scores .*complex"),
    "NaN scores": (lambda: SetDecision().fit(np.where(S > 1, np.nan, S), Y), "scores .*NaN"),
    "probabilities": (lambda: SetDecision().fit(1 / (1 + np.exp(-S)), Y), 'scores="probabilities"'),
    "other shapes": (lambda: SetDecision().fit(S, Y[:, :2]), "scores have shape", "y"),
    "text as scores": (lambda: SetDecision().fit(np.full(S.shape, "a"), Y), "scores .*real numbers"),
    "mixed groups": (lambda: SetDecision().fit(f, y, groups=MIXED), "groups .*kind"),
    "no classifier": (lambda: cv(3).fit(X, Y), "estimator", "3"),
    "a class": (lambda: cv(LogisticRegression).fit(X, Y), r"make one: LogisticRegression\(\)"),
    "no classifiers": (lambda: cv([]).fit(X, Y), "estimator"),
    "a transformer": (lambda: cv(StandardScaler()).fit(X, Y), "neither predict_proba nor decision_function"),
    "a classifier of one label": (lambda: cv(LogisticRegression()).fit(X, Y), "OneVsRestClassifier"),
    "a loss of one's own": (lambda: cv(Untrainable(), loss=lambda t, p: None).fit(X, Y), "returns NoneType"),
    "a score of one's own": (lambda: cv(Untrainable(), loss=lambda t, p: (t == p).mean()).fit(X, Y), "perfect"),
    "a loss of counts": (lambda: cv(loss=lambda fn, fp, m, q: fn).fit(X, Y), "y_true.*fn.*from_counts"),
    "no splits": (lambda: cv(cv=[]).fit(X, Y), "cv"),
    "overlapping splits": (lambda: cv(cv=[(np.arange(9), np.arange(8, 18))]).fit(X, Y), "cv .*row 8"),
    "dates as features": (lambda: cv().fit(dates[:18], Y), "X .*dates"),
    "complex features": (lambda: cv().fit(X + 1j, Y), "[Cc]omplex"),
    "fewer labels of score": (lambda: SetDecision().fit(S, Y).score(S, Y[:, :2]), "y has shape", "labels of shape"),
    "vote of bags": (lambda: SetDecisionCV(rule="vote").fit(F, y, groups=groups), "rule 'vote'"),
    "split bags": (
        lambda: SetDecisionCV(cv=list(KFold(3).split(F))).fit(F, y, groups=groups),
        "group .* in both parts",
    ),
}


@pytest.mark.parametrize("case", [*DATA.values(), *DECISIONS.values()], ids=[*DATA, *DECISIONS])
def test_data_and_parameters_of_decisions(case):
    refused(*case)


WEIGHTS = {
    "NaN": (lambda n: np.where(np.arange(n) == 3, np.nan, 1.0), "NaN"),
    "negative": (lambda n: -np.ones(n), "[Nn]egative"),
    "too few": (lambda n: np.ones(n - 1), "sample_weight"),
    "all zero": (np.zeros, "zero"),
    "complex": (lambda n: np.ones(n) + 0j, "[Cc]omplex"),
    "infinite": (lambda n: np.full(n, np.inf), "infinity"),
    "masked": (lambda n: np.ma.masked_array(np.ones(n), np.arange(n) < 2), "sample_weight .*masked"),
}


@pytest.mark.parametrize("case", WEIGHTS)
@pytest.mark.parametrize("method", ["fit", "score"])
def test_weights(method, case):
    make, words = WEIGHTS[case]
    for model, data in ((SetClassifier(), ROWS), (SetClassifier(), GROUPED)):
        call = getattr(model if method == "fit" else model.fit(**data), method)
        refused(lambda call=call, data=data: call(**data, sample_weight=make(len(data["X"]))), words)


SCALES = {
    "features": lambda model: model.fit(1e12 * X, Y),
    "whole numbers": lambda model: model.fit((2.0**60 * X).astype(np.int64), Y),
    "C": lambda model: model.set_params(C=1e300).fit(X, Y),
    "tiny C": lambda model: model.set_params(C=1e-300).fit(1e-5 * X, Y),
    "weights": lambda model: model.fit(X, Y, sample_weight=np.full(len(X), 1e300)),
    "whole weights": lambda model: model.fit(X, Y, sample_weight=np.full(len(X), 2**62)),
    "intercept": lambda model: model.set_params(intercept_scaling=1e200).fit(X, Y),
    "one outlier": lambda model: model.fit(np.where(X.max() == X, 1e30, X), Y),
    "squares that overflow": lambda model: model.set_params(C=1e-200).fit(1e170 * X, Y),
}


@pytest.mark.parametrize("what", SCALES)
def test_what_doubles_cannot_weigh_against_the_regulariser_is_refused_before_work(what):
    """A raw LinAlgError, or no end, before there was a range."""
    refused(lambda: SCALES[what](SetClassifier()), "scale the features", "StandardScaler", "1e[+]15", "change C")


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "admm", "cutting_plane", "n_slack"])
def test_at_the_edge_of_the_range_every_solver_ends(solver):
    largest = np.sqrt(0.4e15 / np.sum(X**2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SetClassifier(solver=solver, max_iter=5, max_time=2).fit(largest * X, Y)
        tiny = SetClassifier(solver=solver, max_iter=50, C=1e-280).fit(1e-3 * X, Y)
    assert np.all(np.isfinite(model.coef_))
    assert tiny.dual_gap_ <= 1e-3


@pytest.mark.parametrize(
    ("model", "data"), [(SetDecision(), S), (cv(), X), (SetClassifier(), X), (SetClassifierCV(**SMALL), X)]
)
def test_tables_whose_rows_are_in_another_order(model, data):
    pandas = pytest.importorskip("pandas")
    rows, labels = pandas.DataFrame(data).add_prefix("x"), pandas.DataFrame(Y)
    turned = labels[::-1]
    refused(lambda: model.fit(rows, turned), "another order", r"y.loc\[X.index\]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(rows, labels)
        fitted.score(rows, labels.set_axis(np.arange(N, N + len(Y))))  # other names say nothing of the order
    refused(lambda: fitted.score(rows, turned), "another order")
    mixed = ["a", *range(1, len(Y))]  # names that cannot be sorted
    refused(lambda: model.fit(rows.set_axis(mixed), labels.set_axis(mixed)[::-1]), "another order")
