"""The loop: statuses in words, callbacks, history, limits, warm starts and paths."""

from copy import deepcopy
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from helpers.problems import label_sets, tracks
from setloss.solvers import (
    ADMM,
    CuttingPlane,
    FrankWolfe,
    Limits,
    Record,
    Status,
    choice,
    solve,
)
from setloss.solvers.admm import ADMMState
from setloss.solvers.choice import method_named
from setloss.solvers.problem import Problem
from setloss.solvers.solution import relative_gap

SOLVERS = ("cutting_plane", "n_slack", "admm", "frank_wolfe")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@pytest.fixture(scope="module")
def problem():
    return tracks("dice", "bd", d=12, C=2.0).problem


# ---------------------------------------------------------------- statuses


@every_solver
@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_the_iteration_limit_is_kept_and_what_was_found_is_certified(problem, solver, max_iter):
    solution = solve(problem, solver, Limits(1e-14, max_iter))
    assert solution.iterations == len(solution.history) == max_iter
    assert solution.status is Status.ITERATION_LIMIT
    assert np.isfinite(solution.primal)
    assert np.isfinite(solution.dual) or solver == "cutting_plane"


@every_solver
def test_an_interruption_returns_the_best_model_so_far(problem, solver):
    def interrupt(record):
        if record.iteration == 2:
            raise KeyboardInterrupt

    solution = solve(problem, solver, Limits(1e-14, 100, callbacks=(interrupt,)))
    assert solution.status is Status.INTERRUPTED
    assert solution.iterations == 2
    assert np.isfinite(solution.primal)
    assert solution.primal == pytest.approx(problem.objective(solution.parameters), rel=1e-9)


def test_algorithm_1_stalls_when_no_cut_is_violated_and_the_gap_is_not_reached(problem):
    solution = solve(problem, "n_slack", Limits(0.0, 200))
    assert solution.status in (Status.STALLED, Status.CONVERGED)
    assert solution.gap < 1e-7


# ---------------------------------------------------------------- gaps


@pytest.mark.parametrize(
    ("primal", "dual", "gap"),
    [
        (2.0, 1.0, 0.5),
        (2.0, 2.0, 0.0),
        (0.0, 0.0, 0.0),
        (2.0, -np.inf, np.inf),
        (1.0, 1.0 + 1e-13, 0.0),  # by rounding
        (1.0, 2.0, np.inf),  # a broken bound, not convergence
    ],
)
def test_the_gap_is_relative_to_the_primal(primal, dual, gap):
    assert relative_gap(primal, dual) == gap


# ---------------------------------------------------------------- history and callbacks


@every_solver
def test_callbacks_get_the_records_of_the_history_and_the_last_is_the_solution(problem, solver):
    seen, again = [], []
    solution = solve(problem, solver, Limits(1e-4, 20, callbacks=(seen.append, again.append)))
    assert tuple(seen) == tuple(again) == solution.history
    assert all(isinstance(record, Record) for record in seen)
    assert [record.iteration for record in seen] == list(range(1, len(seen) + 1))
    found = (solution.primal, solution.dual, solution.gap)
    assert (seen[-1].primal, seen[-1].dual, seen[-1].gap) == pytest.approx(found, rel=1e-12)
    assert seen[-1].iteration == solution.iterations


# ---------------------------------------------------------------- limits and names


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tol": -1e-3}, "tol is a relative gap, a number >= 0; got -0.001"),
        ({"tol": np.nan}, "tol is a relative gap"),
        ({"tol": np.inf}, "tol is a relative gap"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"max_time": 0}, "max_time is in seconds and positive; got 0"),
        ({"max_time": np.nan}, "max_time is in seconds and positive"),
    ],
)
def test_limits_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Limits(**fields)


def test_an_unknown_solver_is_refused_by_name(problem):
    with pytest.raises(ValueError, match="there is no solver 'simplex'; the names are auto, frank_wolfe"):
        solve(problem, "simplex")


def test_an_iteration_of_cutting_planes_takes_at_most_six_evaluations_of_all_cuts(problem, monkeypatch):
    calls, plain = [], Problem.cuts

    def counted(self, margins, **options):
        calls.append(1)
        return plain(self, margins, **options)

    monkeypatch.setattr(Problem, "cuts", counted)
    solution = solve(problem, "cutting_plane", Limits(1e-6, 40))
    assert 0 < len(calls) <= 6 * solution.iterations + 1


LARGE = {"sizes": (200, 3)}


@pytest.fixture
def any_size(monkeypatch):
    """No problem is too small for the other methods."""
    monkeypatch.setattr(choice, "SMALL_WORK", 0)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"d": 4}, CuttingPlane),
        ({"d": 4} | LARGE, CuttingPlane),
        ({"d": 9}, ADMM),
        ({"d": 4, "p": 2}, ADMM),
        ({"p": 150}, ADMM),
        ({"d": 20, "sparse": True}, FrankWolfe),
    ],
)
def test_auto_picks_by_parameters_and_storage(options, expected):
    problem = label_sets if "p" in options else tracks
    assert isinstance(method_named("auto", problem(**options).problem), expected)


@pytest.mark.parametrize("operator", ["slack", "hinge"])
def test_auto_goes_on_with_admm_where_frank_wolfe_takes_many_epochs(operator, monkeypatch):
    monkeypatch.setattr(choice, "SMALL_WORK", 0)
    monkeypatch.setattr(choice, "EPOCHS", 20)
    case = tracks("dice", operator, sizes=(4, 7, 3, 5) * 10, d=18, C=30.0, sparse=True)
    seen = []
    solution = solve(case.problem, "auto", Limits(1e-4, 800, callbacks=(seen.append,)))
    assert solution.status is Status.CONVERGED
    assert tuple(seen) == solution.history
    assert [record.iteration for record in seen] == list(range(1, solution.iterations + 1))
    assert all(after.passes > before.passes for before, after in pairwise(seen))
    assert solution.primal == pytest.approx(case.objective(solution.parameters), rel=1e-9)
    assert isinstance(solution.state, ADMMState)
    some = solve(case.problem, "auto", Limits(1e-4, choice.EPOCHS))
    assert not isinstance(some.state, ADMMState)


def test_auto_keeps_frank_wolfe_while_it_nearly_arrives_and_longer_with_a_hinge(monkeypatch):
    monkeypatch.setattr(choice, "SMALL_WORK", 0)
    monkeypatch.setattr(choice, "EPOCHS", 40)
    ends = {}
    for operator, C in (("hinge", 1.0), ("hinge", 3.0), ("bd", 1.0), ("bd", 3.0), ("slack", 1.0)):
        case = label_sets("dice", operator, n=80, p=10, d=30, C=C, sparse=True)
        found = solve(case.problem, "auto", Limits(1e-4))
        assert found.status is Status.CONVERGED
        assert found.iterations > choice.EPOCHS
        ends[operator, C] = isinstance(found.state, ADMMState)
    assert ends == {
        ("hinge", 1.0): False,
        ("hinge", 3.0): True,
        ("bd", 1.0): False,
        ("bd", 3.0): True,
        ("slack", 1.0): True,
    }


def test_auto_without_room_for_admm_keeps_frank_wolfe(monkeypatch):
    monkeypatch.setattr(choice, "MOST_ROWS", 3)
    monkeypatch.setattr(choice, "SMALL_WORK", 0)
    found = solve(tracks("dice", "slack", d=18, C=3.0).problem, "auto", Limits(1e-12, choice.EPOCHS + 5))
    assert found.iterations > choice.EPOCHS
    assert not isinstance(found.state, ADMMState)


# ---------------------------------------------------------------- warm starts


@every_solver
def test_a_warm_start_reaches_the_same_objective_with_fewer_passes(problem, solver):
    limits = Limits(1e-5, 5000)
    cold = solve(problem, solver, limits)
    near = replace(problem, costs=1.02 * problem.costs)
    from_cold, from_warm = solve(near, solver, limits), solve(near, solver, limits, cold)
    assert from_warm.status is Status.CONVERGED
    assert from_warm.primal == pytest.approx(from_cold.primal, rel=2e-5)
    assert from_warm.history[-1].passes < from_cold.history[-1].passes


def test_a_warm_start_does_not_change_the_solution_it_starts_from(problem):
    for solver in SOLVERS:
        warm = solve(problem, solver, Limits(1e-3, 20))
        before = deepcopy(warm.state)
        parameters = warm.parameters.copy()
        solve(problem, solver, Limits(1e-5, 20), warm)
        np.testing.assert_array_equal(warm.parameters, parameters)
        np.testing.assert_equal(asdict(warm.state), asdict(before))


@pytest.mark.usefixtures("any_size")
def test_auto_that_begins_with_admm_is_admm_to_the_end(monkeypatch):
    monkeypatch.setattr(choice, "EPOCHS", 5)
    problem, limits = tracks("dice", "slack", d=9).problem, Limits(1e-12, 30)
    by_default, by_name = (solve(problem, solver, limits) for solver in ("auto", "admm"))
    assert [record.dual for record in by_default.history] == [record.dual for record in by_name.history]


@pytest.mark.parametrize("stored", [False, True])
def test_auto_goes_on_with_the_method_that_was_at_work(stored, monkeypatch):
    monkeypatch.setattr(choice, "EPOCHS", 20)
    problem = label_sets("dice", "slack", n=80, p=10, d=30, C=10.0, sparse=True).problem
    before = solve(problem, "auto", Limits(1e-3, choice.EPOCHS + 10))
    after = solve(
        problem,
        "auto",
        Limits(1e-3, choice.EPOCHS),
        replace(before, state=None, surrogate=None) if stored else before,
    )
    assert isinstance(after.state, ADMMState)
    assert after.primal < before.primal
