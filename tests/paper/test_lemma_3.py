"""Lemma 3. Dice restricted to false negatives is neither submodular nor supermodular.

False as worded. With the false positives fixed at any number q the loss (n + q) / (2m - n + q) is convex in the
number n of false negatives, so the restriction is supermodular. The proof compares sets that differ in their
false positives too; that does not show the lemma, but it shows Proposition 6.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from setloss import Dice, SetFunction, is_submodular, is_supermodular


@pytest.mark.parametrize("positives", [2, 3, 10])
@pytest.mark.parametrize("false_positives", [0, 1, 5, 8])
def test_the_restriction_is_supermodular(positives, false_positives):
    m, q = positives, false_positives
    curve = [Fraction(n + q, 2 * m - n + q) for n in range(m + 1)]
    gains = [after - before for before, after in pairwise(curve)]
    assert all(later > earlier for earlier, later in pairwise(gains))

    column = Dice().on_counts(m, 8).table[:, q]
    np.testing.assert_allclose(column, np.array(curve, dtype=float), rtol=1e-14)
    restriction = SetFunction.symmetric(column - column[0])
    assert is_supermodular(restriction)
    assert not is_submodular(restriction)


@pytest.mark.parametrize("false_negatives", [0, 1, 9])
def test_the_restriction_to_false_positives_is_submodular(false_negatives):
    row = Dice().on_counts(10, 8).table[false_negatives]
    assert is_submodular(SetFunction.symmetric(row - row[0]))
