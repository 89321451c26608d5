"""What every interpreter answers: one cut per bag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setloss.typing import Array


@dataclass(frozen=True)
class BatchCuts:
    """One cut per bag: ``B_i(m') >= offsets[i] - <slopes of bag i, m'>``, equal to ``values[i]`` at m.

    `worst` marks the set that slack or margin rescaling found worst in each bag; it is empty where the operator
    has no such part or nothing is lost. Where `exact` is False a heuristic was asked, and `values` is what it saw:
    the cuts are minorants that need not touch.
    """

    offsets: Array
    slopes: NDArray[np.floating]
    values: Array
    worst: NDArray[np.bool_]
    exact: bool = True
