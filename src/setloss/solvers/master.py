"""The small quadratic programs of the cutting-plane methods, by Clarabel.

    max over lambda of   <b, lambda> - 1/2 |A^T lambda|^2     subject to   lambda >= 0,  sum of each block <= 1

One block for the one-slack method, one per bag for Algorithm 1. Planes are often nearly parallel, so ``A A^T`` is
singular as a rule; an interior-point method does not mind. It does mind units: where features are large, lambda is
of the order of 1e-6 and less. So the multipliers are measured in units of the power of their planes' norms that
the solver copes with. What comes back is made exactly feasible, so that the dual value computed from it is a true
lower bound however well the program was solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, triu, vstack

from setloss.lattice import Array

POWERS = (0.5, 1.0, 0.0)
"""Units to try, the first that works first: multipliers times norms, times squared norms, or as they are."""


def solve_master(gram: Array, offsets: Array, blocks: NDArray[np.intp]) -> Array:
    """The multipliers lambda, one per plane; `blocks[k]` is the block of plane k."""
    highest = max(float(np.max(np.abs(offsets))), 1e-300)
    ratios = np.maximum(np.diagonal(gram) / highest, 1.0)
    best, value = np.zeros(len(offsets)), 0.0
    for power in POWERS:
        weights, solved = _attempt(gram, offsets, blocks, ratios**-power)
        reached = float(weights @ offsets - 0.5 * weights @ gram @ weights)
        if reached > value:
            best, value = weights, reached
        if solved:
            break
    return best


def _attempt(gram: Array, offsets: Array, blocks: NDArray[np.intp], units: Array) -> tuple[Array, bool]:
    """The program in the given units of the multipliers: a feasible point, and whether it is known to be the best."""
    import clarabel

    size = len(offsets)
    height = max(float(np.max(np.abs(offsets * units))), 1e-300)
    quadratic = csc_array(triu(csc_array(gram * units[:, None] * units / height)))
    rows = int(blocks.max()) + 1
    widest = np.full(rows, np.finfo(np.float64).tiny)
    np.maximum.at(widest, blocks, units)
    sums = csc_array((units / widest[blocks], (blocks, np.arange(size))), shape=(rows, size))
    constraints = csc_array(vstack([csc_array(-np.eye(size)), sums]))
    bounds = np.concatenate([np.zeros(size), 1 / widest])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    linear = -offsets * units / height
    answer = clarabel.DefaultSolver(quadratic, linear, constraints, bounds, cones, settings).solve()
    weights = np.maximum(np.nan_to_num(np.asarray(answer.x)), 0.0) * units
    totals = np.bincount(blocks, weights, minlength=rows)
    return weights / np.maximum(totals, 1.0)[blocks], answer.status == clarabel.SolverStatus.Solved
