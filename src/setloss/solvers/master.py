"""The small quadratic programs of the cutting-plane methods, by Clarabel.

    max over lambda of   <b, lambda> - 1/2 |A^T lambda|^2     subject to   lambda >= 0,  sum of each block <= 1

One block for the one-slack method, one per bag for Algorithm 1. Planes are often nearly parallel, so ``A A^T`` is
singular as a rule; an interior-point method does not mind. What comes back is made exactly feasible, so that
the dual value computed from it is a true lower bound however well the program was solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, triu, vstack

from setloss.lattice import Array


def solve_master(gram: Array, offsets: Array, blocks: NDArray[np.intp]) -> Array:
    """The multipliers lambda, one per plane; `blocks[k]` is the block of plane k."""
    import clarabel

    size = len(offsets)
    scale = max(float(np.max(np.abs(offsets))), 1e-300)
    quadratic = csc_array(triu(csc_array(gram / scale)))
    sums = csc_array((np.ones(size), (blocks, np.arange(size))), shape=(int(blocks.max()) + 1, size))
    constraints = csc_array(vstack([csc_array(-np.eye(size)), sums]))
    bounds = np.concatenate([np.zeros(size), np.ones(sums.shape[0])])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    answer = clarabel.DefaultSolver(quadratic, -offsets / scale, constraints, bounds, cones, settings).solve()
    weights = np.maximum(np.nan_to_num(np.asarray(answer.x)), 0.0)
    totals = np.bincount(blocks, weights)
    return np.asarray(weights / np.maximum(totals, 1.0)[blocks])
