"""Certificates computed again: P(W) by definition, the dual point from the cuts that each method keeps."""

from __future__ import annotations

import numpy as np

from benchmarks.soak.draws import Generator
from benchmarks.soak.judge import ROUNDING, require
from benchmarks.soak.training import Training
from setloss.solvers import Solution
from setloss.solvers.plane_qp import solve_plane_qp

"""Its last averages need not be the best dual point it reported."""


def certificate(generator: Generator, training: Training, solution: Solution, solver: str) -> dict[str, float]:
    """The primal value is P(W); the dual value is that of a combination of cuts, each of them below B everywhere."""
    image, costs = training.image(), training.costs
    points = _around(generator, solution.parameters.ravel())
    values = training.surrogates(points @ image.T)
    objective = 0.5 * np.sum(points**2, axis=1) + values @ costs
    unit = max(abs(solution.primal), 1e-300)
    error = abs(objective[0] - solution.primal) / unit
    require(error <= ROUNDING, f"P(W) is {objective[0]}, said to be {solution.primal}: {training}")
    require(solution.dual <= solution.primal + ROUNDING * unit, f"dual {solution.dual}, primal {solution.primal}")
    above = float(np.max((solution.dual - objective) / np.maximum(objective, unit)))
    require(above <= ROUNDING, f"the dual value {solution.dual} exceeds P elsewhere by {above}: {training}")
    again, excess = DUALS[solver](training, solution, points, values)
    require(excess <= ROUNDING, f"a cut of the dual point exceeds B by {excess} of its size: {training}")
    require(again <= objective.min() + ROUNDING * unit, f"the dual point, {again}, is above P, {objective.min()}")
    figures = {"P error": error, "cut above B": excess}
    # The program over the planes is solved to 1e-10 of its largest offset, however small its value is.
    lost = max((solution.dual - again) / max(unit, 1e-2 * float(costs @ values[1])), 0.0)
    require(lost <= 1e-7, f"the dual point is worth {again}, said to be {solution.dual}: {training}")
    figures["dual not found again"] = lost
    return figures


def _around(generator: Generator, center: np.ndarray) -> np.ndarray:
    """The solution, zero, and points near and far."""
    size = np.linalg.norm(center) / np.sqrt(len(center)) or 1.0
    away = [center + step * size * generator.normal(size=len(center)) for step in (1e-3, 0.1, 1.0, 10.0)]
    return np.stack([center, np.zeros_like(center), *away])


def _excess(offsets, slopes, points, values, size) -> float:
    """How far cuts (rows of slopes) exceed a surrogate at points, relative to the numbers that they are made of.

    The surrogate is made of slacks times gains of the loss, of the given size, also where it is zero.
    """
    heights = offsets - points @ slopes.T
    unit = np.abs(offsets) + np.abs(points) @ np.abs(slopes.T) + np.abs(values) + size
    return float(np.max((heights - values) / unit))


def _value(training: Training, slopes: np.ndarray, offsets: np.ndarray) -> float:
    """D(o, sigma) in long double."""
    weights = np.repeat(training.costs, np.diff(training.data.offsets)) * slopes
    parameters = weights.astype(np.longdouble) @ training.image().astype(np.longdouble)
    return float(training.costs.astype(np.longdouble) @ offsets - parameters @ parameters / 2)


# ---------------------------------------------------------------- by method: (value of the dual point, cuts above B)


def _of_atoms(training, solution, points, values):
    """Frank-Wolfe: per bag a convex combination of at most 16 cuts."""
    cuts, margins = solution.state.cuts, points @ training.image().T
    capacity, sizes = cuts.weights.shape[1], training.sizes()
    slopes, offsets, excess = np.zeros(len(training.data.truth)), np.zeros(len(training.costs)), 0.0
    for i, here in enumerate(training.data.bags()):
        block = cuts.atoms[here.start * capacity : here.stop * capacity].reshape(capacity, -1)
        weights, heights = cuts.weights[i] / cuts.weights[i].sum(), cuts.atom_offsets[i]
        require(weights.min() >= 0, f"a negative weight, {weights.min()}")
        slopes[here], offsets[i] = weights @ block, weights @ heights
        active = weights > 0
        above = _excess(heights[active], block[active], margins[:, here], values[:, [i]], sizes[i])
        excess = max(excess, above)
    return _value(training, slopes, offsets), excess


def _of_planes(training, solution, points, values):
    """One-slack planes are cuts of the whole risk."""
    planes, offsets = solution.state.planes, solution.state.offsets
    if not len(planes):
        return 0.0, 0.0
    risk = (values @ training.costs)[:, None]
    excess = _excess(offsets, planes, points, risk, training.costs @ training.sizes())
    return _combined(planes, offsets, np.zeros(len(planes), dtype=np.intp)), excess


def _of_slacks(training, solution, points, values):
    """Algorithm 1: every plane is a cut of one bag."""
    planes, offsets = solution.state.planes, solution.state.offsets
    bags = solution.state.bags
    if not len(bags):
        return 0.0, 0.0
    costs = training.costs[bags]
    excess = _excess(offsets, planes, points, values[:, bags], training.sizes()[bags])
    return _combined(costs[:, None] * planes, costs * offsets, bags), excess


def _combined(planes: np.ndarray, offsets: np.ndarray, blocks: np.ndarray) -> float:
    """The value of one feasible combination of planes; however it was found, it is a bound."""
    weights, _ = solve_plane_qp(planes, offsets, blocks)
    require(weights.min() >= 0 and np.bincount(blocks, weights).max() <= 1 + 1e-12, "infeasible multipliers")
    exact = weights.astype(np.longdouble)
    parameters = exact @ planes
    return float(exact @ offsets - parameters @ parameters / 2)


DUALS = {
    "frank_wolfe": _of_atoms,
    "cutting_plane": _of_planes,
    "n_slack": _of_slacks,
}
