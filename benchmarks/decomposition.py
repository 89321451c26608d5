"""D: the symmetric closed form against two cumulative sums, the linear program against plain linprog."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from benchmarks.measure import Row, best_time, side_by_side
from setloss import SetFunction, decompose
from setloss.decomposition.program import exact_weights
from setloss.setfunctions.differences import cell_levels, second_difference_matrix


def plain_linear_program(table: np.ndarray) -> object:
    """The same linear program handed to HiGHS as it stands, with no tie-break and no certificate."""
    matrix = second_difference_matrix(table.shape)
    required = np.maximum(matrix @ table.ravel(), 0.0)
    free = cell_levels(table.shape).ravel() >= 2
    weights = exact_weights(table.shape).astype(float)
    return linprog(weights[free] / weights.max(), A_ub=-matrix[:, free], b_ub=-required, bounds=(None, None))


def rows(quick: bool) -> Iterator[Row]:
    generator = np.random.default_rng(0)
    curve = np.concatenate(([0.0], generator.random(10**6)))
    function = SetFunction.symmetric(curve)
    ours, reference = side_by_side(lambda: decompose(function), lambda: np.cumsum(np.cumsum(curve)))
    yield Row("D, symmetric p = 10^6 / two np.cumsum", ours, reference, 10)

    for name, shape in (("40 + 40 rough", (41, 41)), ("general p = 11", (2,) * 11)):
        if quick and shape == (41, 41):
            shape, name = (21, 21), "20 + 20 rough"
        table = generator.random(shape)
        table.flat[0] = 0.0
        function = SetFunction.from_table(table)
        certified = best_time(lambda function=function: decompose(function), repeats=1)
        plain = best_time(lambda table=table: plain_linear_program(table), repeats=1)
        status = plain_linear_program(table).status
        note = "plain linprog: solved, uncertified" if status == 0 else f"plain linprog fails, status {status}"
        yield Row(f"D, {name} certified / plain linprog", certified, plain, note=note)
