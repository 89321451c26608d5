"""A loss of counts in the form that the kernels read, and whether it grows with every mistake.

With k chosen of p elements, a of the chosen ones positive and b positives not chosen, the loss is
``value(b, k - a, a + b, p - a - b)``: b false negatives and k - a false positives.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from setloss.losses import CountLoss, Loss
from setloss.setfunctions.counts import MAX_CELLS, Kind, cells_in_words
from setloss.typing import Array

TVERSKY, CURVE, TABLE, LINEAR = map(int, (Kind.TVERSKY, Kind.CURVE, Kind.TABLE, Kind.LINEAR))
"""The kinds of losses as constants of kernels (`setloss.compilation`)."""

MAX_ENUMERATED = 16
"""Largest number of elements for which all sets are compared."""

TIE = 1e-12
"""Expected losses closer than this, relative to that of the empty set, are equal; the smaller set wins."""


class LossSpec(NamedTuple):
    """How a kernel evaluates a loss.

    TVERSKY: `numbers` are the weights of false negatives and false positives and the value of 0/0. LINEAR: the costs
    of a false negative and of a false positive. CURVE: the cost of 0, ..., p mistakes. TABLE: the cells (k, a, b).
    """

    kind: int
    numbers: Array
    table: Array

    @property
    def linear_in_hits(self) -> bool:
        """Whether the loss is 1 - hits / (a k + b t), a and b positive: Dice and F-beta."""
        return self.kind == TVERSKY and abs(self.numbers[:2].sum() - 1) < 1e-15 and bool(self.numbers[:2].min() > 0)

    @property
    def linear_in_misses(self) -> bool:
        """Whether the loss is 1 - hits / (k + b misses), b positive: Jaccard."""
        return self.kind == TVERSKY and bool(self.numbers[1] == 1 and self.numbers[0] > 0)


def loss_spec(loss: Loss, p: int, width: int) -> LossSpec | None:
    """The spec for p elements, fewer than `width` of them positive; None if the loss needs more than counts."""
    form, none = loss.form, np.zeros((0, 0, 0))
    if form is not None:
        weights = np.array([form.false_negative, form.false_positive])
        if form.kind == Kind.TVERSKY:
            return LossSpec(TVERSKY, np.append(weights, form.undefined), none)
        return LossSpec(LINEAR, weights / p if form.mean else weights, none)
    if loss.by_size:
        return LossSpec(CURVE, loss.on_counts(p, 0).table.astype(np.float64) if p else np.zeros(1), none)
    if isinstance(loss, CountLoss):
        return LossSpec(TABLE, np.zeros(0), _cells(loss, p, width))
    if loss.trial is None:
        raise TypeError(f"decide knows losses of counts and set functions; {type(loss).__name__} is neither")
    loss.on_counts(p, 0)  # raises where the loss is for sets of another size
    return None


def _cells(loss: CountLoss, p: int, width: int) -> Array:
    """The loss of every (k, a, b); NaN where that cannot occur."""
    if (p + 1) * width**2 > MAX_CELLS:
        raise ValueError(
            f"the table of this loss for {p} elements and up to {width - 1} positives has "
            f"{cells_in_words((p + 1) * width**2)} cells, the limit is {MAX_CELLS}. Use a loss with a closed form "
            "(Dice, Jaccard, Tversky, F-beta, Hamming, cost curves), or counts that bound the number of positives."
        )
    cells = np.full((p + 1, width, width), np.nan)
    k, a, b = np.indices(cells.shape, sparse=True)
    k, a, b = np.nonzero((a <= k) & (b <= p - k) & (a + b < width))
    cells[k, a, b] = loss.value(b, k - a, a + b, p - a - b)
    return cells


@lru_cache(maxsize=256)
def descent(loss: Loss, p: int, width: int) -> str | None:
    """Where one more mistake costs less, in words; None if the loss never falls."""
    spec = loss_spec(loss, p, width)
    if spec is None:
        return "it depends on which elements are wrong, not only on how many"
    if spec.kind == CURVE:
        falls = np.flatnonzero(np.diff(spec.numbers) < -1e-12 * np.abs(spec.numbers).max())
        if falls.size:
            k = falls[0]
            return f"{k} mistakes cost {spec.numbers[k]:.6g}, {k + 1} cost {spec.numbers[k + 1]:.6g}"
    if spec.kind == TABLE:
        cells = spec.table
        misses, alarms = cells[:-1, :-1, 1:] - cells[1:, 1:, :-1], cells[1:] - cells[:-1]
        for name, steps, first in (("false negatives", misses, (1, 1, 0)), ("false positives", alarms, (0, 0, 0))):
            where = np.argwhere(steps < -1e-12 * np.nanmax(np.abs(cells)))
            if len(where):
                k, a, b = where[0] + first
                return (
                    f"with {a + b} positives among {p} elements, {b} false negatives and {k - a} false positives "
                    f"cost {cells[k, a, b]:.6g}, one more of the {name} {cells[k, a, b] + steps[tuple(where[0])]:.6g}"
                )
    return None
