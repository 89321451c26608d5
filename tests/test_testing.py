"""The public law checkers: each passes on a right object and fails on one that is wrong on purpose."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from setloss import CostCurve, Dice, Hamming, Jaccard, SetFunction, decompose
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, Cut, Hinge, LovaszHinge, MarginRescaling, SlackRescaling, Surrogate, search
from setloss.setfunctions.counts import Table
from setloss.setfunctions.set_function import all_masks
from setloss.testing import (
    LawViolationError,
    check_convex,
    check_cut,
    check_decomposition,
    check_extension,
    check_oracle,
    check_set_function,
    check_upper_bound,
)

DICE = Dice().set_function([1, 0, 1, 1, 0])
CURVE = PAPER_CURVES["curve1"].on_counts(5, 0)
JACCARD = Jaccard().on_counts(2, 2)


# ---------------------------------------------------------------- objects that are wrong on purpose


@dataclass(frozen=True)
class Tampered(Surrogate):
    """A surrogate with the right values whose cuts are passed through `spoil`."""

    inner: Surrogate
    spoil: object

    @property
    def p(self):
        return self.inner.p

    def cut_ordered(self, ordered):
        return self.spoil(self.inner.cut_ordered(ordered))

    def __call__(self, margins):
        return self.inner(margins)


@dataclass(frozen=True)
class ByValue(Surrogate):
    """A surrogate of one's own: a function and its gradient."""

    p: int
    value: object
    gradient: object

    def cut_ordered(self, ordered):
        raise NotImplementedError

    def cut(self, margins):
        m = np.asarray(margins, dtype=float)
        slope = -self.gradient(m)
        return Cut(self.value(m) + float(slope @ m), slope)

    def __call__(self, margins):
        return self.value(np.asarray(margins, dtype=float))


class WrongSteps(Table):
    """A table whose increments are off, as a closed form with a slip would be."""

    def step(self, axis, *counts):
        return 1.001 * super().step(axis, *counts)


class WrongChain(SetFunction):
    """A set function whose chain of prefixes disagrees with its masks."""

    def along(self, order):
        return super().along(order)[::-1].copy()


@dataclass(frozen=True)
class BoastfulSlack(SlackRescaling):
    """Returns more than the maximum over all sets."""

    def cut_ordered(self, ordered):
        cut = SlackRescaling(self.function, self.scale).cut_ordered(ordered)
        return Cut(cut.offset + 0.01, cut.slope, exact=False)


# ---------------------------------------------------------------- set functions


@pytest.mark.parametrize("function", [DICE, CURVE, JACCARD, SetFunction.from_values([0, 1, 2, 1])])
def test_right_set_functions_pass(function):
    check_set_function(function)


@pytest.mark.parametrize(
    ("function", "laws"),
    [
        (JACCARD, ["submodular", "increasing", "non-negative"]),
        (Hamming().on_counts(2, 3), ["modular", "symmetric", "submodular", "supermodular"]),
        (SetFunction.symmetric([0, 0, 1, 3]), ["supermodular", "symmetric", "increasing"]),
    ],
)
def test_laws_that_hold_pass(function, laws):
    check_set_function(function, laws)


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (DICE, "submodular"),
        (DICE, "supermodular"),
        (JACCARD, "modular"),
        (JACCARD, "symmetric"),
        (SetFunction.symmetric([0, 1, 0]), "increasing"),
        (SetFunction.symmetric([0, -1, 0]), "non-negative"),
    ],
)
def test_laws_that_fail_are_named(function, law):
    with pytest.raises(LawViolationError, match=f"{law}: no, by"):
        check_set_function(function, [law])


def test_wrong_increments_are_found():
    function = SetFunction(WrongSteps(np.array([0.0, 1.0, 3.0])), np.zeros(2, dtype=int))
    with pytest.raises(LawViolationError, match=r"gains\(order\) and the differences differ by 0.00"):
        check_set_function(function)


def test_a_wrong_chain_is_found():
    function = WrongChain(Table(np.array([0.0, 1.0, 3.0])), np.zeros(2, dtype=int))
    with pytest.raises(LawViolationError, match=r"along\(order\) and the masks of the prefixes differ by 3"):
        check_set_function(function)


def test_a_lying_closed_form_is_found():
    """A law that is claimed, not true: the checker enumerates instead of trusting it."""
    from setloss.setfunctions.counts import AxisCurve

    steps = np.array([0.0, 1.0])
    function = SetFunction(AxisCurve.from_steps((2,), 0, steps, "submodular"), np.zeros(2, dtype=int))
    with pytest.raises(LawViolationError, match="submodular: no"):
        check_set_function(function, ["submodular"])


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match="there is no law 'convex'; the laws are submodular, supermodular"):
        check_set_function(DICE, ["convex"])


# ---------------------------------------------------------------- decompositions


@pytest.mark.parametrize("function", [DICE, CURVE, JACCARD, SetFunction.symmetric([0, 0, 5, 1, 8])])
def test_right_decompositions_pass(function):
    check_decomposition(decompose(function))


def test_parts_that_do_not_add_up_are_found():
    parts = decompose(CURVE)
    f = SetFunction.symmetric(parts.submodular.table + np.array([0, 0, 0.01, 0, 0, 0]))
    with pytest.raises(LawViolationError, match=r"f \+ g and l differ by 0.01"):
        check_decomposition(replace(parts, submodular=f))


def moved(bump):
    """The decomposition of the first cost curve with `bump` moved from f to g."""
    parts = decompose(CURVE)
    f, g = parts.submodular.table - bump, parts.supermodular.table + bump
    return replace(parts, submodular=SetFunction.symmetric(f), supermodular=SetFunction.symmetric(g))


@pytest.mark.parametrize(
    ("bump", "message"),
    [
        ([0, 0.1, 0.2, 0.3, 0.4, 0.5], "g on single elements and 0 differ by 0.1"),
        ([0, 0, 0.1, 0.1, 0.1, 0.1], "the supermodular part is not supermodular: no"),
        ([0, 0, 0, 0, 0, -0.01], "the submodular part is not submodular: no"),
    ],
)
def test_parts_that_break_a_law_are_found(bump, message):
    with pytest.raises(LawViolationError, match=message):
        check_decomposition(moved(np.array(bump)))


def test_a_feasible_part_that_is_not_the_least_is_found_whatever_its_certificate_says():
    parts = decompose(DICE)
    more = SetFunction.symmetric([0, 0, 1, 3, 6, 10])
    wrong = replace(parts, supermodular=parts.supermodular + more, submodular=parts.submodular - more)
    with pytest.raises(LawViolationError, match="the supermodular part is not D's: feasible, not optimal"):
        check_decomposition(wrong)


def test_a_certificate_that_does_not_hold_is_found():
    parts = decompose(CURVE)
    wrong = replace(parts, certificate=replace(parts.certificate, column_residual=0.5))
    with pytest.raises(LawViolationError, match="the certificate does not hold: NOT certified"):
        check_decomposition(wrong)


# ---------------------------------------------------------------- cuts

RIGHT = {
    "S": SlackRescaling(DICE),
    "M": MarginRescaling(DICE),
    "L": LovaszHinge(JACCARD),
    "B_D": B_D(DICE),
    "B_D monotone": B_D(DICE, monotone=True),
    "hinge": Hinge(4),
    "sum": 2 * (B_D(DICE) + 0.5 * Hinge(5)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_surrogates_pass_everything_they_claim(name):
    surrogate = RIGHT[name]
    for margins in (np.zeros(surrogate.p), np.linspace(-1, 2, surrogate.p)):
        check_cut(surrogate, margins)
    check_convex(surrogate)


def test_the_slack_cut_of_the_released_code_is_found():
    """Its slope lacks the factor l(A) (design, section 7): its planes are no minorants."""
    released = Tampered(
        SlackRescaling(DICE), lambda cut: Cut(cut.offset, np.where(cut.slope > 0, 2.0, 0.0), cut.exact)
    )
    with pytest.raises(LawViolationError, match=r"the cut is 2.25 where the surrogate is 0.75"):
        check_cut(released, [2.0, -0.5, 2.0, 2.0, -0.5])


@pytest.mark.parametrize("surrogate", [SlackRescaling(DICE), LovaszHinge(JACCARD)])
@pytest.mark.parametrize("factor", [-1.0, 0.9, 1.1])
def test_a_slope_that_is_off_is_found(surrogate, factor):
    wrong = Tampered(surrogate, lambda cut: Cut(cut.offset, factor * cut.slope))
    with pytest.raises(LawViolationError, match="where the surrogate is"):
        check_cut(wrong, np.full(surrogate.p, 0.1))
    near = 0.01 * np.where(all_masks(surrogate.p), 1, -1)
    with pytest.raises(LawViolationError, match="exceeds the surrogate"):
        check_cut(wrong, np.zeros(surrogate.p), near)


@pytest.mark.parametrize("surrogate", [SlackRescaling(DICE), LovaszHinge(JACCARD)])
def test_a_slope_that_is_off_by_a_tenth_at_zero_is_found_without_help(surrogate):
    wrong = Tampered(surrogate, lambda cut: Cut(cut.offset, 0.9 * cut.slope))
    with pytest.raises(LawViolationError, match="exceeds the surrogate"):
        check_cut(wrong, np.zeros(surrogate.p))


def test_a_cut_that_does_not_touch_is_found():
    wrong = ByValue(2, lambda m: float(m @ m), lambda m: 2 * m)
    object.__setattr__(wrong, "cut", lambda m: Cut(-1.0, np.zeros(2)))
    with pytest.raises(LawViolationError, match=r"the cut is -1.0 where the surrogate is 2.0"):
        check_cut(wrong, [1.0, 1.0])


def test_a_heuristic_is_below_the_maximum_but_not_convex():
    """Greedy's cut is a minorant of the maximum; greedy's own values elsewhere can be smaller."""
    function = SetFunction.symmetric([0, 0, 1, 4])
    for how, holds in (("exact", True), ("greedy", False)):
        rescaling = MarginRescaling(function, search=how)
        if holds:
            check_cut(rescaling, [-1.0] * 3, others=[0.5] * 3)
            continue
        with pytest.raises(LawViolationError, match="exceeds the surrogate by 1 at"):
            check_cut(rescaling, [-1.0] * 3, others=[0.5] * 3)


# ---------------------------------------------------------------- convexity


def test_a_function_that_is_not_convex_is_found():
    with pytest.raises(LawViolationError, match=r"not convex: .* half-way between"):
        check_convex(ByValue(2, lambda m: float(np.minimum(m, 0).sum()), np.zeros_like))


def test_the_lovasz_hinge_of_a_function_that_is_not_submodular_is_found():
    oracle = SetFunction.oracle(lambda A: float(len(A)) ** 2, 3)
    with pytest.raises(LawViolationError, match="not convex"):
        check_convex(LovaszHinge(oracle, "elementwise"))


# ---------------------------------------------------------------- extension and upper bound


@pytest.mark.parametrize("surrogate", [SlackRescaling(DICE), SlackRescaling(DICE, 1.0), B_D(DICE)])
def test_extensions_pass(surrogate):
    check_extension(surrogate, DICE)


def test_a_wrong_extension_is_found_at_its_vertex():
    other = DICE + 0.01 * Hamming(normalize=False).set_function([1, 0, 1, 1, 0])
    with pytest.raises(LawViolationError, match=r"not an extension: .* at the vertex of \[4\], l is"):
        check_extension(B_D(DICE), other)


@pytest.mark.parametrize("curve", ["curve3", "curve4"])
def test_b_d_with_a_negative_f_is_no_extension(curve):
    function = PAPER_CURVES[curve].on_counts(5, 0)
    with pytest.raises(LawViolationError, match="not an extension"):
        check_extension(B_D(function), function)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_upper_bounds_pass(scale):
    for function in (DICE, CURVE, JACCARD):
        check_upper_bound(SlackRescaling(function, scale), function)
        check_upper_bound(MarginRescaling(function, scale), function)
    check_upper_bound(LovaszHinge(JACCARD), JACCARD)


@pytest.mark.parametrize("counts", [(3, 3), (4, 6)])
def test_the_printed_b_d_of_dice_is_found_to_be_no_upper_bound(counts):
    with pytest.raises(LawViolationError, match="the loss of the prediction is"):
        check_upper_bound(B_D(Dice().on_counts(*counts), positive_part="outer"), Dice().on_counts(*counts))


def test_a_surrogate_that_is_too_small_is_found():
    with pytest.raises(LawViolationError, match="the loss of the prediction is"):
        check_upper_bound(0.9 * LovaszHinge(JACCARD), JACCARD)


# ---------------------------------------------------------------- oracles


@pytest.mark.parametrize("rescaling", [SlackRescaling, MarginRescaling])
@pytest.mark.parametrize("how", ["exact", "enumerate", "greedy"])
def test_honest_oracles_pass(rescaling, how):
    check_oracle(rescaling(DICE, 2.0, how))
    check_oracle(rescaling(CURVE, 1.0, how))


FREE_START = CostCurve([(0, 0), (0.5, 0), (1, 1)]).on_counts(4, 0)


@pytest.mark.parametrize("rescaling", [SlackRescaling, MarginRescaling])
def test_a_lying_search_is_found(rescaling, monkeypatch):
    monkeypatch.setitem(search._SEARCHES, "exact", search._greedy)
    with pytest.raises(LawViolationError, match="claims to be exact, but"):
        check_oracle(rescaling(FREE_START))


def test_an_oracle_that_exceeds_the_maximum_is_found():
    with pytest.raises(LawViolationError, match="exceeds the maximum"):
        check_oracle(BoastfulSlack(DICE))
