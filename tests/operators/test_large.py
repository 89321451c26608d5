"""A million elements: O(p log p), and slopes as exact as floating point allows.

The judge is exact rational arithmetic, at sampled positions of the sorted margins. The steps of closed forms alone
are compared with fifty digits in `tests/setfunctions/test_tversky.py`.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from setloss import CostCurve, Dice, Jaccard, Tversky
from setloss.operators import B_D, LovaszHinge, MarginRescaling, SlackRescaling
from setloss.operators import rescaling as module
from setloss.operators.cut import OrderedMargins

P = 10**6
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Data:
    """Labels, and margins without ties here and elsewhere, sorted once: that takes a third of a cut."""

    truth: np.ndarray
    here: OrderedMargins
    elsewhere: OrderedMargins


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    truth = generator.random(P) < 0.3
    margins = generator.normal(0.2, 1.0, size=P)
    found = Data(truth, OrderedMargins(margins, P), OrderedMargins(np.roll(margins, 1), P))
    assert np.all(np.diff(margins[found.here.order]) > 0)
    return found


def relative_errors(got, exact):
    return [abs(float((Fraction(float(x)) - y) / y)) if y else abs(float(x)) for x, y in zip(got, exact, strict=True)]


@pytest.mark.parametrize("loss", [Jaccard(), Tversky(0.25, 1.5)], ids=["Jaccard", "Tversky"])
def test_slopes_of_submodular_losses_are_exact_to_twelve_digits(loss, data):
    truth, margins, order = data.truth, data.here.margins, data.here.order
    slope = LovaszHinge(loss.set_function(truth)).cut_ordered(data.here).slope
    np.testing.assert_array_equal(slope[margins >= 1], 0)
    m, (b, a) = int(truth.sum()), map(Fraction, loss.weights)
    below_1 = int(np.searchsorted(margins[order], 1.0))
    missed = np.cumsum(truth[order])
    for k in [0, 1, 2, 3, below_1 - 2, below_1 - 1, *np.random.default_rng(1).integers(0, below_1, 150).tolist()]:
        is_miss = bool(truth[order[k]])
        after = int(missed[k]), k + 1 - int(missed[k])
        before = after[0] - is_miss, after[1] - (not is_miss)
        high, low = ((b * n + a * q) / (m - n + b * n + a * q) for n, q in (after, before))
        assert relative_errors([slope[order[k]]], [high - low]) <= [TOLERANCE]


def test_the_step_across_a_knot_is_exact_to_twelve_digits_too():
    shares, costs = (Fraction(0), Fraction(1 / 3), Fraction(1)), (0, Fraction(1 / 2), 1)

    def exact(k):
        r = Fraction(k, P)
        piece = 0 if r <= shares[1] else 1
        slope = (costs[piece + 1] - costs[piece]) / (shares[piece + 1] - shares[piece])
        return costs[piece] + slope * (r - shares[piece])

    counts = CostCurve([(0, 0), (1 / 3, 1 / 2), (1, 1)]).counts(P, 0)
    across = [333332, 333333, 333334]
    steps = counts.step(0, np.array(across))
    assert max(relative_errors(steps, [exact(k + 1) - exact(k) for k in across])) <= TOLERANCE


BENT = CostCurve([(0, 0), (0.25, 0.25), (1, 3.25)])


def test_b_d_of_a_cost_curve(data):
    """l'' > 0 at a quarter of the mistakes only: g climbs by 3/P a mistake from there, f by 1/P throughout."""
    (_, hinge), (_, rescaled) = B_D(BENT.set_function(data.truth)).terms
    slope = hinge.cut_ordered(data.here).slope
    np.testing.assert_allclose(slope[data.here.margins < 1], 1 / P, rtol=TOLERANCE)
    steps = rescaled.function.counts.step(0, np.array([0, P // 4 - 1, P // 4, P // 2, P - 1]))
    exact = [Fraction(0), Fraction(0), *[Fraction(3, P)] * 3]
    assert max(relative_errors(steps, exact)) <= TOLERANCE


def test_b_d_of_dice_falls_somewhere_and_monotone_climbs_to_its_cap(data):
    dice, m = Dice().set_function(data.truth), int(data.truth.sum())
    printed, monotone = (B_D(dice, monotone=closed).terms[0][1] for closed in (False, True))
    assert not printed.elementwise
    assert np.any(printed.cut_ordered(data.here).slope < 0)
    slope = monotone.cut(np.minimum(data.here.margins, 0.5)).slope
    assert np.all(slope >= 0)
    assert slope.sum() == pytest.approx(m / (2 * m - 1), rel=1e-9)


SURROGATES = {
    "L of Jaccard": lambda truth: LovaszHinge(Jaccard().set_function(truth)),
    "B_D of Dice": lambda truth: B_D(Dice().set_function(truth)),
    "B_D of Dice, monotone": lambda truth: B_D(Dice().set_function(truth), monotone=True),
    "B_D of a cost curve": lambda truth: B_D(BENT.set_function(truth)),
    "S of Dice": lambda truth: SlackRescaling(Dice().set_function(truth)),
    "M of Dice": lambda truth: MarginRescaling(Dice().set_function(truth)),
}


@pytest.mark.parametrize("name", SURROGATES)
def test_cuts_are_finite_minorants_without_a_table(name, data):
    surrogate = SURROGATES[name](data.truth)
    cut, other = surrogate.cut_ordered(data.here), surrogate.cut_ordered(data.elsewhere)
    assert cut.exact
    assert np.all(np.isfinite(cut.slope))
    assert 0 < cut(data.here.margins) < np.inf
    assert cut(data.elsewhere.margins) <= other(data.elsewhere.margins) * (1 + 1e-9)


@pytest.mark.parametrize("rescaling", [SlackRescaling, MarginRescaling])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_binary_search_equals_the_grid_at_two_thousand(rescaling, scale, monkeypatch):
    generator = np.random.default_rng(0)
    truth = generator.random(2000) < 0.4
    surrogate = rescaling(Dice().set_function(truth), scale)
    # Margins of the order of 1/p make the best set neither empty nor everything that is negative.
    for spread in (1.0, 1e-3):
        margins = generator.normal(0.5, 1.0, size=2000) * spread
        fast = surrogate.cut(margins)
        with monkeypatch.context() as patch:
            patch.setattr(module, "GRID_CELLS", 2**24)
            slow = surrogate.cut(margins)
        assert fast(margins) == pytest.approx(slow(margins), rel=1e-12)
        np.testing.assert_array_equal(fast.slope, slow.slope)
