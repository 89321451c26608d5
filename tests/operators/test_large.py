"""A million elements: O(p log p), and slopes as exact as floating point allows.

The judge is exact rational arithmetic at sampled positions of the sorted margins. Relative errors are those of
the slopes themselves where the increments of the function are single fractions of positive numbers (Jaccard,
Tversky with beta >= 1, concave cost curves, the supermodular parts). The increments of Dice's f change sign, so
no bound relative to the increment itself can hold near its zero: there errors are relative to the larger of the
two terms it is the difference of, l({i}) for a false negative i and the drop from it.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from setloss import CostCurve, Dice, Jaccard, Tversky, decompose
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

    def __iter__(self):
        """Labels, margins, and the elements by ascending margin."""
        return iter((self.truth, self.here.margins, self.here.order))


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    truth = generator.random(P) < 0.3
    margins = generator.normal(0.2, 1.0, size=P)
    found = Data(truth, OrderedMargins(margins, P), OrderedMargins(np.roll(margins, 1), P))
    assert np.all(np.diff(margins[found.here.order]) > 0)
    return found


def sampled(order, margins):
    """Positions in the order: both ends, the neighbourhood of margin 1, and some in between."""
    below_1 = int(np.searchsorted(margins[order], 1.0))
    between = np.random.default_rng(1).integers(0, below_1, 150)
    return sorted({0, 1, 2, 3, below_1 - 2, below_1 - 1, *between.tolist()})


def exact_steps(loss, truth, order, positions):
    """(false negatives before the element, exact increment of the loss) at every position."""
    false_negatives = np.concatenate(([0], np.cumsum(truth[order])))
    for k in positions:
        n = int(false_negatives[k])
        q = k - n
        raised = loss(n + 1, q) if truth[order[k]] else loss(n, q + 1)
        yield n, raised - loss(n, q)


def exact_tversky(m, a, b):
    a, b = Fraction(a), Fraction(b)
    return lambda n, q: (b * n + a * q) / (m - n + b * n + a * q)


def relative_errors(got, exact, units=None):
    units = exact if units is None else units
    pairs = zip(got, exact, units, strict=True)
    return [abs(float((Fraction(float(x)) - y) / u)) if u else abs(float(x)) for x, y, u in pairs]


def assert_finite_minorant(surrogate, data):
    cut, other = surrogate.cut_ordered(data.here), surrogate.cut_ordered(data.elsewhere)
    assert cut.exact
    assert np.all(np.isfinite(cut.slope))
    assert 0 < cut(data.here.margins) < np.inf
    assert cut(data.elsewhere.margins) <= other(data.elsewhere.margins) * (1 + 1e-9)


# ---------------------------------------------------------------- the Lovász hinge


@pytest.mark.parametrize("loss", [Jaccard(), Tversky(0.25, 1.5)], ids=["Jaccard", "Tversky"])
def test_slopes_of_submodular_losses_are_exact_to_twelve_digits(loss, data):
    truth, margins, order = data
    surrogate = LovaszHinge(loss.set_function(truth))
    slope = surrogate.cut_ordered(data.here).slope
    exact_loss = exact_tversky(int(truth.sum()), *loss.weights[::-1])
    positions = sampled(order, margins)
    exact = [step for _, step in exact_steps(exact_loss, truth, order, positions)]
    assert max(relative_errors(slope[order[positions]], exact)) <= TOLERANCE
    np.testing.assert_array_equal(slope[margins >= 1], 0)
    assert_finite_minorant(surrogate, data)


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


# ---------------------------------------------------------------- the supermodular parts


def test_the_slack_of_the_supermodular_part_of_dice(data):
    """The slope is c g(A) on A, a set of the worst positives and of all negatives of negative margin."""
    truth, margins, order = data
    g = decompose(Dice().set_function(truth)).supermodular
    cut = SlackRescaling(g).cut_ordered(data.here)
    chosen = cut.slope > 0
    n, m = int((chosen & truth).sum()), int(truth.sum())
    exact = Fraction(n * (n - 1), (2 * m - 1) * (2 * m - n))
    assert 0 < n < m
    assert relative_errors([cut.offset, cut.slope[chosen][0] / 2], [exact, exact]) <= [TOLERANCE, TOLERANCE]
    np.testing.assert_array_equal(chosen[~truth], margins[~truth] < 0)
    worst = order[truth[order]][:n]
    assert np.all(chosen[worst])


# ---------------------------------------------------------------- B_D


def test_slopes_of_b_d_of_dice(data):
    truth, margins, order = data
    m = int(truth.sum())
    surrogate = B_D(Dice().set_function(truth))
    hinge = surrogate.terms[0][1]
    assert not hinge.elementwise
    slope = hinge.cut_ordered(data.here).slope
    assert np.any(slope < 0)
    loss = exact_tversky(m, "1/2", "1/2")
    positions = [*sampled(order, margins), P - 2, P - 1]
    exact, units = [], []
    for k, (n, step) in zip(positions, exact_steps(loss, truth, order, positions), strict=True):
        if not truth[order[k]]:
            exact.append(step)
            units.append(step)
            continue
        flat, climb = loss(1, 0), loss(n + 1, 0) - loss(n, 0)
        exact.append(step - (climb - flat))
        units.append(max(flat, climb - step))
    assert max(relative_errors(slope[order[positions]], exact, units)) <= TOLERANCE
    assert_finite_minorant(surrogate, data)


def test_b_d_monotone_of_dice_climbs_to_its_cap(data):
    truth, margins, _ = data
    surrogate = B_D(Dice().set_function(truth), monotone=True)
    hinge = surrogate.terms[0][1]
    slope = hinge.cut(np.minimum(margins, 0.5)).slope
    m = int(truth.sum())
    assert np.all(slope >= 0)
    assert slope.sum() == pytest.approx(m / (2 * m - 1), rel=1e-9)
    assert_finite_minorant(surrogate, data)


def test_b_d_of_a_cost_curve(data):
    """l'' > 0 at a quarter of the mistakes only: g climbs by 3/P a mistake from there, f by 1/P throughout."""
    truth, margins, order = data
    surrogate = B_D(CostCurve([(0, 0), (0.25, 0.25), (1, 3.25)]).set_function(truth))
    (_, hinge), (_, rescaled) = surrogate.terms
    slope = hinge.cut_ordered(data.here).slope
    positions = sampled(order, margins)
    assert max(relative_errors(slope[order[positions]], [Fraction(1, P)] * len(positions))) <= TOLERANCE
    steps = rescaled.function.counts.step(0, np.array([0, P // 4 - 1, P // 4, P // 2, P - 1]))
    exact = [Fraction(0), Fraction(0), *[Fraction(3, P)] * 3]
    assert max(relative_errors(steps, exact)) <= TOLERANCE
    assert_finite_minorant(surrogate, data)


# ---------------------------------------------------------------- S and M without a table


@pytest.mark.parametrize("rescaling", [SlackRescaling, MarginRescaling])
def test_s_and_m_of_dice_at_a_million(rescaling, data):
    """By the public way to a cut."""
    margins = data.here.margins + 0.2
    surrogate = rescaling(Dice().set_function(data.truth))
    cut, other = surrogate.cut(margins), np.roll(margins, 1)
    assert cut.exact
    assert np.all(np.isfinite(cut.slope))
    assert 0 < cut(margins) < np.inf
    assert cut(other) <= surrogate(other) * (1 + 1e-9)


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
