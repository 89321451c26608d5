"""The numba interpreter against the reference operators, bag by bag, and against enumeration."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from helpers import reference
from helpers.definitions import margin_cut, slack_cut
from helpers.problems import reference_operator
from setloss import (
    CostCurve,
    Dice,
    FBeta,
    Hamming,
    Jaccard,
    SetFunction,
    Tversky,
    decompose,
    from_counts,
    from_set_function,
)
from setloss.bags import Bags
from setloss.losses import PAPER_CURVES
from setloss.operators import OPERATOR_NAMES, LovaszHinge, MarginRescaling, SlackRescaling, operator_named
from setloss.plans.batch import BatchSurrogate, batch_surrogate, space_for_cuts
from setloss.plans.build import LossSurrogate
from setloss.plans.records import NoPlanError, lower
from setloss.setfunctions.counts import AxisCurve

# ---------------------------------------------------------------- data

SIZES = (1, 1, 2, 3, 1, 5, 8, 24, 25, 40, 40, 60, 25)


@dataclass(frozen=True)
class Data:
    """A ragged data set."""

    truth: np.ndarray
    offsets: np.ndarray
    margins: np.ndarray

    def bags(self):
        """(labels, margins, slice) of every bag."""
        for lo, hi in pairwise(self.offsets):
            yield self.truth[lo:hi], self.margins[lo:hi], slice(lo, hi)


def draw(sizes, seed=0, spread=1.0, ties=False):
    """Bags of these sizes, some all positive and some all negative; ties are multiples of 1/4."""
    generator = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    truth = generator.random(offsets[-1]) < 0.4
    for i, (lo, hi) in enumerate(pairwise(offsets)):
        if i % 4 < 2:
            truth[lo:hi] = i % 4 == 0
    margins = generator.normal(0.3, 1.0, offsets[-1]) * spread
    return Data(truth, offsets, np.round(4 * margins) / 4 if ties else margins)


def ragged(**options):
    return draw(SIZES, **options)


def equal(p, **options):
    return draw([p] * 12, **options)


def random_table(shape, seed):
    """A table that D handles by its pointwise lower bound: submodular plus supermodular in separate counts."""
    generator = np.random.default_rng(seed)
    total = np.zeros(shape)
    for axis, length in enumerate(shape):
        steps = np.sort(generator.random(length - 1))[:: 1 if axis % 2 else -1]
        curve = np.concatenate(([0.0], np.cumsum(steps)))
        total = total + curve.reshape([-1 if b == axis else 1 for b in range(len(shape))])
    return total


GENERAL = SetFunction.from_values(random_table((2,) * 6, 0) + 0.1 * np.indices((2,) * 6).sum(axis=0) ** 1.5)
THREE_GROUPS = SetFunction.from_table(random_table((3, 4, 2), 1), [0, 1, 2, 1, 0, 1])
CONCAVE_GROUPS = SetFunction.from_table(
    np.sqrt(np.add.outer(np.add.outer(np.arange(3), 2 * np.arange(4)), 3 * np.arange(2))), [1, 1, 0, 2, 0, 1]
)


def shortfall(n, q, m, r):
    """Half a point for every false negative, false positives saturate: a callable of the counts."""
    return 0.5 * n + np.minimum(q, 2)


RAGGED_LOSSES = {
    "Dice": Dice(),
    "Jaccard": Jaccard(),
    "Tversky(0.3, 0.7)": Tversky(0.3, 0.7),
    "Tversky(0.2, 1.5)": Tversky(0.2, 1.5),
    "FBeta(2)": FBeta(2.0),
    "Hamming": Hamming(),
    "Hamming weighted": Hamming(False, 2.0, 0.5),
    "Hamming, false positives free": Hamming(False, 1.0, 0.0),
    "callable": from_counts(shortfall),
    "free start": CostCurve([(0, 0), (0.3, 0), (1, 1)]),
    **PAPER_CURVES,
}
FIXED_LOSSES = {
    "general": from_set_function(GENERAL),
    "three groups": from_set_function(THREE_GROUPS),
    "concave in three groups": from_set_function(CONCAVE_GROUPS),
    "symmetric": from_set_function(SetFunction.symmetric([0, 1, 1, 2, 5, 5, 6])),
}
SUBMODULAR = {
    "Jaccard",
    "Tversky(0.2, 1.5)",
    "Hamming",
    "Hamming weighted",
    "Hamming, false positives free",
    "callable",
    "concave in three groups",
}
NEGATIVE_F = {"curve3", "curve4", "symmetric"}
# f of Tversky with beta < 1/2 needs the linear program; its S and M do not.
RESCALED_ONLY = {"FBeta(1/2)": FBeta(0.5), "Tversky(2, 0)": Tversky(2.0, 0.0)}


def cases():
    for name in (*RAGGED_LOSSES, *FIXED_LOSSES):
        for operator in OPERATOR_NAMES:
            if operator == "lovasz" and name not in SUBMODULAR:
                continue
            if operator == "bd-monotone" and name in NEGATIVE_F:
                continue
            yield name, operator
    for name in RESCALED_ONLY:
        yield from ((name, operator) for operator in ("slack", "margin", "hinge"))


every_case = pytest.mark.parametrize(("name", "operator"), list(cases()))


def loss_and_data(name, **options):
    if name in FIXED_LOSSES:
        return FIXED_LOSSES[name], equal(6, **options)
    return {**RAGGED_LOSSES, **RESCALED_ONLY}[name], ragged(**options)


def prepared(name, operator, scale=2.0, **options):
    loss, data = loss_and_data(name, **options)
    return loss, data, batch_surrogate(loss, data.truth, data.offsets, operator, scale)


def assert_close(got, expected, tolerance=1e-12):
    size = np.abs(expected)
    assert np.all(np.abs(got - expected) <= tolerance * (size + max(1.0, np.max(size))))


# ---------------------------------------------------------------- identical to the reference


@pytest.mark.parametrize(
    ("name", "operator", "scale"),
    [(*case, scale) for case in cases() for scale in ((2.0,) if case[1] in ("lovasz", "hinge") else (2.0, 0.7))],
)
def test_cuts_are_those_of_the_reference_operator(name, operator, scale):
    loss, data, batch = prepared(name, operator, scale)
    cuts = batch.cuts(data.margins)
    for i, (truth, margins, here) in enumerate(data.bags()):
        expected = reference_operator(loss, operator, truth, scale).cut(margins)
        assert_close(cuts.offsets[i], expected.offset)
        assert_close(cuts.slopes[here], expected.slope)
        assert_close(cuts.values[i], expected(margins))


@every_case
def test_every_cut_is_a_global_minorant(name, operator):
    _, data, batch = prepared(name, operator, ties=True)
    cuts = batch.cuts(data.margins)
    generator = np.random.default_rng(1)
    for spread in (0.1, 1.0, 10.0):
        other = generator.normal(size=len(data.margins)) * spread
        bounds = cuts.offsets - np.add.reduceat(cuts.slopes * other, data.offsets[:-1])
        values = batch.cuts(other).values
        assert np.all(bounds <= values + 1e-9 * np.maximum(1.0, np.abs(values)))


@every_case
def test_float32_margins_give_float32_slopes(name, operator):
    """Against the float64 reference at the same, rounded, margins."""
    _, data, batch = prepared(name, operator)
    single = data.margins.astype(np.float32)
    got, expected = batch.cuts(single), batch.cuts(single.astype(np.float64))
    assert got.slopes.dtype == np.float32
    assert got.offsets.dtype == got.values.dtype == np.float64
    assert_close(got.offsets, expected.offsets)
    assert_close(got.values, expected.values)
    # Where the slopes of the two parts of B_D cancel, rounding is relative to the larger one.
    unit = 1e-8 if operator.startswith("bd") else 0
    np.testing.assert_allclose(got.slopes, expected.slopes, rtol=1e-6, atol=unit * np.max(np.abs(expected.slopes)))


@every_case
def test_threads_and_the_place_of_the_slopes_change_no_bit(name, operator):
    _, data, batch = prepared(name, operator)
    for dtype in (np.float64, np.float32):
        margins = data.margins.astype(dtype)
        serial = batch.cuts(margins)
        np.testing.assert_array_equal(margins, data.margins.astype(dtype))
        for other in (batch.cuts(margins, threads=3), batch.cuts(margins, consume=True)):
            for field in ("offsets", "slopes", "values"):
                np.testing.assert_array_equal(getattr(serial, field), getattr(other, field))


def test_a_large_bag_in_float32_keeps_six_digits():
    """Differencing two values of the Jaccard loss would lose 24 % here."""
    p = 2**20
    data = draw([p], seed=3)
    truth = np.random.default_rng(0).random(p) < 0.5
    batch = batch_surrogate(Jaccard(), truth, data.offsets, "lovasz")
    got, expected = batch.cuts(data.margins.astype(np.float32)), LovaszHinge(Jaccard().set_function(truth))
    order = np.argsort(data.margins.astype(np.float32), kind="stable")
    gains = expected.function.gains(order)
    inside = data.margins[order] < 0.99
    np.testing.assert_allclose(got.slopes[order[inside]], gains[inside], rtol=1e-6)


# ---------------------------------------------------------------- the worst sets


def enumerable(name):
    loss = {**RAGGED_LOSSES, **FIXED_LOSSES, **RESCALED_ONLY}[name]
    sizes = (6,) * 10 if name in FIXED_LOSSES else (1, 2, 3, 5, 7, 7, 6)
    return loss, draw(sizes, spread=0.4)


@pytest.mark.parametrize(("operator", "definition"), [("slack", slack_cut), ("margin", margin_cut)])
@pytest.mark.parametrize("name", [*RAGGED_LOSSES, *FIXED_LOSSES, *RESCALED_ONLY])
def test_worst_sets_maximise_the_rescaled_loss(name, operator, definition):
    loss, data = enumerable(name)
    for scale in (1.0, 2.0):
        cuts = batch_surrogate(loss, data.truth, data.offsets, operator, scale).cuts(data.margins)
        for i, (truth, margins, here) in enumerate(data.bags()):
            values = reference.values_of(loss.set_function(truth))
            slopes = cuts.slopes[here]
            assert cuts.offsets[i] == pytest.approx(values[frozenset(np.flatnonzero(slopes).tolist())], rel=1e-12)
            assert cuts.values[i] == pytest.approx(cuts.offsets[i] - slopes @ margins, rel=1e-12, abs=1e-12)
            assert cuts.values[i] == pytest.approx(definition(values, margins, scale)[0], rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------- what a batch accepts


def test_bags_by_ids_in_any_order_give_the_cuts_of_their_elements():
    ids = np.array([1, 0, 1, 0, 1])
    truth = np.array([1, 1, 0, 0, 0], dtype=bool)
    margins = np.array([0.3, -0.2, 0.5, 0.1, -0.7])
    cuts = batch_surrogate(Dice(), truth, Bags.from_groups(ids)).cuts(margins)
    for i in (0, 1):
        expected = operator_named("bd")(Dice().set_function(truth[ids == i])).cut(margins[ids == i])
        assert cuts.values[i] == pytest.approx(expected(margins[ids == i]))
        np.testing.assert_allclose(cuts.slopes[ids == i], expected.slope)


@pytest.mark.parametrize("operator", ["slack", "margin", "bd", "hinge"])
def test_the_zero_loss(operator):
    loss = from_set_function(0 * Dice().on_counts(2, 2))
    margins = np.array([-1.0, 2.0, -0.5, 0.25])
    cuts = batch_surrogate(loss, [1, 1, 0, 0], [0, 4], operator).cuts(margins)
    expected = operator_named(operator)(loss.function).cut(margins)
    assert_close(cuts.values[0], expected(margins))
    assert_close(cuts.slopes, expected.slope)


def lowered_cut(surrogate, groups, margins):
    """The cut of one bag whose surrogate was built by hand."""
    p = len(margins)
    groups = np.asarray(groups, dtype=np.int16)
    batch = BatchSurrogate(Bags.from_offsets([0, p]), groups, np.zeros(1, dtype=int), lower([surrogate], [groups]))
    return batch.cuts(margins)


@pytest.mark.parametrize("weight", [0.0, 0.5, 3.0])
def test_weights_of_both_parts_are_lowered(weight):
    function = Dice().set_function([1, 0, 1, 0, 1])
    margins = np.array([0.3, -0.2, 0.5, 0.1, -0.7])
    for inner in (1.0, 2.0):
        for operator in ("slack", "margin", "bd", "bd-monotone"):
            surrogate = weight * operator_named(operator)(inner * function)
            cuts = lowered_cut(surrogate, function.partition, margins)
            expected = surrogate.cut(margins)
            assert_close(cuts.values[0], expected(margins))
            assert_close(cuts.slopes, expected.slope)


@pytest.mark.parametrize("operator", [SlackRescaling, MarginRescaling])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_curve_counts_the_mistakes_of_its_own_group(operator, axis):
    curve = AxisCurve.from_steps((3, 3), axis, np.array([0.0, 1.0, 2.0]))
    function = SetFunction(curve, np.array([0, 1, 0, 1, 1, 0]))
    for right in (-1, 0, 1):  # the group without mistakes, if any
        margins = np.array([0.3, -0.2, 0.1, -0.1, -0.7, -0.4]) + 5 * (function.partition == right)
        cuts, expected = lowered_cut(operator(function), function.partition, margins), operator(function).cut(margins)
        assert_close(cuts.values[0], expected(margins))
        assert_close(cuts.slopes, expected.slope)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf, 1e301, -1e301])
def test_margins_that_are_not_finite_are_refused(broken):
    batch = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3])
    with pytest.raises(ValueError, match="margins must be finite; element 1 has margin"):
        batch.cuts([0.5, broken, 0.0])


def rough_hinge(loss):
    return LovaszHinge(decompose(loss).submodular, positive_part="elementwise")


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), (1, 3)])
def test_margins_of_another_shape_are_refused(shape):
    batch = batch_surrogate(Dice(), [1, 0, 1], [0, 2, 3])
    with pytest.raises(ValueError, match="the bags hold 3 elements; margins have shape"):
        batch.cuts(np.zeros(shape))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Dice(), [1, 0], [0, 1, 1, 2]), "bag 1 is empty"),
        ((Dice(), [1, 0], [0, 2], "best"), "no operator 'best'; the names are .*slack"),
        ((Dice(), [1, 2], [0, 2]), "the value 2"),
        ((Dice(), [1, 0, 1], [0, 2]), "the bags hold 2 elements, the array has 3"),
        ((Dice(), [[1, 0]], [0, 2]), "labels must have 1 axes"),
        ((Dice(), ["a", "b"], [0, 2]), "labels must hold labels in"),
        ((Dice(), [1, 0], [0, 2], "slack", 0), 'scale c must be a positive number or "mean"; got 0'),
        ((PAPER_CURVES["curve1"], np.ones(6), [0, 6], "lovasz"), "LovaszHinge needs a submodular function"),
        ((Dice(), [1, 1, 1, 0, 0, 0], [0, 6], rough_hinge), "convex only for an increasing function"),
        ((Dice(zero_division=0), [0, 0, 1, 0], [0, 2, 4], "slack"), "costs 1 on an example without positives"),
        ((FIXED_LOSSES["general"], [1, 0], [0, 2]), "for sets of 6 elements"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        batch_surrogate(*arguments)


def test_a_plan_holds_one_hinge_and_one_exact_rescaling():
    function = Jaccard().on_counts(2, 1)
    with pytest.raises(NoPlanError, match="at most one Lovász hinge and one rescaling"):
        lower([LovaszHinge(function) + LovaszHinge(function)], [function.partition])
    with pytest.raises(NoPlanError, match="exact"):
        lower([LovaszHinge(function) + SlackRescaling(function, search="greedy")], [function.partition])


@pytest.mark.parametrize("weights", [(0, 0), (0, 0, 0.5), (0, 1), (1, 0), (0, 2), (0.3, 0, 0.5)], ids=str)
@pytest.mark.parametrize("operator", ["slack", "margin", "bd"])
def test_weights_of_zero_have_finite_cuts_at_any_margins(weights, operator):
    """Where no mistake of a kind counts, the closed forms read 0/0 at the top."""
    loss, truth = Tversky(*weights), np.array([1, 1, 0, 0, 0])
    reference = LossSurrogate(loss, operator, 2.0).on_counts(2, 3)
    for margins in (np.zeros(5), np.full(5, 1e30), np.full(5, -1e30), np.linspace(-2, 2, 5)):
        found = batch_surrogate(loss, truth, [0, 5], operator).cuts(margins)
        assert np.all(np.isfinite(found.slopes))
        assert found.values[0] == pytest.approx(reference(margins), rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "operator", "searched"),
    [
        (Jaccard(), "lovasz", False),
        (Dice(), "bd", False),
        (PAPER_CURVES["curve2"], "slack", False),
        (Dice(), "slack", True),
        (Hamming(), "margin", True),
        (from_counts(lambda n, q, m, k: n * q), "slack", True),
    ],
)
def test_the_search_of_counts_is_compiled_where_a_plan_needs_it(loss, operator, searched):
    """Of curves one count is searched, in line."""
    plans = batch_surrogate(loss, [1, 0, 1, 0, 0], [0, 3, 5], operator).plans
    assert plans.search_counts == searched
    assert (space_for_cuts(plans, 3, np.float64).search is not None) == searched
