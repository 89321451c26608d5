"""B_D l = L f + S g, judged by enumeration; that f and g are D's is judged in `tests/decomposition`."""

import numpy as np
import pytest

from helpers import reference
from helpers.definitions import lovasz_hinge, random_margins, slack
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky, decompose
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, SlackRescaling
from setloss.testing import check_convex, check_cut, check_upper_bound

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


@pytest.mark.parametrize("scale", [1.0, 2.0, 0.7])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_l_of_f_plus_s_of_g(loss, scale):
    for m, q in ((1, 0), (1, 2), (2, 2), (3, 2), (1, 4), (5, 0)):
        function = LOSSES[loss].on_counts(m, q)
        parts = decompose(function)
        f, g = reference.values_of(parts.submodular), reference.values_of(parts.supermodular)
        variants = [(B_D(function, scale=scale), f)]
        if min(f.values()) >= 0:
            variants.append((B_D(function, scale=scale, monotone=True), reference.monotone_closure(f)))
        for point in random_margins(np.random.default_rng(m), m + q, 6):
            for surrogate, part in variants:
                expected = lovasz_hinge(part, point) + slack(g, point, scale)
                assert surrogate(point) == pytest.approx(expected, rel=1e-12, abs=1e-12)


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


@pytest.mark.parametrize("counts", [(5, 0), (0, 5)])
def test_dice_of_a_homogeneous_bag_is_bounded(counts):
    """On all-positive and all-negative bags f is increasing, and B_D bounds the loss (design 5.6)."""
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


@pytest.mark.parametrize("loss", ["Dice", "Jaccard", "Hamming weighted", "curve1", "curve4"])
@pytest.mark.parametrize("counts", [(4, 3), (90, 80)])
def test_one_sort_of_the_margins_serves_both_parts(loss, counts, monkeypatch):
    surrogate = B_D(LOSSES[loss].on_counts(*counts))
    calls = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda *args, **kwargs: calls.append(1) or argsort(*args, **kwargs))
    surrogate.cut(np.linspace(-1, 2, surrogate.p))
    assert len(calls) == 1
