"""A surrogate of the user's own, in partitions: its cuts are asked for where the data lie."""

from dataclasses import dataclass
from functools import partial

import pytest
from sklearn.exceptions import ConvergenceWarning

import setloss.estimators as local
from helpers.partitioned import assert_same_problem, frames, lengths, parted
from setloss.dask import BagClassifier
from setloss.operators import Cut, SlackRescaling, Surrogate
from setloss.solvers import Status

pytestmark = pytest.mark.filterwarnings("ignore::setloss.plans.python_fallback.SlowSurrogateWarning")


@dataclass(frozen=True)
class Own(Surrogate):
    """Slack rescaling that no plan knows."""

    inner: Surrogate
    exact: bool = True

    @property
    def p(self):
        return self.inner.p

    def cut_ordered(self, ordered):
        found = self.inner.cut_ordered(ordered)
        return Cut(found.offset, found.slope, exact=self.exact)


def own(function, exact=True):
    return Own(SlackRescaling(function, scale=1.0), exact)


def in_partitions(operator, solver):
    X, y, groups = frames(12)
    model = BagClassifier(operator=operator, C=0.5, tol=1e-3, solver=solver)
    return model.fit(*parted(lengths(len(y), 3, groups), X, y, groups))


@pytest.mark.parametrize("solver", ["cutting_plane"])
def test_it_trains_to_the_certified_minimum_of_the_compiled_one(solver):
    model = in_partitions(own, solver)
    assert model.solution_.status is Status.CONVERGED
    assert_same_problem(model, local.BagClassifier(operator="slack", scale=1.0, C=0.5).fit(*frames(12)))


def test_inexact_cuts_certify_nothing():
    with pytest.warns(ConvergenceWarning, match="no duality gap is certified"):
        model = in_partitions(partial(own, exact=False), "cutting_plane")
    assert model.solution_.status is Status.UNCERTIFIED
