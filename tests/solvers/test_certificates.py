"""Primal and dual values are what they claim to be, for every loss, operator, solver and shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from helpers.problems import LAYOUTS, pairs, tracks
from setloss import Hamming
from setloss.solvers import Design, Limits, Status, solve

SOLVERS = ("cutting_plane", "n_slack", "admm", "frank_wolfe")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


@st.composite
def cases(draw):
    loss, operator = draw(st.sampled_from(list(pairs())))
    options = {
        "d": draw(st.integers(1, 12)),
        "seed": draw(st.integers(0, 2**16)),
        "C": draw(st.sampled_from([1e-3, 0.1, 1.0, 20.0])),
        "constant": draw(st.sampled_from([0.0, 1.0])),
        "scale": draw(st.sampled_from([1.0, 2.0])),
        "sparse": draw(st.booleans()),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }
    layout = draw(st.sampled_from(list(LAYOUTS)))
    if layout == "bags":
        options["sizes"] = draw(st.lists(st.integers(1, 7), min_size=1, max_size=8))
    else:
        options |= {"n": draw(st.integers(1, 8)), "p": draw(st.integers(1, 5))}
    return LAYOUTS[layout](loss, operator, **options)


def assert_certified(case, solution, generator):
    """The primal value is P(W) by definition, the dual value is below P everywhere it is looked at."""
    rounding = 1e-9 * max(1.0, abs(solution.primal))
    assert abs(case.objective(solution.parameters) - solution.primal) <= rounding
    assert solution.dual <= solution.primal + rounding
    assert solution.gap == max(solution.primal - solution.dual, 0.0) / solution.primal
    for step in (0.01, 0.1, 1.0):
        other = solution.parameters + step * generator.normal(size=solution.parameters.shape)
        assert solution.dual <= case.objective(other) + rounding


@every_solver
@settings(max_examples=30)
@given(case=cases(), iterations=st.sampled_from([1, 2, 3, 5, 7, 30]), seed=st.integers(0, 9))
def test_primal_and_dual_are_true_wherever_the_solver_stops(solver, case, iterations, seed):
    solution = solve(case.problem, solver, Limits(1e-6, iterations))
    assert_certified(case, solution, np.random.default_rng(seed))


@every_solver
@settings(max_examples=15)
@given(case=cases(), other=st.sampled_from(list(pairs())), seed=st.integers(0, 9))
def test_a_warm_start_from_another_surrogate_never_makes_a_false_certificate(solver, case, other, seed):
    """Cuts of one surrogate are no cuts of another: they must not be taken over."""
    elsewhere = type(case)(**(vars(case) | {"loss": other[0], "operator": other[1]}))
    warm = solve(elsewhere.problem, solver, Limits(1e-3, 20))
    assert_certified(case, solve(case.problem, solver, Limits(1e-3, 20), warm), np.random.default_rng(seed))


@every_solver
def test_a_surrogate_that_is_zero_everywhere_is_solved_by_zero(solver):
    case = tracks(Hamming(False, 0.0, 0.0), "lovasz")
    solution = solve(case.problem, solver, Limits(1e-6, 10))
    assert solution.status is Status.CONVERGED
    assert solution.primal == solution.dual == solution.gap == 0.0
    assert not solution.parameters.any()


def test_float32_rows_are_summed_in_float64():
    wide = tracks("dice", "bd", d=2000, dtype=np.float32)
    parameters = np.random.default_rng(0).normal(size=wide.problem.shape)
    for X in (wide.X, csr_array(wide.X)):
        design = Design.of(X, 1.0)
        margins = type(wide.problem)(**(vars(wide.problem) | {"design": design})).margins(parameters)
        np.testing.assert_allclose(margins, wide.matrix @ parameters.ravel(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_depends_on_how_many_elements_are_computed_together(layout, monkeypatch):
    problem, generator = LAYOUTS[layout]("dice", "bd").problem, np.random.default_rng(0)
    numbers, parameters = generator.normal(size=len(problem.signs)), generator.normal(size=problem.shape)

    def computed():
        sums = problem.margins(parameters), problem.parameters(numbers), problem.objective(parameters)
        return *sums, solve(problem, "admm", Limits(0.0, 12)).parameters

    whole = computed()
    monkeypatch.setattr("setloss.solvers.problem.AT_ONCE", 1)
    assert len(list(problem.blocks())) > 1
    for some, all_together in zip(computed(), whole, strict=True):
        np.testing.assert_allclose(some, all_together, rtol=1e-9, atol=1e-12)
