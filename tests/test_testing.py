"""The public law checkers: each passes on a right object and fails on one that is wrong on purpose."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from helpers.reference import masks
from setloss import Dice, Hamming, Jaccard, SetFunction, decompose
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, Cut, Hinge, LovaszHinge, MarginRescaling, SlackRescaling, Surrogate
from setloss.setfunctions.counts import Table
from setloss.testing import (
    LawViolationError,
    check_convex,
    check_cut,
    check_decomposition,
    check_extension,
    check_operator,
    check_set_function,
    check_upper_bound,
)

DICE = Dice().set_function([1, 0, 1, 1, 0])
CURVE = PAPER_CURVES["curve1"].on_counts(5, 0)
JACCARD = Jaccard().on_counts(2, 2)


def found(message):
    """The check inside must fail and say so."""
    return pytest.raises(LawViolationError, match=message)


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
    """A surrogate of one's own: a function of two margins whose cuts are flat."""

    value: object
    p: int = 2

    def cut_ordered(self, ordered):
        return Cut(-1.0, np.zeros(2))

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


# ---------------------------------------------------------------- set functions

LYING = SetFunction(Table(np.array([0.0, 0.0, 1.0]), {"submodular": True}), np.zeros(2, dtype=int))
"""A closed form that claims a law: the checker enumerates instead of trusting it."""


def test_laws_that_hold_pass():
    check_set_function(JACCARD, ["submodular", "increasing", "non-negative"])
    check_set_function(Hamming().on_counts(2, 3), ["modular", "symmetric", "supermodular"])
    check_set_function(SetFunction.from_values([0, 1, 2, 1]))


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (DICE, "submodular"),
        (DICE, "supermodular"),
        (JACCARD, "modular"),
        (JACCARD, "symmetric"),
        (SetFunction.symmetric([0, 1, 0]), "increasing"),
        (SetFunction.symmetric([0, -1, 0]), "non-negative"),
        (LYING, "submodular"),
    ],
)
def test_laws_that_fail_are_named(function, law):
    with found(f"{law}: no"):
        check_set_function(function, [law])


def test_wrong_increments_and_chains_are_found():
    values, partition = np.array([0.0, 1.0, 3.0]), np.zeros(2, dtype=int)
    with found("gains"):
        check_set_function(SetFunction(WrongSteps(values), partition))
    with found("along.* differ by 3"):
        check_set_function(WrongChain(Table(values), partition))
    with pytest.raises(ValueError, match="there is no law 'convex'; the laws are submodular, supermodular"):
        check_set_function(DICE, ["convex"])


# ---------------------------------------------------------------- decompositions


@pytest.mark.parametrize(
    ("from_f", "to_g", "message"),
    [
        ([0, 0, 0.01, 0, 0, 0], [0] * 6, r"f \+ g and l differ by 0.01"),
        ([0, 0.1, 0.2, 0.3, 0.4, 0.5], None, "g on single elements and 0 differ by 0.1"),
        ([0, 0, 0.1, 0.1, 0.1, 0.1], None, "the supermodular part is not supermodular: no"),
        ([0, 0, 0, 0, 0, -0.01], None, "the submodular part is not submodular: no"),
    ],
)
def test_parts_that_do_not_add_up_or_break_a_law_are_found(from_f, to_g, message):
    parts = decompose(CURVE)
    check_decomposition(parts)
    f = SetFunction.symmetric(parts.submodular.table - from_f)
    g = SetFunction.symmetric(parts.supermodular.table + (from_f if to_g is None else to_g))
    with found(message):
        check_decomposition(replace(parts, submodular=f, supermodular=g))


def test_a_part_that_is_not_the_least_and_a_certificate_that_does_not_hold_are_found():
    parts = decompose(DICE)
    more = SetFunction.symmetric([0, 0, 1, 3, 6, 10])
    with found("the supermodular part is not D's: feasible, not optimal"):
        check_decomposition(
            replace(parts, supermodular=parts.supermodular + more, submodular=parts.submodular - more)
        )
    worse = replace(parts.certificate, column_residual=0.5)
    with found("the certificate does not hold: NOT certified"):
        check_decomposition(replace(parts, certify=lambda: worse))


# ---------------------------------------------------------------- cuts, operators and convexity


def test_right_surrogates_pass_everything_they_claim():
    for surrogate in (B_D(DICE, monotone=True), 2 * (B_D(DICE) + 0.5 * Hinge(5))):
        for margins in (np.zeros(5), np.linspace(-1, 2, 5)):
            check_cut(surrogate, margins)
        check_convex(surrogate)


def test_the_slack_cut_of_the_released_code_is_found():
    """Its slope lacks the factor l(A) (design, section 7): its planes are no minorants."""
    released = Tampered(
        SlackRescaling(DICE), lambda cut: Cut(cut.offset, np.where(cut.slope > 0, 2.0, 0.0), cut.exact)
    )
    with found(r"the cut is 2.25 where the surrogate is 0.75"):
        check_cut(released, [2.0, -0.5, 2.0, 2.0, -0.5])


@pytest.mark.parametrize("factor", [-1.0, 0.9, 1.1])
def test_a_slope_that_is_off_is_found(factor):
    wrong = Tampered(SlackRescaling(DICE), lambda cut: Cut(cut.offset, factor * cut.slope))
    with found("where the surrogate is"):
        check_cut(wrong, np.full(5, 0.1))
    with found("exceeds the surrogate"):
        check_cut(wrong, np.zeros(5), 0.01 * np.where(masks(5), 1, -1))
    with found("exceeds the surrogate"):
        check_cut(wrong, np.zeros(5))


def test_an_operator_that_does_not_commute_with_counts_is_found():
    check_operator(B_D, Jaccard())
    with found("at 2 positives and 1 negatives the operator of the loss"):
        check_operator(lambda loss: SlackRescaling(loss, 1.0 if isinstance(loss, SetFunction) else 2.0), Jaccard())


def test_functions_that_are_not_convex_are_found():
    with found(r"not convex: .* half-way between"):
        check_convex(ByValue(lambda m: float(np.minimum(m, 0).sum())))
    short = ByValue(lambda m: float(-np.abs(m).min() if np.abs(m).max() < 1 else 0.0))
    with found("not convex"):
        check_convex(short)


# ---------------------------------------------------------------- extension and upper bound


def test_wrong_extensions_are_found_at_their_vertex():
    other = DICE + 0.01 * Hamming(normalize=False).set_function([1, 0, 1, 1, 0])
    check_extension(B_D(DICE), DICE)
    with found(r"not an extension: .* at the vertex of \[4\], l is"):
        check_extension(B_D(DICE), other)
    function = PAPER_CURVES["curve3"].on_counts(5, 0)  # f < 0 somewhere
    with found("not an extension"):
        check_extension(B_D(function), function)


def test_the_printed_b_d_of_dice_and_what_is_too_small_are_found_to_be_no_upper_bounds():
    check_upper_bound(MarginRescaling(DICE, 1.0), DICE)
    with found("the loss of the prediction is"):
        check_upper_bound(0.9 * LovaszHinge(JACCARD), JACCARD)
    function = Dice().on_counts(4, 6)
    with found("the loss of the prediction is"):
        check_upper_bound(B_D(function, positive_part="outer"), function)
