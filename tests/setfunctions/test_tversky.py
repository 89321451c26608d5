"""Closed forms of the Tversky family: mpmath at large sizes, exact fractions and the LP at small ones."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from helpers import reference
from setloss import Dice, FBeta, Jaccard, Tversky, decompose
from setloss.setfunctions.tversky import TverskyCounts, TverskySubmodular, supermodular_value

SPLIT_WEIGHTS = [(0.5, 0.5), (2.0, 0.5), (0.1, 0.7), (1.0, 0.999), (0.0, 0.6)]
split_weights = pytest.mark.parametrize(("a", "b"), SPLIT_WEIGHTS)
SIZES = [(3, 2), (40, 1000), (10**6, 10**6), (10**6, 10), (5, 10**7)]


# ---------------------------------------------------------------- fifty digits


def exactly(n, q, m, a, b):
    """The loss in mpmath."""
    n, q, m = mpmath.mpf(int(n)), mpmath.mpf(int(q)), mpmath.mpf(int(m))
    return (b * n + a * q) / (m - n + b * n + a * q)


def border_part(n, m, a, b):
    """g(n) = l(n, 0) - n l(1, 0) in mpmath."""
    return exactly(n, 0, m, a, b) - int(n) * exactly(1, 0, m, a, b)


def sampled_counts(m, q, axis):
    """Corners and a few random cells from which one more step along `axis` is possible."""
    top = (m - (axis == 0), q - (axis == 1))
    rng = np.random.default_rng(m + q)
    corners = [(0, 0), (top[0], 0), (0, top[1]), top, (min(1, top[0]), 0)]
    return corners + [tuple(int(rng.integers(0, t + 1)) for t in top) for _ in range(20)]


def relative_error(value, exact):
    return abs(float((mpmath.mpf(float(value)) - exact) / exact)) if exact else abs(float(value))


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize(("m", "q"), SIZES)
@pytest.mark.parametrize(("a", "b"), [*SPLIT_WEIGHTS, (1.0, 1.0), (0.3, 2.5), (0.8, 0.2)])
def test_steps_of_the_loss_keep_twelve_digits(m, q, a, b):
    counts = TverskyCounts(m, q, a, b)
    for axis in (0, 1):
        for n, k in sampled_counts(m, q, axis):
            step = exactly(n + (axis == 0), k + (axis == 1), m, a, b) - exactly(n, k, m, a, b)
            assert relative_error(counts.step(axis, n, k), step) <= 1e-12


@split_weights
@pytest.mark.parametrize(("m", "q"), SIZES)
def test_values_and_steps_of_the_supermodular_part_keep_twelve_digits(m, q, a, b):
    part = TverskySubmodular(TverskyCounts(m, q, a, b)).supermodular
    for n, _ in sampled_counts(m, q, 0):
        assert relative_error(part(n, 0), border_part(n, m, a, b)) <= 1e-12
        step = border_part(n + 1, m, a, b) - border_part(n, m, a, b)
        assert relative_error(part.step(0, n, 0), step) <= 1e-12


@split_weights
@pytest.mark.parametrize(("m", "q"), SIZES)
def test_steps_of_the_submodular_part_keep_twelve_digits_of_the_loss(m, q, a, b):
    part = TverskySubmodular(TverskyCounts(m, q, a, b))
    for n, k in sampled_counts(m, q, 0):
        loss_step = exactly(n + 1, k, m, a, b) - exactly(n, k, m, a, b)
        step = loss_step - (border_part(n + 1, m, a, b) - border_part(n, m, a, b))
        unit = max(loss_step, exactly(1, 0, m, a, b))
        assert abs(float((mpmath.mpf(float(part.step(0, n, k))) - step) / unit)) <= 1e-12


# ---------------------------------------------------------------- the proof's inequalities, in fractions


def exact_table(m, q, a, b):
    """The loss in fractions; 0/0 is no loss."""
    a, b = Fraction(a), Fraction(b)
    cells = [[(b * n + a * k, m - n + b * n + a * k) for k in range(q + 1)] for n in range(m + 1)]
    return np.array([[top / bottom if bottom else top for top, bottom in row] for row in cells], dtype=object)


@split_weights
def test_only_curvature_along_false_negatives_is_positive_and_it_falls_with_false_positives(a, b):
    for m in range(1, 8):
        table = exact_table(m, 6, a, b)
        bend = np.diff(table, 2, axis=0)
        assert np.all(np.diff(table, 2, axis=1) <= 0)
        assert np.all(np.diff(np.diff(table, axis=0), axis=1) <= 0)
        assert np.all(bend >= 0)
        assert np.all(np.diff(bend, axis=1) <= 0)


# ---------------------------------------------------------------- D, against the linear program


@pytest.mark.parametrize(
    "loss", [Dice(), FBeta(1.5), Tversky(2.0, 0.75), Tversky(0.2, 0.5), Jaccard(), Tversky(0.5, 1.5)]
)
@pytest.mark.parametrize(("m", "q"), [(1, 4), (2, 3), (4, 0), (3, 3), (4, 2), (0, 4)])
def test_the_closed_form_is_the_optimum_of_the_linear_program(loss, m, q):
    optimum, _ = reference.brute_force_program(reference.tversky_values(m, q, *loss.weights[::-1]))
    part = decompose(loss.on_counts(m, q)).supermodular
    assert reference.values_of(part) == pytest.approx(optimum, abs=1e-9)


SMALL_BETA = [(0.5, 0.45), (0.8, 0.2), (1.0, 0.3), (2.0, 0.0), (0.1, 0.49)]


def fewest_positives(a, b):
    """The smallest m with m (1 - 2b) > (1 - b)^2 + a b: then the first mixed difference is positive."""
    a, b = Fraction(a), Fraction(b)
    return int(((1 - b) ** 2 + a * b) / (1 - 2 * b)) + 1


@pytest.mark.parametrize(("a", "b"), SMALL_BETA)
def test_for_beta_below_one_half_a_mixed_difference_is_positive_unless_positives_are_few(a, b):
    for m in range(2, 3 * fewest_positives(a, b)):
        mixed = np.diff(np.diff(exact_table(m, 1, a, b), axis=0), axis=1)[: m - 1]
        assert (mixed.max() > 0) == (mixed[0, 0] > 0) == (m >= fewest_positives(a, b))


@pytest.mark.parametrize(("a", "b"), SMALL_BETA[:4])
def test_for_beta_below_one_half_the_closed_form_is_not_feasible(a, b):
    m, q = fewest_positives(a, b), 1
    values = reference.tversky_values(m, q, a, b)
    g = {A: float(supermodular_value(sum(i < m for i in A), m, b)) if b else 0.0 for A in values}
    assert reference.infeasibility(values, g) > 1e-4
    assert TverskyCounts(m, q, a, b).split() is None


@pytest.mark.parametrize(("m", "b"), [(3, 1e-20), (10**6, 1e-10)])
def test_steps_keep_twelve_digits_for_small_beta(m, b):
    counts = TverskyCounts(m, 2, 0.5, b)
    step = exactly(m, 0, m, 0.5, b) - exactly(m - 1, 0, m, 0.5, b)
    assert relative_error(counts.step(0, m - 1, 0), step) <= 1e-12


# ---------------------------------------------------------------- where it reads 0/0


def test_without_false_negative_weight_predicting_nothing_reads_zero_over_zero():
    silent = TverskyCounts(3, 2, 0.5, 0.0, undefined=0.25)
    assert silent(3, 0) == 0.25
    assert silent(3, 1) == 1
    np.testing.assert_allclose(silent.step(0, np.array([1, 2]), np.array([0, 0])), [0, 0.25])
    np.testing.assert_allclose(silent.step(1, 3, np.array([0, 1])), [0.75, 0])
