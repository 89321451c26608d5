"""Surrogates that no record can hold: evaluated by their own `cut`, bag by bag, they train, warn once and certify."""

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from experiments.generators import make_toy
from setloss import Dice, Jaccard, SetFunction, from_set_function
from setloss.estimators import SetClassifier
from setloss.operators import B_D, Cut, MarginRescaling, SlackRescaling, Surrogate
from setloss.plans.batch import batch_surrogate
from setloss.plans.build import PythonPlans, SlowSurrogateWarning
from setloss.solvers import CuttingPlane, Status
from setloss.solvers.choice import method_named
from setloss.testing import check_convex, check_cut, check_upper_bound


@dataclass(frozen=True)
class WorstElement(Surrogate):
    """B(m) = l(V) max(0, max_i 1 - m_i)."""

    function: SetFunction

    @property
    def p(self):
        return self.function.p

    def cut_ordered(self, ordered):
        slope = np.zeros(self.p)
        worst = ordered.order[0]
        if ordered.margins[worst] < 1:
            slope[worst] = self.function(np.ones(self.p, dtype=bool))
        return Cut(float(slope.sum()), slope)


@dataclass(frozen=True)
class Written(Surrogate):
    """A surrogate of the library in the clothes of a user's: the plain interpreter has to give the same cuts."""

    inner: Surrogate

    @property
    def p(self):
        return self.inner.p

    def cut_ordered(self, ordered):
        return self.inner.cut_ordered(ordered)


@dataclass(frozen=True)
class Guessed(Written):
    """Its cuts say that they need not touch."""

    def cut_ordered(self, ordered):
        found = self.inner.cut_ordered(ordered)
        return Cut(found.offset, found.slope, exact=False)


@dataclass(frozen=True)
class Wearing:
    """An operator whose surrogates are hidden from the plans."""

    clothes: type
    operator: object

    def __call__(self, function):
        return self.clothes(self.operator(function))


pytestmark = pytest.mark.filterwarnings("ignore::setloss.plans.build.SlowSurrogateWarning")


def ragged(seed=0, sizes=(1, 2, 5, 3, 6, 6, 1)):
    generator = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    truth = generator.random(offsets[-1]) < 0.5
    return truth, offsets, generator.normal(scale=0.7, size=offsets[-1])


# ---------------------------------------------------------------- cuts


OPERATORS = {
    "slack": partial(SlackRescaling, scale=1.0),
    "margin": partial(MarginRescaling, scale=2.0),
    "bd": B_D,
    "bd-monotone": partial(B_D, monotone=True),
}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.parametrize("loss", [Dice(), Jaccard()], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cuts_are_those_of_the_kernels(loss, operator, dtype):
    truth, offsets, margins = ragged()
    written = batch_surrogate(loss, truth, offsets, Wearing(Written, operator))
    assert isinstance(written.plans, PythonPlans)
    got = written.cuts(margins.astype(dtype))
    expected = batch_surrogate(loss, truth, offsets, operator).cuts(margins.astype(dtype))
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    for name in ("offsets", "slopes", "values"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=tolerance, atol=tolerance)
    assert got.slopes.dtype == dtype


VALUES = [sum([1.0, 3.0, 1.0][i] for i in range(3) if k >> (2 - i) & 1) for k in range(8)]
ELEMENT_1_IS_WORTH_THREE = SetFunction.from_values(np.reshape(VALUES, (2, 2, 2)))
ALTERNATING_GROUPS = SetFunction.from_table([[0.0, 1.0, 1.5], [3.0, 3.5, 5.0]], [1, 0, 1])


@pytest.mark.parametrize("function", [ELEMENT_1_IS_WORTH_THREE, ALTERNATING_GROUPS], ids=["named", "mixed groups"])
def test_elements_keep_their_places(function):
    loss, margins = from_set_function(function), np.array([-1.0, 0.5, 2.0, 0.4, -0.2, -0.4])
    got = batch_surrogate(loss, [1, 0, 1, 0, 0, 1], [0, 3, 6], Wearing(Written, SlackRescaling)).cuts(margins)
    for i, here in enumerate((slice(0, 3), slice(3, 6))):
        expected = SlackRescaling(function).cut(margins[here])
        np.testing.assert_allclose(got.slopes[here], expected.slope)
        assert got.values[i] == pytest.approx(expected(margins[here]))


def test_nobody_says_that_surrogates_without_a_plan_are_the_same():
    batch = batch_surrogate(Dice(), [1, 0], [0, 2], Wearing(Written, SlackRescaling))
    assert not batch.same_as(batch)


def test_the_warning_names_the_surrogate():
    truth, offsets, margins = ragged()
    with pytest.warns(SlowSurrogateWarning, match="WorstElement has no plan"):
        batch_surrogate(Dice(), truth, offsets, WorstElement).cuts(margins)


# ---------------------------------------------------------------- training


def test_a_surrogate_of_one_s_own_obeys_the_laws_trains_and_certifies():
    function = Dice().set_function([1, 1, 1, 0, 0])
    check_cut(WorstElement(function), [0.4, -0.3, 1.2, 0.1, 2.0])
    check_convex(WorstElement(function))
    check_upper_bound(WorstElement(function), function)
    tracks = make_toy(n_bags=40, p=5)
    model = SetClassifier(operator=WorstElement, C=0.1).fit(tracks.X, tracks.y, groups=tracks.groups)
    assert model.solution_.status is Status.CONVERGED
    assert model.dual_gap_ <= 1e-3


# ---------------------------------------------------------------- heuristics never certify


@pytest.mark.parametrize(
    ("operator", "p"), [(Wearing(Guessed, SlackRescaling), 5), (partial(SlackRescaling, search="greedy"), 1)]
)
def test_cuts_that_nobody_proves_exact_end_uncertified_and_more_iterations_are_not_advised(operator, p):
    """On bags of one frame greedy is exact, but nobody proves it."""
    tracks = make_toy(n_bags=40, p=p)
    model = SetClassifier(operator=operator, C=0.1)
    with pytest.warns(ConvergenceWarning, match="no duality gap is certified, for some cuts") as caught:
        model.fit(tracks.X, tracks.y, groups=tracks.groups)
    assert model.solution_.status is Status.UNCERTIFIED
    assert "ncrease max_iter" not in str(caught[0].message)


@dataclass(frozen=True)
class GuessedBelowZero(Written):
    """Exact where no margin is negative."""

    def cut_ordered(self, ordered):
        found = self.inner.cut_ordered(ordered)
        return Cut(found.offset, found.slope, exact=bool(np.all(ordered.margins >= 0)))


def test_a_batch_that_was_ever_guessed_stays_uncertified():
    batch = batch_surrogate(Dice(), [1, 0], [0, 2], Wearing(GuessedBelowZero, SlackRescaling))
    assert batch.cuts([0.5, 0.5]).exact
    assert batch.exact
    assert not batch.cuts([0.5, -0.5]).exact
    assert batch.cuts([0.5, 0.5]).exact
    assert not batch.exact


def test_solvers_that_visit_bags_give_way():
    truth, offsets, _ = ragged()
    problem = SimpleNamespace(surrogate=batch_surrogate(Dice(), truth, offsets, WorstElement))
    assert [type(method_named(name, problem)) for name in ("auto", "frank_wolfe")] == [CuttingPlane] * 2
