"""The paper's definitions by enumeration: surrogates, the optima of D, the convex closure.

A set function is a dictionary {frozenset: value} as in `reference`; nothing here calls the library's operators.
"""

from functools import cache
from itertools import permutations

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers import reference
from helpers.reference import Values, ground
from helpers.strategies import Drawn, any_functions, lists_of
from setloss import SetFunction


def function_of(values):
    """The same values as a general `SetFunction`."""
    return SetFunction.from_values([values[A] for A in reference.subsets(len(reference.ground(values)))])


def difference(left, right):
    return {A: left[A] - right[A] for A in left}


def modular(rates):
    return {A: float(sum(rates[i] for i in A)) for A in reference.subsets(len(rates))}


def plus(left, right):
    return {A: left[A] + right[A] for A in left}


def singletons(values):
    return [values[frozenset({i})] for i in range(len(reference.ground(values)))]


# ---------------------------------------------------------------- Definitions 7 and 8


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


def lovasz_hinge(values, margins):
    increasing = reference.increasing_excess(values) <= 1e-9
    return (lovasz_elementwise if increasing else lovasz_outer)(values, margins)


def convex_closure(values, u):
    """min of sum_A t_A l(A) over the ways to write u as a mixture of the vertices 1_A."""
    sets = list(values)
    rows = np.array([[1.0] * len(sets), *([float(i in A) for A in sets] for i in range(len(u)))])
    answer = linprog([values[A] for A in sets], A_eq=rows, b_eq=[1.0, *u], bounds=(0, None), method="highs")
    assert answer.status == 0, answer.message
    return answer.fun


# ---------------------------------------------------------------- Definition 6


def optimal_face_width(values, directions=2):
    """How far two minimisers of D's program can be apart in one cell; 0 says that D is unique.

    Random objectives over the optimal face, first in one direction and then in the other.
    """
    matrix, required, bounds = reference.program_over(values)
    _, minimum = reference.brute_force_program(values)
    rows = np.vstack([-matrix, np.ones(len(values))])
    limits = np.append(-required, minimum + 1e-10 * max(1.0, minimum))
    generator = np.random.default_rng(0)
    width = 0.0
    for _ in range(directions):
        objective = generator.normal(size=len(values))
        ends = [linprog(s * objective, A_ub=rows, b_ub=limits, bounds=bounds, method="highs") for s in (1, -1)]
        assert all(end.status == 0 for end in ends)
        width = max(width, float(np.abs(ends[0].x - ends[1].x).max()))
    return width


def printed_weights(g):
    """Equation 10 to the letter, A over all subsets of V."""
    return [-min(g[A | {j}] - g[A] for A in g) for j in sorted(reference.ground(g))]


def weights_without_j(g):
    """Equation 10 with A over the subsets that do not contain j."""
    return [-min(g[A | {j}] - g[A] for A in g if j not in A) for j in sorted(reference.ground(g))]


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


@cache
def cube_points(p):
    """Margins of the unit cube: multiples of 1/8 in [0, 1]."""
    return st.lists(st.integers(0, 8), min_size=p, max_size=p).map(lambda k: np.array(k) / 8)
