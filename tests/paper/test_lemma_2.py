"""Lemma 2. Where f = l - D l is increasing, S g = S l - S f.

False: a maximum of differences is not the difference of the maxima. On two elements let l be 1 for one mistake
and 3 for both, so that f = |A| and g = 1 on V only: at margins (1/5, 1/5) S g is 1/5, while S l and S f are
both 3/5. What is true, and all that Theorem 1 needs, is S l <= S f + S g.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import margin_vectors, plus, slack
from helpers.strategies import submodular_functions, supermodular_functions
from setloss import SetFunction, decompose, is_increasing
from setloss.operators import SlackRescaling


def test_counter_example():
    loss = SetFunction.symmetric([0, 1, 3])
    parts = decompose(loss)
    assert parts.submodular.table.tolist() == [0, 1, 2]
    assert parts.supermodular.table.tolist() == [0, 0, 1]
    assert is_increasing(parts.submodular)
    margins = [0.2, 0.2]
    S_l, S_f, S_g = (SlackRescaling(h)(margins) for h in (loss, parts.submodular, parts.supermodular))
    assert (S_l, S_f, S_g) == pytest.approx((0.6, 0.6, 0.2))
    by_hand = [slack(reference.values_of(h), margins) for h in (loss, parts.submodular)]
    assert by_hand == pytest.approx([S_l, S_f])


cases = st.integers(1, 4).flatmap(
    lambda p: st.tuples(submodular_functions(p, p), supermodular_functions(p, p), margin_vectors(p))
)


@given(cases, st.sampled_from([1.0, 2.0]))
def test_slack_is_subadditive(case, scale):
    f, g, margins = case[0].values, case[1].values, case[2]
    left = slack(plus(f, g), margins, scale)
    assert left <= slack(f, margins, scale) + slack(g, margins, scale) + 1e-9
