"""Theorem 4. B_D l agrees with l on the vertices of the unit cube if and only if f = l - D l is non-negative.

Holds, in both directions: at the vertex of A, S g = g(A) and L f = max(0, f(A)). Where f is negative B_D stands
above l by -f(A). B_D extends Dice and the paper's losses 1 and 2, and not losses 3 and 4. The factor c of slack
rescaling has to be at least 1 (2 as printed).
"""

import numpy as np
import pytest
from hypothesis import given

from helpers import reference
from helpers.strategies import any_functions
from setloss import Dice, SetFunction, decompose, loss_named
from setloss.operators import B_D, SlackRescaling
from setloss.testing import LawViolationError, check_extension


def vertex(A, p):
    """The margins at which exactly the elements of A have slack 1, the others slack 0."""
    return 1.0 - reference.mask_of(A, p)


def extends(surrogate, values, tolerance=1e-6):
    p = len(reference.ground(values))
    return all(abs(surrogate(vertex(A, p)) - value) <= tolerance for A, value in values.items())


@given(any_functions())
def test_extension_iff_f_is_non_negative(drawn):
    f = reference.values_of(decompose(drawn.function).submodular)
    surrogate = B_D(drawn.function)
    assert extends(surrogate, drawn.values) == (reference.negative_excess(f) <= 1e-6)
    for A, value in drawn.values.items():
        overshoot = max(0.0, -f[A])
        assert surrogate(vertex(A, drawn.function.p)) == pytest.approx(value + overshoot, abs=1e-6)


@pytest.mark.parametrize(
    ("function", "is_extension"),
    [
        (loss_named("curve1").on_counts(6, 0), True),
        (loss_named("curve2").on_counts(8, 0), True),
        (loss_named("curve3").on_counts(6, 0), False),
        (loss_named("curve4").on_counts(6, 0), False),
        (Dice().on_counts(3, 3), True),
        (Dice().on_counts(6, 0), True),
        (Dice().on_counts(0, 6), True),
    ],
)
def test_the_papers_losses(function, is_extension):
    assert extends(B_D(function), reference.values_of(function)) == is_extension
    if is_extension:
        check_extension(B_D(function), function)
    else:
        with pytest.raises(LawViolationError, match="not an extension"):
            check_extension(B_D(function), function)


def test_loss_3_at_the_vertex_of_all_mistakes():
    """L(V) = 1/3 = f(V) + g(V) = -1/3 + 2/3, and B_D shows g(V) only."""
    loss = loss_named("curve3").on_counts(9, 0)
    assert loss(np.ones(9, dtype=bool)) == pytest.approx(1 / 3)
    assert B_D(loss)(np.zeros(9)) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("scale", "is_extension"), [(5.0, True), (2.0, True), (1.0, True), (0.5, False)])
@pytest.mark.parametrize("increasing", [SetFunction.symmetric([0, 0, 1, 3]), Dice().on_counts(3, 2)])
def test_the_factor_of_slack_rescaling_must_not_be_below_one(increasing, scale, is_extension):
    assert extends(SlackRescaling(increasing, scale), reference.values_of(increasing)) == is_extension
