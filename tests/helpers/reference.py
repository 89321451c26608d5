"""The judge: set functions as plain dictionaries {frozenset: value}, everything by enumeration.

Nothing here calls the library's own mathematics; p <= 8 throughout.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

Values = dict[frozenset, float]


# ---------------------------------------------------------------- sets and masks


@cache
def subsets(p):
    """All subsets of {0..p-1} in the C order of a (2,)*p array: element 0 is the leading bit."""
    return tuple(frozenset(i for i in range(p) if k >> (p - 1 - i) & 1) for k in range(2**p))


def mask_of(subset, p):
    return np.array([i in subset for i in range(p)], dtype=bool)


@cache
def masks(p):
    """The masks of all subsets."""
    return np.array([mask_of(A, p) for A in subsets(p)]).reshape(2**p, p)


def values_of(function) -> Values:
    """Read a `SetFunction` on every subset."""
    return dict(zip(subsets(function.p), function(masks(function.p)).tolist(), strict=True))


def values_of_table(table, groups) -> Values:
    """l(A) = table[number of elements of A in each group]."""
    table, k = np.asarray(table), np.ndim(table)
    return {A: float(table[tuple(sum(groups[i] == b for i in A) for b in range(k))]) for A in subsets(len(groups))}


def ground(values: Values):
    return max(values, key=len)


# ---------------------------------------------------------------- laws by definition


@cache
def pairs_outside(V):
    """(A, i, j) for all A and i < j outside A, with A+i+j, A+i and A+j."""
    below = [frozenset(members) for size in range(len(V) + 1) for members in combinations(sorted(V), size)]
    return [((A, i, j), A | {i, j}, A | {i}, A | {j}, A) for A in below for i, j in combinations(sorted(V - A), 2)]


def second_differences(values: Values):
    """{(A, i, j): l(A+i+j) - l(A+i) - l(A+j) + l(A)} over all A and i < j outside A."""
    return {
        place: values[both] - values[one] - values[other] + values[A]
        for place, both, one, other, A in pairs_outside(ground(values))
    }


def submodular_excess(values: Values):
    return max(second_differences(values).values(), default=0.0)


def supermodular_excess(values: Values):
    return max((-d for d in second_differences(values).values()), default=0.0)


def modular_excess(values: Values):
    return max(submodular_excess(values), supermodular_excess(values))


def symmetric_excess(values: Values):
    V = ground(values)
    return max((abs(values[A | {i}] - values[A | {j}]) for A in values for i in V - A for j in V - A), default=0.0)


def increasing_excess(values: Values):
    V = ground(values)
    return max((values[A] - values[A | {i}] for A in values for i in V - A), default=0.0)


def negative_excess(values: Values):
    return max(-value for value in values.values())


EXCESS = {
    "submodular": submodular_excess,
    "supermodular": supermodular_excess,
    "modular": modular_excess,
    "symmetric": symmetric_excess,
    "increasing": increasing_excess,
    "non-negative": negative_excess,
}


def monotone_closure(values: Values) -> Values:
    return {A: min(value for B, value in values.items() if A <= B) for A in values}


# ---------------------------------------------------------------- losses of two sets of positives


def tversky_loss(truth: set, predicted: set, a, b, zero_division=1):
    """1 - TP / (TP + a FP + b FN) from the sets themselves, exactly."""
    a, b = Fraction(a), Fraction(b)
    bottom = len(truth & predicted) + a * len(predicted - truth) + b * len(truth - predicted)
    return 1 - (Fraction(zero_division) if bottom == 0 else len(truth & predicted) / bottom)


def tversky_values(m, q, a, b):
    """The loss of (false negatives, false positives) with m positives, {0..m-1}, and q negatives."""
    truth, everything = frozenset(range(m)), subsets(m + q)
    return {A: float(tversky_loss(truth, truth ^ A, a, b)) for A in everything}


# ---------------------------------------------------------------- the linear program of D over all subsets


def brute_force_program(values: Values, objective=None):
    """Minimise sum_A objective(A) g(A) over the feasible g of D, by default the plain sum: (g, minimum)."""
    sets = tuple(values)
    matrix, required, bounds = program_over(values)
    weights = np.ones(len(sets)) if objective is None else objective
    if not len(required):
        return dict.fromkeys(sets, 0.0), 0.0
    result = linprog(weights, A_ub=-matrix, b_ub=-required, bounds=bounds, method="highs")
    assert result.status == 0, result.message
    return dict(zip(sets, result.x.tolist(), strict=True)), float(result.fun)


def program_over(values: Values):
    """(K, r, bounds) of D's program: K g >= r says that g is supermodular and l - g submodular."""
    required = np.maximum(0.0, list(second_differences(values).values()))
    return bends_of(tuple(values)), required, [(0, None) if A else (0, 0) for A in values]


@cache
def bends_of(sets):
    """The matrix that takes second differences of the values on these sets."""
    place = {A: k for k, A in enumerate(sets)}
    pairs = pairs_outside(max(sets, key=len))
    matrix = np.zeros((len(pairs), len(sets)))
    for row, (_, both, one, other, A) in enumerate(pairs):
        matrix[row, [place[both], place[A]]] = 1
        matrix[row, [place[one], place[other]]] = -1
    return matrix


def infeasibility(values: Values, g: Values):
    """How far g is from supermodular, non-negative, g(empty) = 0 and l - g submodular."""
    f = {A: values[A] - g[A] for A in values}
    return max(supermodular_excess(g), submodular_excess(f), negative_excess(g), abs(g[frozenset()]))
