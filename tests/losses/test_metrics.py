"""Losses from callables of labels and predictions, against the losses with formulas and against refusals."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, jaccard_score

from setloss import Dice, Jaccard, as_loss, decompose, from_metric
from setloss.decisions import decide
from setloss.estimators import SetClassifier


def dice(y_true, y_pred):
    return 1 - f1_score(y_true, y_pred, zero_division=1.0)


def jaccard(y_true, y_pred):
    return 1 - jaccard_score(y_true, y_pred, zero_division=1.0)


@pytest.mark.parametrize(("metric", "loss"), [(dice, Dice()), (jaccard, Jaccard())])
@pytest.mark.parametrize("counts", [(0, 3), (3, 0), (2, 4), (5, 1)])
def test_a_metric_of_scikit_learn_is_the_loss_with_a_formula(metric, loss, counts):
    mine, theirs = from_metric(metric).on_counts(*counts), loss.on_counts(*counts)
    np.testing.assert_allclose(mine.table, theirs.table, atol=1e-12)
    np.testing.assert_allclose(decompose(mine).supermodular.table, decompose(theirs).supermodular.table, atol=1e-9)


def test_estimators_and_decisions_take_a_callable():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3))
    Y = (X @ generator.normal(size=(3, 4)) + 0.3 * generator.normal(size=(60, 4)) > 0).astype(int)
    mine, theirs = SetClassifier(loss=dice).fit(X, Y), SetClassifier(loss="dice").fit(X, Y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-2)
    assert mine.score(X, Y) == pytest.approx(
        1 - np.mean([dice(*pair) for pair in zip(Y, mine.predict(X), strict=True)])
    )
    np.testing.assert_array_equal(decide(X, dice).sets, decide(X, "dice").sets)


def test_a_callable_is_tabulated_once():
    calls = []

    def counted(y_true, y_pred):
        calls.append(1)
        return float(np.sum(y_true != y_pred))

    table = as_loss(counted).on_counts(3, 3).table
    made = len(calls)
    np.testing.assert_array_equal(as_loss(counted).on_counts(3, 3).table, table)
    assert len(calls) == made <= 40


def weighted(y_true, y_pred):
    return float((y_true != y_pred) @ np.arange(1.0, len(y_true) + 1))


def first_positive_missed(y_true, y_pred):
    return float(y_true.any() and y_pred[np.argmax(y_true)] == 0)


NO_FUNCTION_OF_COUNTS = r"no function of the numbers of mistakes.*from_set_function.*from_counts"


@pytest.mark.parametrize(
    ("metric", "error", "words"),
    [
        (weighted, ValueError, NO_FUNCTION_OF_COUNTS),
        (first_positive_missed, ValueError, NO_FUNCTION_OF_COUNTS),
        (
            lambda t, p: f1_score(t, p, zero_division=1.0),
            ValueError,
            "looks like a score: pass lambda y_true",
        ),
        (lambda t, p: float(t is p) - 2.0, ValueError, "finite and non-negative"),
        (lambda t, p: "much", TypeError, "returns str"),
        (lambda t, p: 0.5, ValueError, "a perfect prediction must cost 0"),
    ],
)
def test_answers_that_are_no_losses(metric, error, words):
    with pytest.raises(error, match=words):
        _ = from_metric(metric).on_counts(4, 3).table


def test_too_many_calls_lead_to_counts():
    with pytest.raises(ValueError, match=r"called 40401 times.*from_counts"):
        _ = from_metric(dice).on_counts(200, 200).table


@pytest.mark.parametrize("loss", [None, 3, Dice])
def test_what_is_no_loss_is_refused(loss):
    with pytest.raises(TypeError, match="loss is a name, a Loss such as"):
        as_loss(loss)
