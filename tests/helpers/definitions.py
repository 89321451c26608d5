"""The paper's definitions by enumeration: surrogates, and the optima of D.

A set function is a dictionary {frozenset: value} as in `reference`, or the array of its values in the order of
`reference.subsets`; nothing here calls the library's operators.
"""

from functools import cache

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers import reference
from helpers.reference import Values, ground, masks, subsets
from helpers.strategies import lists_of
from setloss import SetFunction


def function_of(values):
    """The same values as a general `SetFunction`."""
    return SetFunction.from_values([values[A] for A in subsets(len(ground(values)))])


def difference(left, right):
    return {A: left[A] - right[A] for A in left}


def modular(rates):
    return {A: float(sum(rates[i] for i in A)) for A in subsets(len(rates))}


def plus(left, right):
    return {A: left[A] + right[A] for A in left}


def singletons(values):
    return [values[frozenset({i})] for i in range(len(ground(values)))]


# ---------------------------------------------------------------- Definitions 7 and 8: values and slopes of cuts


def on_all_sets(values):
    """The values in the order of `reference.masks`; an array has that order."""
    return values if isinstance(values, np.ndarray) else np.array([values[A] for A in subsets(len(ground(values)))])


def slack_cut(values, m, c=2.0):
    """max_A l(A) (1 - c sum_{i in A} m_i)."""
    losses, sets = on_all_sets(values), masks(len(m))
    terms = losses * (1 - c * (sets @ m))
    worst = np.argmax(terms)
    return terms[worst], c * losses[worst] * sets[worst]


def margin_cut(values, m, c=2.0):
    """max_A l(A) - c sum_{i in A} m_i."""
    sets = masks(len(m))
    terms = on_all_sets(values) - c * (sets @ m)
    worst = np.argmax(terms)
    return terms[worst], c * sets[worst].astype(float)


def largest_chain(values, s):
    """max over all permutations of sum_j s_{pi_j} (f({pi_1..pi_j}) - f({pi_1..pi_{j-1}})), and the weights of s.

    A longest path in the lattice of subsets: the best way to a set comes from one with an element less.
    """
    losses, bits = on_all_sets(values), 1 << np.arange(len(s))[::-1]
    best, last = np.append(0.0, np.full(len(losses) - 1, -np.inf)), np.zeros(len(losses), dtype=int)
    for A in range(1, len(losses)):
        for i, bit in enumerate(bits):
            if A & bit:
                total = best[A ^ bit] + s[i] * (losses[A] - losses[A ^ bit])
                if total > best[A]:
                    best[A], last[A] = total, i
    gains, A = np.zeros(len(s)), len(losses) - 1
    while A:
        i = last[A]
        gains[i] = losses[A] - losses[A ^ bits[i]]
        A ^= bits[i]
    return best[-1], gains


def lovasz_cut(values, m, elementwise=None):
    """L with the positive part of every element, as increasing functions have it, or of the whole maximum."""
    s = 1 - np.asarray(m)
    losses = on_all_sets(values)
    if elementwise is None:
        cube = losses.reshape((2,) * len(s))
        elementwise = all(np.diff(cube, axis=i).min() >= -1e-9 for i in range(len(s)))
    if elementwise:
        value, gains = largest_chain(losses, np.maximum(s, 0))
        return value, np.where(s > 0, gains, 0.0)
    value, gains = largest_chain(losses, s)
    return (value, gains) if value > 0 else (0.0, np.zeros(len(s)))


def slack(values: Values, m, c=2.0):
    return slack_cut(values, m, c)[0]


def lovasz_outer(values: Values, m):
    return lovasz_cut(values, m, elementwise=False)[0]


def lovasz_elementwise(values: Values, m):
    return lovasz_cut(values, m, elementwise=True)[0]


def lovasz_hinge(values: Values, m):
    return lovasz_cut(values, m)[0]


# ---------------------------------------------------------------- Definition 6


def optimal_face_width(values):
    """How far two minimisers of D's program can be apart in one cell; 0 says that D is unique.

    Two random objectives over the optimal face, each in one direction and then in the other.
    """
    matrix, required, bounds = reference.program_over(values)
    _, minimum = reference.brute_force_program(values)
    rows = np.vstack([-matrix, np.ones(len(values))])
    limits = np.append(-required, minimum + 1e-10 * max(1.0, minimum))
    generator = np.random.default_rng(0)
    width = 0.0
    for _ in range(2):
        objective = generator.normal(size=len(values))
        ends = [linprog(s * objective, A_ub=rows, b_ub=limits, bounds=bounds, method="highs") for s in (1, -1)]
        assert all(end.status == 0 for end in ends)
        width = max(width, float(np.abs(ends[0].x - ends[1].x).max()))
    return width


def printed_weights(g):
    """Equation 10 to the letter, A over all subsets of V."""
    return [-min(g[A | {j}] - g[A] for A in g) for j in sorted(ground(g))]


def weights_without_j(g):
    """Equation 10 with A over the subsets that do not contain j."""
    return [-min(g[A | {j}] - g[A] for A in g if j not in A) for j in sorted(ground(g))]


# ---------------------------------------------------------------- what to try them on


@cache
def margin_vectors(p):
    """Quarters, full of ties and exact in floating point, or any numbers."""
    quarters = st.integers(-12, 12).map(lambda k: k / 4)
    numbers = st.floats(-3, 3, allow_subnormal=False)
    return st.one_of(lists_of(quarters, p), lists_of(numbers, p)).map(np.array)


def random_margins(generator, p, samples=20):
    """Margins of all sizes: small, large, shifted to either side, and rounded ones full of ties."""
    points = generator.normal(size=(samples, p)) * generator.choice([0.1, 0.5, 2.0], size=(samples, 1))
    points += generator.choice([-1.0, 0.0, 0.3, 1.0], size=(samples, 1))
    points[::4] = np.round(4 * points[::4]) / 4
    return points


def with_points(functions, number=1, points=margin_vectors):
    """A function from a strategy, and as many points over its elements."""
    return functions.flatmap(
        lambda drawn: st.tuples(st.just(drawn), *[points(drawn.function.p) for _ in range(number)])
    )
