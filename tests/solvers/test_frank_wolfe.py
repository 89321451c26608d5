"""Block-coordinate ascent: certificates recomputed from the data, agreement with others."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from helpers.problems import label_sets, tracks
from setloss import Hamming
from setloss.solvers import FrankWolfe, Limits, Status, dual_points, solve

WIDE = {"n": 40, "p": 7, "d": 30}
OPERATORS = ("hinge", "lovasz", "bd", "slack", "margin")
every_operator = pytest.mark.parametrize("operator", OPERATORS)
storage = pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])


def case_of(operator, **options):
    return label_sets("jaccard" if operator == "lovasz" else "dice", operator, **(WIDE | options))


def dual_by_definition(case, cuts):
    """D of a dual point from the data alone: one matrix M with m(W) = M W, no kernels and no passes of the solver."""
    costs = np.repeat(case.costs, np.diff(case.offsets))
    image = (costs * cuts.slopes) @ case.matrix
    return float(case.costs @ cuts.offsets) - 0.5 * float(image @ image)


def assert_dual_point(case, cuts):
    """Every bag is a convex combination of minorants of its surrogate: below it at random margins."""
    generator = np.random.default_rng(0)
    for parameters in generator.normal(size=(20, *case.problem.shape)):
        margins = case.problem.margins(parameters)
        heights = cuts.offsets - case.problem.surrogate.bags.totals(cuts.slopes * margins)
        assert np.all(heights <= case.problem.cuts(margins).values + 1e-10)


@every_operator
@storage
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_both_objectives_are_those_of_the_data(operator, sparse, missing):
    case = case_of(operator, sparse=sparse, missing=missing)
    found = solve(case.problem, "frank_wolfe", Limits(1e-4, 3000))
    assert found.status is Status.CONVERGED
    assert found.primal == pytest.approx(case.objective(found.parameters), rel=1e-9)
    assert found.dual <= dual_by_definition(case, found.state.cuts) * (1 + 1e-9)
    assert_dual_point(case, found.state.cuts)
    planes = solve(case.problem, "cutting_plane", Limits(1e-4, 3000))
    assert found.primal == pytest.approx(planes.primal, rel=2e-4)


@storage
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_hinge_is_linear_svc_for_every_label(sparse, C):
    case = label_sets(Hamming(normalize=False), "lovasz", **WIDE, missing=0.0, sparse=sparse)
    case = replace(case, costs=np.full(WIDE["n"], C))
    found = solve(case.problem, "frank_wolfe", Limits(1e-5, 20_000))
    assert found.status is Status.CONVERGED
    assert found.state.cuts.point.hinge
    parameters = np.empty(case.problem.shape)
    for task in range(WIDE["p"]):
        truth = case.truth[case.tasks == task]
        svc = LinearSVC(loss="hinge", C=C, tol=1e-9, max_iter=10**6, random_state=0).fit(case.X, truth)
        parameters[task] = np.append(svc.coef_, svc.intercept_)
    assert found.primal == pytest.approx(case.objective(parameters), rel=1e-4)


@pytest.mark.parametrize("costs", [(1.0, 0.0), (0.3, 2.0), (1.0, 1.0)], ids=str)
@pytest.mark.parametrize(("layout", "options"), [(label_sets, WIDE), (tracks, {"d": 20})], ids=["sets", "bags"])
def test_the_closed_form_takes_unequal_costs_of_mistakes(layout, options, costs):
    case = layout(Hamming(False, *costs), "lovasz", **options)
    found = solve(case.problem, "frank_wolfe", Limits(1e-5, 5000))
    assert found.status is Status.CONVERGED
    assert found.state.cuts.point.hinge
    assert found.dual <= dual_by_definition(case, found.state.cuts) * (1 + 1e-9)
    assert found.primal == pytest.approx(solve(case.problem, "admm", Limits(1e-6)).primal, rel=1e-4)
    assert found.primal == pytest.approx(case.objective(found.parameters), rel=1e-9)


@pytest.mark.parametrize("capacity", [2, 3, 5])
@pytest.mark.parametrize("operator", ["lovasz", "bd", "slack"])
def test_few_cuts_per_example_are_merged_and_stay_a_dual_point(operator, capacity, monkeypatch):
    for name in ("MOST_CUTS", "FEWEST_CUTS"):
        monkeypatch.setattr(dual_points, name, capacity)
    case = case_of(operator, C=5.0)
    found = solve(case.problem, "frank_wolfe", Limits(1e-2, 5000))
    assert found.status is Status.CONVERGED
    assert found.state.cuts.point.counts.max() <= capacity
    assert found.dual <= dual_by_definition(case, found.state.cuts) * (1 + 1e-9)
    assert_dual_point(case, found.state.cuts)


@every_operator
def test_a_start_at_small_parameters_is_a_dual_point(operator):
    """The cuts there would raise the dual most with weights far above one."""
    problem = case_of(operator, C=1e-3).problem
    cold = solve(problem, "cutting_plane", Limits(1e-2))
    warm = replace(cold, parameters=0.1 * cold.parameters, state=None)
    cuts = FrankWolfe().start(problem, warm).cuts
    assert cuts.offsets.any()
    assert np.all(cuts.offsets <= problem.cuts(np.zeros(len(problem.signs))).values + 1e-12)


@storage
def test_passes_over_label_sets_are_those_of_the_definition(sparse):
    case = case_of("bd", sparse=sparse, missing=0.4)
    parameters = np.random.default_rng(0).normal(size=case.problem.shape)
    np.testing.assert_allclose(case.problem.margins(parameters), case.matrix @ parameters.ravel(), rtol=1e-12)
    slopes = np.random.default_rng(1).normal(size=len(case.truth))
    costs = np.repeat(case.costs, np.diff(case.offsets))
    found = case.problem.parameters(slopes).ravel()
    np.testing.assert_allclose(found, (costs * slopes) @ case.matrix, rtol=1e-10, atol=1e-10)


def test_what_does_not_belong_together_is_refused():
    problem = case_of("bd", missing=0.3).problem
    with pytest.raises(ValueError, match="`tasks`, the label of every element"):
        replace(problem, tasks=())
    with pytest.raises(ValueError, match="a row of X per frame or per label set"):
        replace(problem, rows=np.arange(len(problem.signs)))
    for cost in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="C and the weights"):
            replace(problem, costs=np.full(problem.n_bags, cost))


def test_a_problem_that_memory_cannot_hold_is_refused_before_work_starts(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    with pytest.raises(MemoryError, match=r"GB in this solver.*this machine has.*fewer sets or labels"):
        solve(case_of("bd").problem, "frank_wolfe")
