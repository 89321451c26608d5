"""Losses: families that give every label vector y its set function l of mistakes (Equation 3),

    Delta(y, y~) = l({i : y_i != y~_i}).

All but `FixedSetLoss` depend on y~ through the numbers of false negatives and false positives only, so a loss
is one formula, `value(false_negatives, false_positives, positives, negatives)`; evaluation on arrays and bags
and the set function are derived from it. Labels are {0, 1}, {-1, +1} or bool.

An example without positives, predicted without positives, is right and costs 0. Dice, Jaccard, Tversky and
F-beta then read 0/0; their `zero_division` is the *score* there, 1 by default, as in scikit-learn's metrics.
"""

from typing import Any

from setloss.losses.counts_of_errors import PAPER_CURVES, CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky, loss_of
from setloss.losses.custom import from_counts, from_metric, from_set_function, remembered
from setloss.losses.families import CountLoss, Family, Form, Loss

__all__ = [
    "NAMED_LOSSES",
    "PAPER_CURVES",
    "CostCurve",
    "CountLoss",
    "Dice",
    "FBeta",
    "Family",
    "Form",
    "Hamming",
    "Jaccard",
    "Loss",
    "Tversky",
    "as_loss",
    "from_counts",
    "from_metric",
    "from_set_function",
    "loss_named",
    "loss_of",
]

NAMED_LOSSES: dict[str, Loss] = {
    "dice": Dice(),
    "f1": Dice(),
    "jaccard": Jaccard(),
    "iou": Jaccard(),
    "hamming": Hamming(),
    **PAPER_CURVES,
}
"""Names of losses on the command line and in the estimators."""


def loss_named(name: str) -> Loss:
    """The loss of that name; see `NAMED_LOSSES`.

    Examples
    --------
    >>> loss_named("jaccard")
    Jaccard(zero_division=1.0)
    """
    try:
        return NAMED_LOSSES[name.lower()]
    except (KeyError, AttributeError):
        raise ValueError(
            f"there is no loss {name!r}; the names are {', '.join(NAMED_LOSSES)}. Others are objects, as FBeta(2.0) "
            "or CostCurve(...), or a callable of true and predicted labels."
        ) from None


def as_loss(loss: Any) -> Loss:
    """The loss that a user means by a name, a `Loss`, or a callable ``(y_true, y_pred) -> float``.

    Examples
    --------
    >>> as_loss("f1")
    Dice(zero_division=1.0)
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return loss_named(loss)
    # A class was meant to be called first; a network's module takes tensors of scores, not labels.
    if callable(loss) and not isinstance(loss, type) and not hasattr(loss, "forward"):
        return remembered(loss)
    given = loss.__name__ if isinstance(loss, type) else type(loss).__name__
    raise TypeError(f"loss is a name, a Loss such as Dice(), or a callable (y_true, y_pred) -> float; got {given}")
