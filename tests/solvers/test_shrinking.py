"""Elements at rest: nothing of them is read, an epoch costs the others, whose cuts are cuts of the whole set."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.problems import label_sets
from setloss.solvers import FrankWolfe, Limits, Status, solve

OPERATORS = ("hinge", "lovasz", "bd", "bd-monotone", "slack", "margin")
every_operator = pytest.mark.parametrize("operator", OPERATORS)
LABELS = 60


def wide_case(operator, **options):
    loss = "jaccard" if operator == "lovasz" else "dice"
    return label_sets(loss, operator, n=50, p=LABELS, d=60, C=5.0, **options)


def at_rest(problem, cuts):
    """Whether each element is at rest."""
    out = np.ones(len(problem.signs), dtype=bool)
    for (lo, _), width in zip(pairwise(problem.surrogate.bags.offsets), cuts.active.widths, strict=True):
        out[lo + cuts.active.places[lo : lo + width]] = False
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
    curvatures, before = state.cuts.curvatures(problem), state.cuts.slopes.copy().reshape(-1, LABELS)
    assert resting.any()
    for i in np.flatnonzero(resting.any(axis=1)):
        W = np.ascontiguousarray(state.parameters.T)
        W[:, resting[i]] = np.nan
        state.cuts.visit(problem, np.array([i]), W, curvatures, state.gaps, FrankWolfe())
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
