"""Elements at rest: nothing of them is read, an epoch costs the others, whose cuts are cuts of the whole set."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.problems import label_sets
from setloss import SetFunction, from_set_function
from setloss.solvers import FrankWolfe, Limits, Status, solve
from setloss.solvers.dual_points import ActiveCuts
from setloss.solvers.visits import active_places

OPERATORS = ("hinge", "lovasz", "bd", "bd-monotone", "slack", "margin")
every_operator = pytest.mark.parametrize("operator", OPERATORS)
LABELS = 60


def wide_case(operator, **options):
    loss = "jaccard" if operator == "lovasz" else "dice"
    return label_sets(loss, operator, n=50, p=LABELS, d=60, C=5.0, **options)


def at_rest(problem, cuts):
    """Whether each element is at rest."""
    out = np.ones(len(problem.signs), dtype=bool)
    starts = problem.surrogate.bags.offsets
    for i in range(problem.n_bags):
        out[starts[i] + active_places.py_func(cuts.active, i, starts)] = False
    return out


@every_operator
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_an_epoch_visits_the_active_elements_only(operator, missing):
    problem = wide_case(operator, missing=missing).problem
    records = []
    found = solve(problem, "frank_wolfe", Limits(1e-4, 2000, callbacks=(records.append,)))
    assert found.status is Status.CONVERGED
    resting = at_rest(problem, found.state.cuts)
    assert resting.mean() > (0.0 if operator == "bd" else 0.2)  # its f has slopes for every element of many a set
    assert not np.any((found.state.cuts.slopes[resting] > 0) & (found.state.cuts.slopes[resting] < 1e-9))
    dearest = 2.0 + 2.0  # two passes over all elements, and a measurement with its certificate
    assert max(after.passes - before.passes for before, after in pairwise(records)) <= dearest
    late = records[-20:]
    assert (late[-1].passes - late[0].passes) / (len(late) - 1) < 2.0 + 1.0 - resting.mean()


@every_operator
def test_a_visit_reads_and_changes_nothing_of_elements_at_rest(operator):
    problem = wide_case(operator, missing=0.0).problem
    state = solve(problem, "frank_wolfe", Limits(1e-4, 2000)).state
    resting = at_rest(problem, state.cuts).reshape(-1, LABELS)
    before = state.cuts.slopes.copy().reshape(-1, LABELS)
    assert resting.any()
    for i in np.flatnonzero(resting.any(axis=1)):
        W = np.ascontiguousarray(state.parameters.T)
        W[:, resting[i]] = np.nan
        state.cuts.visit(problem, np.array([i]), W, state.curvatures, state.gaps, FrankWolfe())
        after = state.cuts.slopes.reshape(-1, LABELS)
        assert np.all(np.isfinite(after))
        assert np.all(np.isfinite(W[:, ~resting[i]]))
        np.testing.assert_array_equal(after[i][resting[i]], before[i][resting[i]])


@every_operator
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_cuts_of_the_active_elements_lie_below_the_surrogate_of_all(operator, missing):
    """Also far away, where the elements at rest have the smallest margins of all."""
    case = wide_case(operator, missing=missing)
    state = solve(case.problem, "frank_wolfe", Limits(1e-12, 30)).state
    cuts, generator = state.cuts, np.random.default_rng(0)
    resting = at_rest(case.problem, cuts)
    for reach in (0.1, 1.0, 10.0):
        margins = generator.normal(size=len(case.truth)) - 2 * reach * resting
        heights = cuts.offsets - case.problem.surrogate.bags.totals(cuts.slopes * margins)
        assert np.all(heights <= case.problem.cuts(margins).values + 1e-9)


def test_a_table_of_three_groups_is_read_at_the_counts_of_active_elements():
    table = (np.indices((8, 8, 8)).T @ [1.0, 2.0, 3.0]).T ** 1.5 / 100
    loss = from_set_function(SetFunction.from_table(table, np.arange(21) % 3))
    case = label_sets(loss, "slack", n=30, p=21, d=20, missing=0.0)
    found = solve(case.problem, "frank_wolfe", Limits(1e-4, 3000))
    assert found.status is Status.CONVERGED
    assert at_rest(case.problem, found.state.cuts).any()
    assert found.primal == pytest.approx(case.objective(found.parameters), rel=1e-9)


def test_positives_without_a_slope_stay_active_where_the_positive_part_is_taken_of_the_sum():
    """Two mistakes, many positives that are right by far: L f is 0 without slopes, the rescaling of g has two."""
    case = wide_case("bd", missing=0.0)
    problem, mistakes = case.problem, np.zeros(len(case.truth), dtype=bool)
    for lo, hi in pairwise(case.offsets):
        mistakes[lo + np.flatnonzero(case.truth[lo:hi])[:2]] = True
    margins = np.where(mistakes, 0.1, 5.0)
    cuts = ActiveCuts.none(problem)
    everything = slice(0, problem.n_bags)
    cuts.rest(problem, everything, margins, problem.cuts(margins))
    margins[mistakes] = -5.0
    cuts.move_to_points(problem, everything, margins, np.zeros(len(margins)), 1e-3, 0.0, FrankWolfe())
    heights = cuts.offsets - problem.surrogate.bags.totals(cuts.slopes * margins)
    assert np.all(heights <= problem.cuts(margins).values + 1e-9)
