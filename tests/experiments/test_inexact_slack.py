"""Approximate slack rescaling: the kernels are the reference searches, and training with them certifies nothing."""

from itertools import pairwise

import numpy as np
import pytest

from experiments.inexact_slack import InexactSlack, PlainCuttingPlane, bag_problem, inexact_slack
from setloss import loss_named
from setloss.operators import Cut, SlackRescaling
from setloss.solvers import Limits, Status, solve

LOSSES = ("curve1", "curve2", "curve3", "curve4", "dice", "jaccard")
SEARCHES = ("greedy", "released")


def ragged(mixed):
    generator = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum(generator.integers(1, 13, size=40))))
    truth = generator.random(offsets[-1]) < 0.5
    if not mixed:
        truth = np.repeat(truth[offsets[:-1]], np.diff(offsets))
    return offsets, truth, generator.normal(scale=0.5, size=offsets[-1])


def reference(function, scale, search, margins):
    """The cut at the set that a search finds, which is written out here for one pass."""
    if search == "greedy":
        return SlackRescaling(function, scale, "greedy").cut(margins)
    mask, value = np.zeros(len(margins), dtype=bool), 0.0
    for i in range(len(margins)):
        mask[i] = True
        raised = function(mask) * (1 - scale * margins[mask].sum())
        mask[i], value = (True, raised) if raised > value + 1e-15 else (False, value)
    return Cut(function(mask), scale * function(mask) * mask, exact=False)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("scale", "mixed"), [(1.0, True), (2.0, False)])
def test_kernels_are_the_reference_searches(name, search, scale, mixed):
    loss = loss_named(name)
    offsets, truth, margins = ragged(mixed)
    cuts = inexact_slack(loss, truth, offsets, search, scale).cuts(margins)
    references = [
        reference(loss.set_function(truth[lo:hi]), scale, search, margins[lo:hi]) for lo, hi in pairwise(offsets)
    ]
    slopes, heights = np.concatenate([cut.slope for cut in references]), np.array([cut.offset for cut in references])
    slopes = np.where(slopes > 0, scale, 0.0) if search == "released" else slopes
    values = heights - np.add.reduceat(slopes * margins, offsets[:-1])
    for one, other in zip((cuts.slopes, cuts.offsets, cuts.values), (slopes, heights, values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)


def frames():
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), generator.integers(1, 9, size=60))
    y = (groups % 3 == 0).astype(int)
    return generator.normal(size=(len(y), 3)) + y[:, None], y, groups


def test_training_ends_uncertified_and_separates():
    X, y, groups = frames()
    model = InexactSlack("dice", "greedy", C=0.1).fit(X, y, groups)
    assert model.solution_.status is Status.UNCERTIFIED
    predicted = X @ model.coef_[0] + model.intercept_[0] > 0
    assert loss_named("dice")(y == 1, predicted, groups=groups).mean() < 0.5


def test_plain_cutting_planes_with_an_exact_oracle_agree_with_the_solver():
    X, y, groups = frames()
    problem = bag_problem(X, y == 1, groups, 0.1, 1.0, "curve2", "bd")
    plain = solve(problem, PlainCuttingPlane(exact=True), Limits(tol=1e-4))
    reference = solve(problem, "cutting_plane", Limits(tol=1e-4))
    assert plain.status is Status.CONVERGED
    assert plain.primal == pytest.approx(reference.primal, rel=2e-4)
