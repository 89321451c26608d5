"""Cuts on the CPU: the core's kernels on the memory of the tensors, sets shared out among torch's threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.decomposition.program import ProgramTooLargeError
from setloss.nn.plan import ClosedForm, MeanScaled, ModularForm, Plan
from setloss.plans.batch import BatchSurrogate, batch_surrogate, run_kernel
from setloss.plans.lowering import (
    GROUPS,
    L_A,
    L_CAP,
    L_ELEMENTWISE,
    L_KIND,
    L_WEIGHT,
    LINEAR,
    NONE,
    R_A,
    R_KIND,
    R_MARGIN,
    R_UNDEFINED,
    R_WEIGHT,
    SCALE,
    SIZES,
    TVERSKY,
    TVERSKY_CLOSURE,
    TVERSKY_SUBMODULAR,
    TVERSKY_SUPERMODULAR,
    SpecTable,
)
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.tversky import submodular_false_negative_step
from setloss.typing import Array

Counts = NDArray[np.intp]
Mask = NDArray[np.bool_]

PARALLEL_ELEMENTS = 2**14
"""Fewer elements than this are not worth a thread."""


def cuts(
    scores: NDArray[np.floating], truth: Mask, valid: Mask | None, plan: Plan, threads: int
) -> tuple[Array, NDArray[np.floating]]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    sizes = np.full(len(scores), scores.shape[1]) if valid is None else valid.sum(1)
    kept = sizes > 0
    inside = slice(None) if valid is None else valid
    margins, positive = _turned(scores, ~truth)[inside].ravel(), truth[inside].ravel()
    offsets = np.concatenate(([0], np.cumsum(sizes[kept])))
    values = np.zeros(len(scores))
    if not len(margins):
        return values, np.zeros_like(scores)
    broken = _without_broken(margins, offsets)
    batch = _batch(plan, positive, Bags.from_offsets(offsets))
    found = run_kernel(margins, batch, threads if len(margins) >= PARALLEL_ELEMENTS else 1, consume=True)
    slopes, worth = _turned(found.slopes, positive), found.values
    if broken is not None:
        worth[broken] = np.nan
        slopes[np.repeat(broken, sizes[kept])] = np.nan
    values[kept] = worth
    if valid is None:
        return values, slopes.reshape(scores.shape)
    gradient = np.zeros_like(scores)
    gradient[valid] = slopes
    return values, gradient


def _without_broken(margins: NDArray[np.floating], offsets: Counts) -> Mask | None:
    """Put 0 for margins that are not finite, and say which sets had one; None if no set did."""
    finite = np.isfinite(margins)
    if finite.all():
        return None
    margins[~finite] = 0
    return np.asarray(~np.logical_and.reduceat(finite, offsets[:-1]))


def _turned(values: NDArray[np.floating], turn: Mask) -> NDArray[np.floating]:
    """The values with their sign turned where asked, by exclusive or: a masked negation takes ten times as long."""
    word = np.dtype(f"u{values.itemsize}")
    bits = turn.astype(word)
    bits <<= word.type(8 * values.itemsize - 1)
    bits ^= values.view(word)
    return bits.view(values.dtype)


def _batch(plan: Plan, positive: Mask, bags: Bags) -> BatchSurrogate:
    if plan.closed is None:
        try:
            if plan.scale == "mean":
                return batch_surrogate(plan.loss, positive, bags, MeanScaled(plan.operator))
            return batch_surrogate(plan.loss, positive, bags, plan.operator, plan.scale)
        except (TableTooLargeError, ProgramTooLargeError) as error:
            raise type(error)(
                f"{type(plan.loss).__name__} has no closed form for operator={plan.operator!r}, and a set of "
                f"{bags.sizes.max()} elements is too large without one. Dice, Jaccard, Tversky with beta >= 1/2, "
                f"Hamming and cost curves work at any size; else make the sets smaller. ({error})"
            ) from error
    positives = np.add.reduceat(positive, bags.offsets[:-1], dtype=np.intp)
    table = specs(plan.closed, positives, bags.sizes - positives)
    groups = np.subtract(1, positive, dtype=np.int16)
    return BatchSurrogate(bags, groups, np.arange(len(bags)), table)


def specs(closed: ClosedForm, positives: Counts, negatives: Counts) -> SpecTable:
    """What the kernels read, a row per set, without a set function or a table of any of them."""
    table = np.zeros((len(positives), SIZES + 2), dtype=np.int64)
    reals = np.zeros((len(positives), R_UNDEFINED + 1))
    table[:, GROUPS], table[:, SIZES], table[:, SIZES + 1] = 2, positives, negatives
    table[:, R_MARGIN] = closed.margin
    reals[:, SCALE] = 2 / np.maximum(positives + negatives, 1) if closed.scale == "mean" else closed.scale
    reals[:, L_WEIGHT] = reals[:, R_WEIGHT] = 1.0
    if isinstance(closed.form, ModularForm):
        unit = 1 / np.maximum(positives + negatives, 1) if closed.form.mean else np.ones(len(positives))
        first, second = closed.form.miss * unit, closed.form.alarm * unit
        kind = LINEAR
    else:
        first, second = np.float64(closed.form.a), np.float64(closed.form.b)
        kind = TVERSKY
    reals[:, L_A], reals[:, L_A + 1], reals[:, R_A], reals[:, R_A + 1] = first, second, first, second
    table[:, L_ELEMENTWISE] = True
    table[:, L_KIND] = kind if closed.hinged else NONE
    table[:, R_KIND] = kind if closed.rescaled else NONE
    if closed.rescaled == "supermodular":
        _split(closed, table, reals)
    return SpecTable(table, reals, np.zeros(1))


def _split(closed: ClosedForm, table: NDArray[np.int64], reals: Array) -> None:
    """Write f and g of the sets with positives; the others are submodular as they are."""
    split = table[:, SIZES] > 0
    m, q = table[split, SIZES], table[split, SIZES + 1]
    a, b = reals[split, L_A], reals[split, L_A + 1]
    increasing = submodular_false_negative_step(m - 1, q, m, a, b) >= 0
    closure = (closed.hinged == "closure") & ~increasing
    table[split, L_KIND] = np.where(closure, TVERSKY_CLOSURE, TVERSKY_SUBMODULAR)
    table[split, L_ELEMENTWISE] = increasing | closure
    table[:, R_KIND] = np.where(split, TVERSKY_SUPERMODULAR, NONE)
    reals[split, L_CAP] = np.where(closure, m * b / (m - (1 - b)), np.inf)
