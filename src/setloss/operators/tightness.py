"""The convex closure of a set function: what no convex surrogate of it exceeds on the unit cube."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import block_diag, csr_array, hstack, vstack

from setloss.setfunctions.counts import TableTooLargeError, cells_in_words
from setloss.setfunctions.set_function import SetFunction

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
    groups = (function.partition == b for b in range(len(function.sizes)))
    objective = -np.concatenate([np.ones(1), *(np.sort(point[here])[::-1] for here in groups)])
    answer = linprog(objective, A_ub=rows, b_ub=bounds, bounds=(None, None), method="highs")
    if answer.status != 0:
        raise RuntimeError(f"the linear program of the convex closure was not solved: {answer.message}")
    return float(-answer.fun) * unit


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
