"""Proposition 6. The Dice loss, as a set function of the mistakes, is neither submodular nor supermodular.

Holds with two or more positives and at least one negative, and only then. The paper's numbers show it: with
m = 10 positives, A with n_A false negatives and 8 false positives, B inside A with one false negative less and
5 false positives, a further false negative costs more on A up to n_A = 4 and more on B from n_A = 5 on.
On bags that are all positive, like the paper's tracks of the leading role, Dice is supermodular; with at most
one positive it is submodular.
"""

from fractions import Fraction

import numpy as np
import pytest

from helpers import reference
from setloss import Dice, is_submodular, is_supermodular

M, P_A, P_B = 10, 8, 5


def gain(n, p):
    """Equations 31 and 32: the cost of one more false negative after n of them and p false positives."""
    return Fraction(2 * M + 2 * p, (2 * M - n + p - 1) * (2 * M - n + p))


def test_the_gains_cross_between_four_and_five_false_negatives():
    on_A = [gain(n_A, P_A) for n_A in range(1, 9)]
    on_B = [gain(n_A - 1, P_B) for n_A in range(1, 9)]
    assert [a > b for a, b in zip(on_A, on_B, strict=True)] == [True] * 4 + [False] * 4
    assert float(on_A[0]) == pytest.approx(0.05128, abs=1e-5)
    assert on_B[0] == Fraction(1, 20)


@pytest.mark.parametrize("n_A", range(1, 9))
def test_the_set_function_has_these_gains(n_A):
    dice = Dice().on_counts(M, P_A)

    def mask(n, p):
        return np.r_[np.arange(M) < n, np.arange(P_A) < p]

    for n, p in ((n_A, P_A), (n_A - 1, P_B)):
        assert dice(mask(n + 1, p)) - dice(mask(n, p)) == pytest.approx(float(gain(n, p)), rel=1e-12)


@pytest.mark.parametrize("positives", range(5))
@pytest.mark.parametrize("negatives", range(4))
def test_neither_needs_two_positives_and_a_negative(positives, negatives):
    if positives + negatives == 0:
        return
    values = reference.tversky_values(positives, negatives, "1/2", "1/2")
    submodular = reference.submodular_excess(values) <= 1e-12
    supermodular = reference.supermodular_excess(values) <= 1e-12
    assert (not submodular and not supermodular) == (positives >= 2 and negatives >= 1)
    if negatives == 0:
        assert supermodular
    if positives <= 1:
        assert submodular
    dice = Dice().on_counts(positives, negatives)
    assert (bool(is_submodular(dice)), bool(is_supermodular(dice))) == (submodular, supermodular)
