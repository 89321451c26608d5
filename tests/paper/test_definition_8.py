"""Definition 8, the Lovász hinge, as printed: one positive part around the whole sum.

It is convex, and on the unit cube it is the Lovász extension (for f >= 0). It does not bound the loss of the
prediction, not even for the Hamming loss: two elements with margins -1 and 5 give slacks 2 and -4, a printed
hinge of 0, and one mistake. (The support vector machine that the paper calls "0-1" takes the positive part of
every slack.) For increasing f the library therefore takes it element by element, which is convex and an upper
bound. For other f only the printed form is convex, and B_D of Dice inherits the defect on mixed sets.

The monotone closure f_up <= f repairs the bound of f_up, not that of f: with ``monotone=True`` B_D bounds
f_up + g, which is positive wherever f_up is; on the vertices it falls short of l by f - f_up.
"""

import numpy as np
import pytest
from hypothesis import given

from helpers import reference
from helpers.definitions import lovasz_elementwise, lovasz_outer, with_points
from helpers.strategies import submodular_functions
from setloss import Dice, Hamming, decompose, is_increasing, monotone_closure
from setloss.operators import B_D, Hinge, LovaszHinge
from setloss.testing import LawViolationError, check_upper_bound

cases = with_points(submodular_functions(1, 5))


@given(cases)
def test_the_printed_form(case):
    drawn, margins = case
    found = LovaszHinge(drawn.function, positive_part="outer")(margins)
    assert found == pytest.approx(lovasz_outer(drawn.values, margins), abs=1e-9)


@given(cases)
def test_the_elementwise_form_bounds_an_increasing_function(case):
    drawn, margins = case
    if not is_increasing(drawn.function):
        return
    found = LovaszHinge(drawn.function)(margins)
    assert found == pytest.approx(lovasz_elementwise(drawn.values, margins), abs=1e-9)
    assert found >= drawn.values[frozenset(np.flatnonzero(margins <= 0).tolist())] - 1e-9
    assert found >= lovasz_outer(drawn.values, margins) - 1e-9


def test_the_printed_hinge_of_hamming_is_not_the_hinge():
    hamming = Hamming(normalize=False).on_counts(2, 0)
    margins = [-1.0, 5.0]
    assert lovasz_outer(reference.values_of(hamming), margins) == 0
    assert LovaszHinge(hamming, positive_part="outer")(margins) == 0
    assert Hinge(2)(margins) == 2
    assert hamming(np.array([True, False])) == 1


MARGINS = np.array([-0.1, 3.0, 3.0, 3.0, 3.0, 3.0])
"""Three positives, three negatives; all are right by a wide margin except for the first positive."""


def test_b_d_of_dice_is_zero_on_a_wrong_prediction():
    dice = Dice().on_counts(3, 3)
    f = decompose(dice).submodular
    assert not is_increasing(f)
    assert f.at(2, 3) == pytest.approx(0.6142857, abs=1e-6)
    assert f.at(3, 3) == pytest.approx(0.6)
    assert B_D(dice)(MARGINS) == 0
    assert dice(MARGINS <= 0) == pytest.approx(0.2)
    with pytest.raises(LawViolationError, match="the loss of the prediction is"):
        check_upper_bound(B_D(dice), dice)


def test_the_monotone_closure_sees_the_mistake():
    assert B_D(Dice().on_counts(3, 3), monotone=True)(MARGINS) == pytest.approx(0.22)


def test_but_it_bounds_the_closure_only():
    """Two false negatives and three false positives: l = 5/7, and f is above its closure by 1/70."""
    dice = Dice().on_counts(3, 3)
    parts = decompose(dice)
    closure = monotone_closure(parts.submodular)
    A = np.array([True, True, False, True, True, True])
    assert dice(A) == pytest.approx(5 / 7)
    assert B_D(dice, monotone=True)(1.0 - A) == pytest.approx(5 / 7 - 1 / 70)
    assert parts.submodular(A) - closure(A) == pytest.approx(1 / 70)
    check_upper_bound(B_D(dice, monotone=True), closure + parts.supermodular)
    with pytest.raises(LawViolationError):
        check_upper_bound(B_D(dice, monotone=True), dice)
