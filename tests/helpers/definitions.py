"""The surrogates by definition: maxima over all subsets and all permutations in plain Python.

A set function is a dictionary {frozenset: value} as in `reference`; nothing here calls the library's operators.
"""

from functools import cache
from itertools import permutations

import numpy as np
from hypothesis import strategies as st

from helpers.reference import Values, ground
from helpers.strategies import Drawn, any_functions, lists_of
from setloss import SetFunction


def slack_terms(values: Values, m, c):
    """{A: l(A) (1 - c sum_{i in A} m_i)}."""
    return {A: value * (1 - c * sum(m[i] for i in A)) for A, value in values.items()}


def margin_terms(values: Values, m, c):
    """{A: l(A) - c sum_{i in A} m_i}."""
    return {A: value - c * sum(m[i] for i in A) for A, value in values.items()}


def slack(values: Values, m, c=2.0):
    return max(slack_terms(values, m, c).values())


def margin(values: Values, m, c=2.0):
    return max(margin_terms(values, m, c).values())


RESCALINGS = {"SlackRescaling": slack, "MarginRescaling": margin}


def chain_sum(values: Values, order, s):
    """sum_j s_{pi_j} (f({pi_1..pi_j}) - f({pi_1..pi_{j-1}})) for one permutation."""
    total, before = 0.0, frozenset()
    for i in order:
        after = before | {i}
        total += s[i] * (values[after] - values[before])
        before = after
    return total


def largest_chain_sum(values: Values, s):
    """The maximum over all permutations: the printed formula before its positive part."""
    return max(chain_sum(values, order, s) for order in permutations(range(len(ground(values)))))


def lovasz_outer(values: Values, m):
    return max(0.0, largest_chain_sum(values, [1 - x for x in m]))


def lovasz_elementwise(values: Values, m):
    return largest_chain_sum(values, [max(0.0, 1 - x) for x in m])


# ---------------------------------------------------------------- what to try them on


@cache
def margin_vectors(p, low=-3, high=3):
    """Quarters, full of ties and exact in floating point, or any numbers."""
    quarters = st.integers(4 * low, 4 * high).map(lambda k: k / 4)
    numbers = st.floats(low, high, allow_subnormal=False)
    return st.one_of(lists_of(quarters, p), lists_of(numbers, p)).map(np.array)


@st.composite
def nonnegative_functions(draw):
    """One, two or three groups or none at all, with values 0..6."""
    drawn = draw(any_functions())
    function = SetFunction.from_table(np.abs(drawn.function.table), drawn.function.partition)
    return Drawn(function, {A: abs(value) for A, value in drawn.values.items()})


def random_margins(generator, p, samples=20):
    """Margins of all sizes: small, large, shifted to either side, and rounded ones full of ties."""
    points = generator.normal(size=(samples, p)) * generator.choice([0.1, 0.5, 2.0], size=(samples, 1))
    points += generator.choice([-1.0, 0.0, 0.3, 1.0], size=(samples, 1))
    points[::4] = np.round(4 * points[::4]) / 4
    return points
