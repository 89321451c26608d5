"""Trained models: the gap is reached or its absence reported, and the certificate holds, computed from the data."""

from __future__ import annotations

from benchmarks.soak.certificates import certificate
from benchmarks.soak.draws import Generator, pick
from benchmarks.soak.judge import Outcome, require
from benchmarks.soak.training import fit, random_training
from setloss.solvers import Limits, Status, solve

ITERATIONS = {"frank_wolfe": 1_000, "cutting_plane": 1_000, "n_slack": 500}
SLOW = ("frank_wolfe",)
"""Solvers that may stop at the limit, and must say so: Frank-Wolfe where features are badly scaled."""


def check(generator: Generator) -> Outcome:
    """One solve, by a solver or through an estimator."""
    training = random_training(generator)
    solver, tol = pick(generator, tuple(ITERATIONS)), pick(generator, (1e-2, 1e-3, 1e-4))
    if generator.random() < 0.25:
        training, solution = fit(generator, training, solver=solver, tol=tol, max_iter=ITERATIONS[solver])
    else:
        problem, limits = training.problem(bool(generator.random() < 0.5)), Limits(tol, ITERATIONS[solver])
        solution = solve(problem, solver, limits, random_state=int(generator.integers(99)))
    reached = solution.gap <= tol
    require(reached == (solution.status is Status.CONVERGED), f"gap {solution.gap}, tol {tol}: {solution.status}")
    words = f"{solver} ended ({solution.status}) at gap {solution.gap:.3g}, not {tol}: {training}"
    require(reached or solver in SLOW, words)
    figures = certificate(generator, training, solution, solver)
    return Outcome(1, figures, {f"{solver} to the gap": int(reached), f"by {solver}": 1})
