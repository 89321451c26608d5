"""Proximal points of bags = the quadratic program over all cuts of a bag; their faces = its curvature."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, vstack

from helpers.explicit import terms
from helpers.problems import LAYOUTS, pairs
from setloss.solvers.proximal_points import ProximalPoints


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
    which=st.sampled_from(list(pairs())),
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
    points = ProximalPoints.at(case.problem, margins, centre, mu)
    for i, (_, truth, here) in enumerate(case.bags()):
        value, slopes = smoothed_by_program(case, truth, margins[here], centre[here], mu)
        sigma = points.slopes[here]
        found = points.offsets[i] - sigma @ margins[here] - 0.5 * mu * np.sum((sigma - centre[here]) ** 2)
        assert found == pytest.approx(value, abs=1e-7 * (1 + abs(value)))
        np.testing.assert_allclose(sigma, slopes, atol=1e-3 / np.sqrt(mu) * (1 + abs(value)) ** 0.5)
    np.testing.assert_array_equal(points.values, case.problem.cuts(margins).values)


@settings(max_examples=30)
@given(which=st.sampled_from(list(pairs())), layout=st.sampled_from(list(LAYOUTS)), seed=st.integers(0, 2**16))
def test_the_faces_are_the_derivative_of_the_gradient(which, layout, seed):
    """Away from kinks, which have measure zero, H dW is the change of the gradient W - W(sigma)."""
    case = LAYOUTS[layout](*which, seed=seed)
    problem, generator = case.problem, np.random.default_rng(seed)
    parameters = 0.1 * generator.normal(size=problem.shape)
    direction = generator.normal(size=problem.shape)
    centre = np.zeros(len(case.truth))
    here, there = (
        ProximalPoints.at(problem, problem.margins(parameters + step * direction), centre, 0.5)
        for step in (0.0, 1e-7)
    )
    if not np.array_equal(here.ranks, there.ranks):
        return
    change = -(there.image - here.image) / 1e-7
    curved = here.curved(direction)
    if np.allclose(there.curved(direction), curved, rtol=1e-6):
        np.testing.assert_allclose(change, curved, atol=1e-5 * (1 + np.abs(curved).max()))
    rows = np.vstack([rows.copy() for rows in here.rows()])
    np.testing.assert_allclose(rows.T @ (rows @ direction.ravel()), curved.ravel(), atol=1e-9)


def test_a_bag_that_sits_at_its_centre_stays_there():
    problem = LAYOUTS["bags"]("dice", "slack").problem
    margins = np.zeros(len(problem.signs))
    cuts = problem.cuts(margins)
    points = ProximalPoints.at(problem, margins, np.asarray(cuts.slopes), 1.0)
    np.testing.assert_array_equal(points.slopes, cuts.slopes)
    np.testing.assert_array_equal(points.offsets, cuts.offsets)
    assert points.rank == 0
