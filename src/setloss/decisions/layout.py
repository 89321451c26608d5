"""Sets of elements, gathered by size: the kernels work on arrays (n, p), whatever the layout of the data is.

Scores are (n, p), or flat with `bags`. Log-potentials of the number of positives are

- ``None``: elements are independent, every potential is 0;
- without bags ``(K + 1,)``, the same for all examples, or ``(n, K + 1)``; sizes beyond K are impossible;
- with bags a callable ``p -> (p + 1,)``, a sequence of one array for each bag (a shorter one makes larger sizes
  impossible), or a flat array of the ``p_i + 1`` potentials of each bag, one bag after the other.

``-inf`` makes a size impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.bags import Bags
from setloss.typing import Array, Shape

Counts = ArrayLike | Sequence[ArrayLike] | Callable[[int], ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the sets of each size are; `elements` holds their flat indices (n, p), None for whole rows."""

    shape: Shape
    sizes: NDArray[np.intp]
    rows: tuple[NDArray[np.intp], ...]
    elements: tuple[NDArray[np.intp] | None, ...]

    @classmethod
    def of(cls, shape: Shape, bags: Bags | ArrayLike | None, name: str = "scores") -> Layout:
        """The layout of an array of that shape."""
        if bags is None:
            if len(shape) != 2 or shape[1] == 0:
                raise ValueError(f"{name} must be (examples, elements), or flat with bags=; got shape {shape}")
            return cls(shape, np.full(shape[0], shape[1]), (np.arange(shape[0]),), (None,))
        bags = bags if isinstance(bags, Bags) else Bags.from_offsets(bags)
        if shape != (bags.elements,):
            raise ValueError(f"the bags hold {bags.elements} elements; {name} have shape {shape}")
        kinds = np.unique(bags.sizes)
        rows = tuple(np.flatnonzero(bags.sizes == p) for p in kinds)
        index = [bags.offsets[some][:, None] + np.arange(p) for some, p in zip(rows, kinds, strict=True)]
        order = bags.order
        return cls(shape, bags.sizes, rows, tuple(index if order is None else [order[part] for part in index]))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def whole_rows(self) -> bool:
        """Whether the data are an array (n, p)."""
        return len(self.shape) == 2

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """One array (n, p) for each size."""
        return [values if part is None else values[part] for part in self.elements]

    def join(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The reverse of `split`."""
        if self.whole_rows:
            return parts[0]
        values = np.empty(self.shape, dtype=parts[0].dtype if parts else np.float64)
        for part, found in zip(self.elements, parts, strict=True):
            values[part] = found
        return values

    def join_rows(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """One number for each set."""
        values = np.empty(len(self), dtype=parts[0].dtype if parts else np.float64)
        for some, found in zip(self.rows, parts, strict=True):
            values[some] = found
        return values


def as_scores(scores: ArrayLike) -> Array:
    """Scores as float64; infinite ones, of probabilities 0 and 1, become +-1e6."""
    array = np.asarray(scores, dtype=np.float64)
    if np.isnan(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise ValueError(f"scores must be log-odds; the one at {place} is NaN")
    return np.ascontiguousarray(np.clip(array, -1e6, 1e6)) if np.isinf(array).any() else np.ascontiguousarray(array)


def potentials_of(counts: Counts, layout: Layout) -> list[Array]:
    """Log-potentials (1, L) or (n, L) for the sets of each size, L <= p + 1."""
    if counts is None:
        return [np.zeros((1, _size(layout, part) + 1)) for part in range(len(layout.rows))]
    if layout.whole_rows:
        return [_checked(np.atleast_2d(np.asarray(counts, dtype=np.float64)), layout.shape[1], layout.rows[0])]
    each = _potentials_of_bags(counts, layout)
    found = []
    for part, some in enumerate(layout.rows):
        p = _size(layout, part)
        table = np.full((len(some), p + 1), -np.inf)
        for row, i in zip(table, some, strict=True):
            if each[i].ndim != 1 or len(each[i]) > p + 1:
                raise ValueError(f"counts of bag {i} have shape {each[i].shape}; it has {p} elements, {p + 1} sizes")
            row[: len(each[i])] = each[i]
        found.append(_checked(table, p, some))
    return found


def _potentials_of_bags(counts: Any, layout: Layout) -> Sequence[Array]:
    if callable(counts):
        known = {int(p): np.asarray(counts(int(p)), dtype=np.float64) for p in np.unique(layout.sizes)}
        return [known[int(p)] for p in layout.sizes]
    if isinstance(counts, np.ndarray) and counts.ndim == 1 and counts.dtype != object:
        ends = np.cumsum(layout.sizes + 1)
        if counts.size != (ends[-1] if len(ends) else 0):
            raise ValueError(
                f"flat counts hold p + 1 potentials for each bag, {ends[-1] if len(ends) else 0} in all; "
                f"got {counts.size}"
            )
        return np.split(counts.astype(np.float64), ends[:-1])
    each = [np.asarray(row, dtype=np.float64) for row in counts]
    if len(each) != len(layout):
        raise ValueError(f"counts are given for {len(each)} bags; there are {len(layout)}")
    return each


def _size(layout: Layout, part: int) -> int:
    index = layout.elements[part]
    return layout.shape[1] if index is None else index.shape[1]


def _checked(potentials: Array, p: int, rows: NDArray[np.intp]) -> Array:
    """Potentials that some size can have, without the sizes that no example of this kind can have."""
    if potentials.ndim != 2 or len(potentials) not in (1, len(rows)) or not 0 < potentials.shape[1] <= p + 1:
        raise ValueError(
            f"counts must be (K + 1,) or (examples, K + 1) with K at most {p}, the number of elements; "
            f"got shape {potentials.shape} for {len(rows)} examples"
        )
    bad = np.argwhere(np.isnan(potentials) | (potentials == np.inf))
    if len(bad):
        i, k = (int(x) for x in bad[0])
        raise ValueError(f"the potential of {k} positives in row {i} of counts is {potentials[i, k]}")
    possible = potentials > -np.inf
    if len(rows) and not possible.any(axis=1).all():
        i = int(np.argmin(possible.any(axis=1)))
        raise ValueError(f"row {i} of counts makes every number of positives impossible; all are -inf")
    last = int(np.flatnonzero(possible.any(axis=0))[-1]) if possible.any() else 0
    return np.ascontiguousarray(potentials[:, : last + 1])
