"""B_D l = L f + S g, judged by enumeration with D's answer known on paper."""

from fractions import Fraction

import numpy as np
import pytest

from helpers import reference
from helpers.definitions import lovasz_elementwise, lovasz_outer, random_margins, slack
from helpers.reference import increasing_excess, subsets
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, SlackRescaling
from setloss.testing import check_convex, check_cut, check_upper_bound


def by_definition(f, g, m, scale, monotone=False):
    if monotone:
        return lovasz_elementwise(reference.monotone_closure(f), m) + slack(g, m, scale)
    hinge = lovasz_elementwise if increasing_excess(f) <= 1e-12 else lovasz_outer
    return hinge(f, m) + slack(g, m, scale)


def dice_parts(m, q):
    """g = n (n - 1) / ((2m - 1)(2m - n)) and f = l - g, exactly (design 4.4)."""
    f, g = {}, {}
    for A in subsets(m + q):
        n = sum(i < m for i in A)
        alarms = len(A) - n
        loss = Fraction(n + alarms, 2 * m - n + alarms)
        g[A] = float(Fraction(n * (n - 1), (2 * m - 1) * (2 * m - n)))
        f[A] = float(loss - Fraction(n * (n - 1), (2 * m - 1) * (2 * m - n)))
    return f, g


def symmetric_parts(values):
    """g(0) = g(1) = 0 and g'' = max(0, l'') (design 4.2)."""
    g = [0.0, 0.0]
    for k in range(2, len(values)):
        bend = max(0.0, values[k] - 2 * values[k - 1] + values[k - 2])
        g.append(2 * g[-1] - g[-2] + bend)
    sets = subsets(len(values) - 1)
    return {A: values[len(A)] - g[len(A)] for A in sets}, {A: g[len(A)] for A in sets}


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize(("m", "q"), [(1, 2), (3, 2), (2, 3), (5, 0), (1, 4)])
def test_dice(m, q, scale, monotone):
    f, g = dice_parts(m, q)
    surrogate = B_D(Dice().on_counts(m, q), scale=scale, monotone=monotone)
    for point in random_margins(np.random.default_rng(m), m + q, 8):
        expected = by_definition(f, g, point, scale, monotone)
        assert surrogate(point) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("curve", PAPER_CURVES)
@pytest.mark.parametrize("p", [1, 2, 4, 5])
def test_the_cost_curves_of_the_paper(curve, p):
    function = PAPER_CURVES[curve].on_counts(p, 0)
    f, g = symmetric_parts(function.table.tolist())
    for scale in (1.0, 2.0, 0.7):
        for point in random_margins(np.random.default_rng(p), p, 6):
            expected = by_definition(f, g, point, scale)
            assert B_D(function, scale=scale)(point) == pytest.approx(expected, rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------- laws

LOSSES = {
    "Dice": Dice(),
    "Jaccard": Jaccard(),
    "Tversky(0.3, 0.7)": Tversky(0.3, 0.7),
    "FBeta(2)": FBeta(2.0),
    "Hamming": Hamming(),
    "Hamming weighted": Hamming(False, 2.0, 0.5),
    "free first mistakes": CostCurve([(0, 0), (0.4, 0), (1, 1)]),
    **PAPER_CURVES,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_convex_and_its_cuts_are_tight_minorants(loss):
    for function in (LOSSES[loss].on_counts(2, 2), LOSSES[loss].set_function([0, 1, 0, 1, 1])):
        surrogate = B_D(function)
        check_convex(surrogate, samples=20)
        for m in random_margins(np.random.default_rng(0), function.p, 4):
            check_cut(surrogate, m)


@pytest.mark.parametrize("loss", ["Dice", "Tversky(0.3, 0.7)", "FBeta(2)", "curve1", "curve2"])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_the_monotone_variant_bounds_its_own_parts_at_the_prediction(loss, scale):
    """L of f_up bounds f_up and S bounds g, so the sum bounds f_up + g; f_up <= f."""
    function = LOSSES[loss].on_counts(3, 2)
    surrogate = B_D(function, monotone=True, scale=scale)
    hinge, rescaled = (term for _, term in surrogate.terms)
    check_upper_bound(surrogate, hinge.function + rescaled.function, samples=40)
    check_convex(surrogate, samples=20)


def test_dice_of_a_homogeneous_bag_is_bounded():
    """On all-positive and all-negative bags f is increasing, and B_D bounds the loss (design 5.6)."""
    for counts in ((5, 0), (0, 5)):
        function = Dice().on_counts(*counts)
        check_upper_bound(B_D(function), function)


@pytest.mark.parametrize(
    ("curve", "p"),
    [
        (PAPER_CURVES["curve2"], 18),
        (PAPER_CURVES["curve2"], 40),
        (CostCurve([(0, 0), (0.3, 0), (1, 1)]), 10),
        (CostCurve([(0, 0), (0.3, 0), (1, 1)]), 1000),
    ],
)
def test_the_monotone_variant_takes_rounding_errors_of_f_for_zero(curve, p):
    """f >= 0 for both, f = 0 for the second (design, section 7)."""
    function = curve.on_counts(p, 0)
    m = np.linspace(-1, 2, p)
    assert B_D(function, monotone=True)(m) >= SlackRescaling(B_D(function).terms[1][1].function)(m)


def test_the_monotone_variant_needs_a_non_negative_f():
    with pytest.raises(ValueError, match="Only a non-negative function has one"):
        B_D(PAPER_CURVES["curve3"].on_counts(4, 0), monotone=True)
    with pytest.raises(ValueError, match='leave out positive_part="outer"'):
        B_D(Dice().on_counts(2, 1), monotone=True, positive_part="outer")


# ---------------------------------------------------------------- one sort


@pytest.mark.parametrize("loss", ["Dice", "Jaccard", "Hamming weighted", "curve1", "curve4"])
@pytest.mark.parametrize("counts", [(4, 3), (90, 80)])
def test_one_sort_of_the_margins_serves_both_parts(loss, counts, monkeypatch):
    surrogate = B_D(LOSSES[loss].on_counts(*counts))
    calls = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda *args, **kwargs: calls.append(1) or argsort(*args, **kwargs))
    surrogate.cut(np.linspace(-1, 2, surrogate.p))
    assert len(calls) == 1
