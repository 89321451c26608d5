"""Surrogates, D's optimal face and the convex closure by enumeration, straight from the paper's definitions.

Set functions are dictionaries {frozenset: value} as in `reference`; nothing here calls the library.
"""

from functools import cache

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers import reference
from helpers.definitions import lovasz_elementwise as elementwise_lovasz_hinge
from helpers.definitions import lovasz_outer as printed_lovasz_hinge
from helpers.definitions import margin_vectors as margin_vectors
from helpers.definitions import slack as slack_rescaling
from setloss import SetFunction

__all__ = ["margin_vectors", "slack_rescaling"]


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


def lovasz_hinge(values, margins):
    increasing = reference.increasing_excess(values) <= 1e-9
    return (elementwise_lovasz_hinge if increasing else printed_lovasz_hinge)(values, margins)


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


# ---------------------------------------------------------------- strategies


@cache
def cube_points(p):
    """Margins of the unit cube: multiples of 1/8 in [0, 1]."""
    return st.lists(st.integers(0, 8), min_size=p, max_size=p).map(lambda k: np.array(k) / 8)
