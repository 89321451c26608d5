"""Cutting planes = Algorithm 1 = Frank-Wolfe = ADMM = a generic convex solver on the program with all cuts in it."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from helpers.problems import LAYOUTS, label_sets, pairs, terms, tracks
from setloss.solvers import Design, Limits, NSlack, Status, solve


def explicit_minimum(case):
    """min 1/2 |W|^2 + sum_i c_i sum_t xi_it   subject to   xi_it >= o - <sigma, m_i(W)> for all cuts, by Clarabel."""
    matrix = case.matrix
    heights, offsets, owners, costs = [], [], [], []
    for cost, truth, here in case.bags():
        for cuts in terms(case, truth):
            for offset, slope in cuts:
                heights.append(slope @ matrix[here])
                offsets.append(offset)
                owners.append(len(costs))
            costs.append(cost)
    size, slacks = matrix.shape[1], len(costs)
    picks = np.zeros((len(owners), slacks))
    picks[np.arange(len(owners)), owners] = 1.0
    constraints = csc_array(np.hstack([-np.array(heights), -picks]))
    quadratic = csc_array(np.diag(np.repeat([1.0, 0.0], [size, slacks])))
    linear = np.concatenate([np.zeros(size), costs])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cone = [clarabel.NonnegativeConeT(len(offsets))]
    answer = clarabel.DefaultSolver(quadratic, linear, constraints, -np.array(offsets), cone, settings).solve()
    assert "Solved" in str(answer.status)
    return answer.obj_val


# ---------------------------------------------------------------- agreement


def assert_minimum(solution, expected, tolerance=1e-6):
    assert solution.status is Status.CONVERGED
    assert abs(solution.primal - expected) <= tolerance * expected
    assert abs(solution.dual - expected) <= tolerance * expected


every_pair = pytest.mark.parametrize(("loss", "operator"), list(pairs()))
both_layouts = pytest.mark.parametrize("layout", list(LAYOUTS))


@every_pair
@both_layouts
def test_cutting_plane_n_slack_and_admm_reach_the_minimum_of_the_explicit_program(loss, operator, layout):
    case = LAYOUTS[layout](loss, operator)
    expected = explicit_minimum(case)
    for solver in ("cutting_plane", "n_slack", "admm"):
        assert_minimum(solve(case.problem, solver, Limits(5e-7)), expected)


@pytest.mark.parametrize("rests", [False, True], ids=["all visited", "some at rest"])
@every_pair
@both_layouts
def test_frank_wolfe_reaches_the_minimum_of_the_explicit_program(loss, operator, layout, rests, monkeypatch):
    if rests:
        monkeypatch.setattr("setloss.solvers.dual_points.FEW_ELEMENTS", 0)
        monkeypatch.setattr("setloss.solvers.dual_points.REACH", 0.0)
        monkeypatch.setattr("setloss.solvers.frank_wolfe.SETTLED", np.inf)
    case = LAYOUTS[layout](loss, operator, d=24)
    assert_minimum(solve(case.problem, "frank_wolfe", Limits(5e-7, 5000)), explicit_minimum(case))


@pytest.mark.parametrize(("loss", "operator"), [("dice", "bd"), ("dice", "slack"), ("curve4", "bd")])
@both_layouts
def test_admm_reaches_the_minimum_with_elements_at_rest(loss, operator, layout, monkeypatch):
    monkeypatch.setattr("setloss.solvers.dual_points.FEW_ELEMENTS", 0)
    case = LAYOUTS[layout](loss, operator)
    assert_minimum(solve(case.problem, "admm", Limits(5e-7, 3000)), explicit_minimum(case))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.0, 3.0])
@both_layouts
def test_storage_precision_and_intercept_do_not_matter(layout, constant, dtype, sparse):
    case = LAYOUTS[layout]("dice", "bd", d=10, seed=1, constant=constant, dtype=dtype, sparse=sparse)
    expected = explicit_minimum(case)
    for solver in ("cutting_plane", "n_slack", "admm", "frank_wolfe"):
        assert_minimum(solve(case.problem, solver, Limits(5e-7, 5000)), expected)


@pytest.mark.parametrize("C", [1e-6, 1e-2, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("solver", ["cutting_plane", "n_slack", "admm"])
def test_any_C_is_solved(C, solver):
    case = tracks("dice", "bd", C=C)
    assert_minimum(solve(case.problem, solver, Limits(5e-7)), explicit_minimum(case))


@pytest.mark.parametrize("units", [1e-3, 1e3])
@pytest.mark.parametrize("solver", ["cutting_plane", "n_slack", "admm"])
def test_features_in_any_unit_are_solved(units, solver):
    """Features a thousand times as large with C a millionth is the same problem, and with the same C a harder one."""
    plain = tracks("dice", "slack", C=10.0, constant=0.0)
    same = tracks("dice", "slack", C=10.0 / units**2, constant=0.0)
    scaled = type(plain)(**(vars(same) | {"X": units * same.X}))
    expected = explicit_minimum(plain)
    solution = solve(scaled.problem, solver, Limits(5e-7))
    assert_minimum(solution, expected / units**2)
    harder = type(plain)(**(vars(plain) | {"X": units * plain.X}))
    assert solve(harder.problem, solver, Limits(1e-3)).status is Status.CONVERGED


def test_algorithm_1_as_printed_reoptimises_after_every_cut_and_finds_the_same_minimum():
    case = label_sets("dice", "bd")
    assert_minimum(solve(case.problem, NSlack(reoptimise_after=1), Limits(5e-7)), explicit_minimum(case))


@pytest.mark.parametrize("copies", [2, 10])
@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe", "n_slack"])
def test_csr_rows_with_duplicate_entries_mean_their_sum(solver, copies):
    case = tracks("dice", "bd", d=24)
    rows = csr_array(case.X)
    split = (np.repeat(rows.data / copies, copies), np.repeat(rows.indices, copies), copies * rows.indptr)
    doubled = replace(case.problem, design=Design.of(csr_array(split, shape=rows.shape), 1.0))
    assert_minimum(solve(doubled, solver, Limits(5e-7, 2000)), explicit_minimum(case))
