"""What interpreters read and answer: records of what is computed for one kind of bag, and one cut per bag.

A record has at most one Lovász hinge and at most one rescaled loss:

    B(m) = weight L f(m)  +  max over A of  weight l(A) (1 - c sum_{i in A} m_i)      or  l(A) - c sum_{i in A} m_i

A record names how the increments of f are read and how l is maximised; every interpreter reads these fields and
nothing else. Bags of equal (positives, negatives) share one record. Positives are group 0, negatives group 1;
symmetric functions have group 0 only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setloss.setfunctions.counts import Kind
from setloss.typing import Array

NONE, CURVE, TABLE, LINEAR, TVERSKY, TVERSKY_SUBMODULAR, TVERSKY_SUPERMODULAR = map(int, Kind)
"""The kinds of parts as constants of kernels (`setloss.compilation`)."""

PART = np.dtype(
    [
        ("kind", np.int64),
        ("start", np.int64),  # of the curve or table in the values
        ("axis", np.int64),  # the group a curve counts
        ("weight", np.float64),
        ("false_negative", np.float64),  # weights of the closed forms: Tversky's b, or the cost of one
        ("false_positive", np.float64),  # Tversky's a, or the cost of one
        ("undefined", np.float64),  # the Tversky loss where it reads 0/0
        ("cap", np.float64),  # the monotone closure min(f, cap) of f; infinite where f itself is meant
    ]
)

PLAN = np.dtype(
    [
        ("lovasz", PART),
        ("rescaled", PART),
        ("elementwise", np.int64),  # whether the positive part of the hinge is taken element by element
        ("margin", np.int64),  # margin instead of slack rescaling
        ("scale", np.float64),
        ("axes", np.int64),  # the number of groups that the partition of a bag has
    ]
)


@dataclass(frozen=True)
class Plans:
    """One record and one row of group sizes per kind of bag; curves and tables lie in one array of values."""

    records: NDArray[np.void]
    sizes: NDArray[np.int64]
    values: Array
    exact = True  # every cut touches its surrogate

    @property
    def arrays(self) -> tuple[NDArray[np.void], NDArray[np.int64], Array]:
        """What the kernels take."""
        return self.records, self.sizes, self.values

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class BatchCuts:
    """One cut per bag: ``B_i(m') >= offsets[i] - <slopes of bag i, m'>``, equal to ``values[i]`` at m.

    Where `exact` is False a heuristic was asked, and `values` is what it saw: the cuts are minorants that need not
    touch.
    """

    offsets: Array
    slopes: NDArray[np.floating]
    values: Array
    exact: bool = True


def blank_records(count: int) -> NDArray[np.void]:
    """Records without any part."""
    records = np.zeros(count, dtype=PLAN)
    records["lovasz"]["weight"] = records["rescaled"]["weight"] = 1.0
    records["lovasz"]["cap"] = np.inf
    return records
