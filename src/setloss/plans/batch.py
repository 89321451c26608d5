"""Cuts of a whole data set: reference operators lowered to kernel specs, one per kind of bag.

Bags of equal (positives, negatives) share one set function, one cached decomposition and one spec. What the
kernels compute is the cut of the reference operator, to rounding error; `setloss.plans.kernels` says how.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.bags import Bags
from setloss.labels import as_labels
from setloss.losses import Loss
from setloss.operators.cut import MAX_MARGIN, Surrogate
from setloss.operators.names import Operator, operator_named
from setloss.plans.lowering import SpecTable, lower
from setloss.typing import Array


@dataclass(frozen=True)
class BatchCuts:
    """One cut per bag: ``B_i(m') >= offsets[i] - <slopes of bag i, m'>``, equal to ``values[i]`` at m.

    `worst` marks the set that slack or margin rescaling found worst in each bag; it is empty where the operator
    has no such part or nothing is lost.
    """

    offsets: Array
    slopes: NDArray[np.floating]
    values: Array
    worst: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BatchSurrogate:
    """The surrogates of all bags of a data set, ready for repeated calls of `cuts`."""

    bags: Bags
    groups: NDArray[np.int16]
    which: NDArray[np.intp]
    table: SpecTable = field(repr=False)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take: offsets, groups and kinds of the bags, and the specs of the kinds."""
        return self.bags.offsets, self.groups, self.which, *self.table.arrays

    def same_as(self, other: BatchSurrogate | None) -> bool:
        """Whether the other one has the same surrogate for every bag, so that cuts of one are cuts of the other."""
        if other is None or other is self:
            return other is self
        return all(np.array_equal(left, right) for left, right in zip(self.arrays, other.arrays, strict=True))

    def cuts(self, margins: ArrayLike, *, threads: int = 1) -> BatchCuts:
        """The cuts at flat margins, in the order of the labels; the result does not depend on `threads`.

        Slopes have the dtype of the margins, float32 or float64; all sums are float64.
        """
        flat = self.bags.gather(_flat_margins(margins, self.bags.elements))
        found = run_kernel(flat, self, threads)
        return BatchCuts(found.offsets, self.bags.scatter(found.slopes), found.values, self.bags.scatter(found.worst))


def batch_surrogate(
    loss: Loss, labels: ArrayLike, bags: Bags | ArrayLike, operator: str | Operator = "bd", scale: float = 2.0
) -> BatchSurrogate:
    """Prepare the surrogates of every bag.

    Parameters
    ----------
    loss
        The loss of one bag.
    labels
        Flat labels of all elements in {0, 1}, {-1, +1} or bool.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat arrays.
    operator, scale
        One of the names in `setloss.operators.names` and the scale c of its rescaled part; or a function from set
        functions to surrogates, such as `B_D`.
    """
    bags = bags if isinstance(bags, Bags) else Bags.from_offsets(bags)
    truth = bags.gather(as_labels(labels, "labels", ndim=(1,)))
    positives = bags.totals(truth.astype(np.intp))
    counts = loss.distinct_counts(positives, bags.sizes - positives)
    kinds, which = np.unique(counts, axis=0, return_inverse=True)
    surrogates = [surrogate_on_counts(loss, operator, scale, int(m), int(q)) for m, q in kinds]
    return BatchSurrogate(bags, loss.element_groups(truth, bags).astype(np.int16), which.ravel(), lower(surrogates))


MANY_ELEMENTS = 2048
"""Surrogates of larger sets hold arrays of their size; only a few of them are kept."""


def surrogate_on_counts(
    loss: Loss, operator: str | Operator, scale: float, positives: int, negatives: int
) -> Surrogate:
    """The reference surrogate of a bag with that many positives and negatives, positives first; cached."""
    cached = _small_surrogate if positives + negatives <= MANY_ELEMENTS else _large_surrogate
    return cached(loss, operator, scale, positives, negatives)


def _surrogate(loss: Loss, operator: str | Operator, scale: float, positives: int, negatives: int) -> Surrogate:
    build = operator_named(operator, scale) if isinstance(operator, str) else operator
    return build(loss.on_counts(positives, negatives))


_small_surrogate = lru_cache(maxsize=65536)(_surrogate)
_large_surrogate = lru_cache(maxsize=16)(_surrogate)


def run_kernel(
    flat: NDArray[np.floating], batch: BatchSurrogate, threads: int, *, consume: bool = False
) -> BatchCuts:
    """The cuts at gathered margins, neighbouring bags shared out among threads; the kernels hold no lock.

    With `consume` the slopes take the place of the margins.
    """
    from setloss.plans.kernels import write_cuts

    n, size, specs = len(batch.bags), len(flat), batch.table.arrays
    slopes = flat if consume else np.empty_like(flat)
    worst, totals = np.empty(size, dtype=bool), np.empty((n, 2))
    data = (flat, batch.bags.offsets, batch.groups, batch.which)
    work = partial(write_cuts, data=data, specs=specs, out=(slopes, worst, totals))
    shares = np.linspace(0, n, min(threads, n) + 1, dtype=np.intp) if n else np.zeros(1, dtype=np.intp)
    if len(shares) <= 2:
        work(0, n)
    else:
        with ThreadPoolExecutor(len(shares) - 1) as pool:
            list(pool.map(work, shares[:-1], shares[1:]))
    return BatchCuts(totals[:, 0], slopes, totals[:, 1], worst)


def _flat_margins(margins: ArrayLike, size: int) -> NDArray[np.floating]:
    flat = np.ascontiguousarray(margins)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float64)
    if flat.shape != (size,):
        raise ValueError(f"the bags hold {size} elements; margins have shape {flat.shape}")
    # The least and the largest, NaN included, take no memory of the size of the data.
    if not (float(flat.min(initial=0.0)) >= -MAX_MARGIN and float(flat.max(initial=0.0)) <= MAX_MARGIN):
        i = int(np.argmin(np.abs(flat.astype(np.float64)) <= MAX_MARGIN))
        raise ValueError(f"margins must be finite; element {i} has margin {flat[i]}")
    return flat
