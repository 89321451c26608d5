"""Proximal points of bags = the quadratic program over all cuts of a bag; ADMM where conditioning is bad."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, vstack

from helpers.problems import LAYOUTS, label_sets, pairs, terms, tracks
from setloss.solvers import ADMM, Design, Limits, Status, admm, choice, solve
from setloss.solvers.admm import NormalMatrix
from setloss.solvers.dual_points import first_dual_point


def all_cuts(case, truth):
    """Every cut of a bag, sums over the parts of the surrogate included."""
    offsets, slopes = np.zeros(1), np.zeros((1, len(truth)))
    for part in terms(case, truth):
        heights, rows = (np.array(column) for column in zip(*part, strict=True))
        offsets = (offsets[:, None] + heights).ravel()
        slopes = (slopes[:, None] + rows).reshape(-1, len(truth))
    return offsets, slopes


def smoothed_by_program(case, truth, margins, centre, mu):
    """max o - <sigma, m> - mu/2 |sigma - centre|^2 over the weights of all cuts."""
    offsets, slopes = all_cuts(case, truth)
    size, p = len(offsets), len(truth)
    quadratic = csc_array(np.diag(np.repeat([0.0, mu], [size, p])))
    linear = np.concatenate([-offsets, margins - mu * centre])
    equalities = np.block([[slopes.T, -np.eye(p)], [np.ones((1, size)), np.zeros((1, p))]])
    constraints = csc_array(vstack([csc_array(equalities), csc_array(-np.eye(size, size + p))]))
    bounds = np.concatenate([np.zeros(p), [1.0], np.zeros(size)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.ZeroConeT(p + 1), clarabel.NonnegativeConeT(size)]
    answer = clarabel.DefaultSolver(quadratic, linear, constraints, bounds, cones, settings).solve()
    return -answer.obj_val - 0.5 * mu * centre @ centre, np.array(answer.x)[size:]


@settings(max_examples=60)
@given(
    which=st.sampled_from([*pairs(), ("hamming", "hinge")]),
    layout=st.sampled_from(list(LAYOUTS)),
    seed=st.integers(0, 2**16),
    mu=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
)
def test_proximal_points_are_those_of_the_program_over_all_cuts(which, layout, seed, mu):
    sizes = {"sizes": (4, 1, 3)} if layout == "bags" else {"n": 3, "p": 4}
    case = LAYOUTS[layout](*which, seed=seed, **sizes)
    generator = np.random.default_rng(seed)
    margins = generator.normal(size=len(case.truth))
    centre = generator.choice([0.0, 0.3], size=len(case.truth))
    points, before = first_dual_point(case.problem, None), centre.copy()
    for i, (cost, truth, here) in enumerate(case.bags()):
        own = case.problem, slice(i, i + 1)
        points.move_to_points(*own, generator.normal(size=len(truth)), centre, mu, 0.0, ADMM())
        far = ADMM(inner_steps=100, shrink=0.0)
        sigma, sums = points.move_to_points(*own, margins[here], centre, mu, 0.5, far)
        value, slopes = smoothed_by_program(case, truth, margins[here], before[here], mu)
        change = sigma - before[here]
        found = sums[0] / cost - sigma @ margins[here] - 0.5 * mu * change @ change
        assert found == pytest.approx(value, abs=1e-7 * (1 + abs(value)))
        np.testing.assert_allclose(sigma, slopes, atol=1e-3 / np.sqrt(mu) * (1 + abs(value)) ** 0.5)
        np.testing.assert_allclose(centre[here], before[here] + 0.5 * change)
        np.testing.assert_allclose(sums[1:], cost * np.array([change @ change, sigma @ sigma]))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("d", [3, 60], ids=["by features", "by rows"])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_the_linear_system_is_solved(layout, d, sparse):
    problem = LAYOUTS[layout]("dice", "bd", d=d, sparse=sparse, constant=2.0).problem
    normal, generator = NormalMatrix.of(problem), np.random.default_rng(0)
    dense = problem.design.matrix.toarray() if sparse else problem.design.matrix
    rows = np.hstack([dense, np.full((len(dense), 1), problem.design.constant)])[problem.rows]
    costs = problem.costs if problem.n_tasks > 1 else np.repeat(problem.costs, problem.surrogate.bags.sizes)
    matrix = rows.T @ (costs[:, None] * rows)
    right = generator.normal(size=problem.shape)
    expected = np.linalg.solve(np.eye(len(matrix)) + matrix / 0.3, right.T).T
    np.testing.assert_allclose(normal.solve(right, 0.3), expected, atol=1e-9)
    assert normal.square(right) == pytest.approx(np.einsum("tj,jk,tk", right, matrix, right))


def assert_same_minimum(problem, tol=1e-4):
    found = solve(problem, "admm", Limits(tol, 4000))
    reference = solve(problem, "cutting_plane", Limits(1e-6, 4000))
    assert found.status is Status.CONVERGED
    assert found.dual <= reference.primal * (1 + 1e-9)
    assert found.primal == pytest.approx(reference.primal, rel=2 * tol, abs=1e-12)


@pytest.mark.parametrize("operator", ["slack", "bd", "hinge"])
@pytest.mark.parametrize("what", ["identical frames", "zero features", "zero weights", "scales"])
def test_bad_conditioning(what, operator):
    case = tracks("dice", operator, sizes=(4, 7, 3, 5) * 5, d=6)
    X = case.X.copy()
    if what == "identical frames":
        X[:] = np.repeat(X[:20], np.diff(case.problem.surrogate.bags.offsets), axis=0)
    elif what == "zero features":
        X[:] = 0.0
    elif what == "scales":
        X *= np.array([1e-4, 1e-2, 1.0, 1.0, 10.0, 30.0])
    problem = replace(case.problem, design=Design.of(X, 0.0 if what == "zero features" else 1.0))
    if what == "zero weights":
        problem = replace(problem, costs=np.where(np.arange(problem.n_bags) % 2, problem.costs, 0.0))
    assert_same_minimum(problem, 1e-3)


def test_matrices_that_are_too_large_are_refused_and_auto_does_not_ask(monkeypatch):
    for module in (admm, choice):
        monkeypatch.setattr(module, "MOST_ROWS", 5)
    problem = label_sets("dice", "bd", n=8, p=30, d=12).problem
    with pytest.raises(ValueError, match="frank_wolfe"):
        solve(problem, "admm")
    assert solve(problem, "auto").status is Status.CONVERGED
