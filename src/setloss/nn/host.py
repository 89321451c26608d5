"""Cuts on the CPU: the core's kernels on the memory of the tensors, sets shared out among torch's threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.decomposition.program import ProgramTooLargeError
from setloss.nn.plan import Plan
from setloss.plans.batch import BatchSurrogate, batch_surrogate, run_kernel
from setloss.plans.rows import row_cuts
from setloss.setfunctions.counts import TableTooLargeError
from setloss.typing import Array

Counts = NDArray[np.intp]
Mask = NDArray[np.bool_]

PARALLEL_ELEMENTS = 2**14
"""Fewer elements than this are not worth a thread."""


def cuts(
    scores: NDArray[np.floating], truth: Mask, valid: Mask | None, plan: Plan, threads: int
) -> tuple[Array, NDArray[np.floating]]:
    """The value of every row's surrogate and its gradient in the scores; NaN where a score is not finite."""
    if valid is None and plan.closed is not None and scores.size:
        return row_cuts(scores, truth, plan.closed, threads if scores.size >= PARALLEL_ELEMENTS else 1)
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
    try:
        return batch_surrogate(plan.loss, positive, bags, plan.operator, plan.scale)
    except (TableTooLargeError, ProgramTooLargeError) as error:
        raise type(error)(
            f"{type(plan.loss).__name__} has no closed form for operator={plan.operator!r}, and a set of "
            f"{bags.sizes.max()} elements is too large without one. Dice, Jaccard, Tversky with beta >= 1/2, "
            f"Hamming and cost curves work at any size; else make the sets smaller. ({error})"
        ) from error
