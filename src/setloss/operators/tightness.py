"""How tight is a surrogate? The convex closure of a set function, and the distance to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_diag, csr_array, hstack, vstack

from setloss.operators.cut import Surrogate
from setloss.setfunctions.counts import TableTooLargeError, cells_in_words
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array

MAX_CLOSURE_CELLS = 2**14
"""Largest table whose convex closure is computed; one row of the linear program per cell."""


def convex_closure(function: SetFunction, u: ArrayLike) -> float:
    """The largest convex function below l on the vertices of the cube, at u in [0, 1]^p.

        max over (t, v) of  t + <v, u>   subject to   t + sum_{i in A} v_i <= l(A)  for every A

    The constraints do not change when v is permuted inside a group, and the objective is best when v is in the
    order of u there. So only the prefix sums ``V_b(k)`` of the k largest v of group b appear, one constraint
    per cell, ``t + sum_b V_b(a_b) <= l(a)``, with V_b concave. Any convex surrogate that does not exceed l on
    the vertices lies below this on the whole cube.
    """
    point = np.asarray(u, dtype=np.float64)
    if point.shape != (function.p,):
        raise ValueError(f"expected a point in [0, 1]^{function.p}; got shape {point.shape}")
    if not np.all((point >= 0) & (point <= 1)):
        raise ValueError("the convex closure lives on the unit cube; every coordinate must be in [0, 1]")
    return _closure(function)(point)


def _closure(function: SetFunction) -> Callable[[Array], float]:
    """The closure as a function of the point; the constraints are made once."""
    from scipy.optimize import linprog

    cells = function.counts.cells
    if cells > MAX_CLOSURE_CELLS:
        raise TableTooLargeError(
            f"the convex closure needs one constraint for each of {cells_in_words(cells)} cells, the limit is "
            f"{MAX_CLOSURE_CELLS} (p = 14 in general, 127 + 127 elements in two groups)"
        )
    rows = vstack([_cell_constraints(function), _order_constraints(function)]).tocsr()
    # The tolerances of the solver are absolute: it sees values of at most 1.
    unit = function.largest_value or 1.0
    bounds = np.concatenate([function.table.ravel() / unit, np.zeros(rows.shape[0] - function.table.size)])
    members = [function.partition == b for b in range(len(function.sizes))]

    def closure(point: Array) -> float:
        objective = -np.concatenate([np.ones(1), *(np.sort(point[here])[::-1] for here in members)])
        answer = linprog(objective, A_ub=rows, b_ub=bounds, bounds=(None, None), method="highs")
        if answer.status != 0:
            raise RuntimeError(f"the linear program of the convex closure was not solved: {answer.message}")
        return float(-answer.fun) * unit

    return closure


def _cell_constraints(function: SetFunction) -> csr_array:
    """One row per cell: t and the a_b largest v of every group."""
    counts = np.indices(function.table.shape).reshape(len(function.sizes), -1)
    blocks = [csr_array(np.ones((counts.shape[1], 1)))]
    blocks += [
        csr_array(a[:, None] > np.arange(n)).astype(float) for a, n in zip(counts, function.sizes, strict=True)
    ]
    return hstack(blocks)


def _order_constraints(function: SetFunction) -> csr_array:
    """V descends inside every group."""
    steps = [np.eye(max(n - 1, 0), n, 1) - np.eye(max(n - 1, 0), n) for n in function.sizes]
    return block_diag([np.zeros((0, 1)), *steps])


@dataclass(frozen=True)
class Tightness:
    """Gaps between the convex closure and a surrogate over sampled points of the cube."""

    mean: float
    worst: float
    where: Array
    samples: int

    def __str__(self) -> str:
        return f"mean gap {self.mean:.4g}, worst {self.worst:.4g} over {self.samples} points of the unit cube"


def tightness(
    operator: Surrogate | Callable[[SetFunction], Surrogate],
    function: SetFunction,
    samples: int = 200,
    random_state: int = 0,
) -> Tightness:
    """Sample the cube s = 1 - m in [0, 1]^p uniformly and compare a surrogate of l with the convex closure of l.

    `operator` is a surrogate, or what makes one of the function, such as `B_D`. A gap is negative where the
    surrogate exceeds the closure, which an extension of l never does.
    """
    surrogate = operator if isinstance(operator, Surrogate) else operator(function)
    if samples < 1:
        raise ValueError(f"at least one sample is needed; got {samples}")
    points = np.random.default_rng(random_state).random((samples, function.p))
    closure = _closure(function)
    gaps = np.array([closure(u) - surrogate(1 - u) for u in points])
    worst = int(np.argmax(gaps))
    return Tightness(float(gaps.mean()), float(gaps[worst]), points[worst], samples)
