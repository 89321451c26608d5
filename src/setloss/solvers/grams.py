"""The Gram matrices of bags, ``K[e, e'] = y_e y_e' <x_e, x_e'>`` for elements of one task and 0 for others.

A large bag whose rows lie side by side is one product of matrices, which BLAS does best; many small ones are left to
a kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.solvers.problem import Problem
from setloss.typing import Array

WORTH_A_CALL = 20_000
"""Bags of fewer operations take less time in the kernel than a call from Python does."""


def write_some_grams(problem: Problem, bags: NDArray[np.intp], gram_starts: NDArray[np.int64], grams: Array) -> None:
    """Write the matrices of the given bags, each from its place in `gram_starts` on."""
    from setloss.solvers.kernels import write_grams

    design, starts = problem.design, problem.surrogate.bags.offsets
    large = _side_by_side(problem, bags)
    for i in bags[large]:
        lo, hi = starts[i], starts[i + 1]
        block, signs = design.dense[problem.rows[lo] : problem.rows[hi - 1] + 1], problem.signs[lo:hi]
        gram = grams[gram_starts[i] : gram_starts[i + 1]].reshape(hi - lo, hi - lo)
        np.multiply(np.outer(signs, signs), block @ block.T + design.constant**2, out=gram)
    small = bags[~large]
    if len(small):
        write_grams(small, design.arrays, problem.maps, starts, gram_starts, np.zeros(design.features), grams)


def _side_by_side(problem: Problem, bags: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Large bags of one task that are a block of rows of a dense X."""
    if problem.design.sparse:
        return np.zeros(len(bags), dtype=bool)
    starts = problem.surrogate.bags.offsets
    first, last = starts[bags], starts[bags + 1] - 1
    sizes = last - first + 1
    block = (problem.rows[last] - problem.rows[first] == sizes - 1) & (problem.tasks[first] == problem.tasks[last])
    return np.asarray(block & (sizes**2 * problem.design.features >= WORTH_A_CALL))
