"""Hypothesis strategies that draw set functions together with their values on all subsets.

All values are small integers (as floats), so that verdicts are exact and never a matter of tolerance. Strategies
that depend on a size are made once for it: Hypothesis looks through every new one, which takes longer than a draw.
"""

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st

from helpers import reference
from helpers.reference import Values
from setloss import SetFunction

INTEGERS = st.integers(-6, 6)
WEIGHTS = st.integers(0, 3)
SOME_OF_SIX = st.frozensets(st.integers(0, 5))


@dataclass
class Drawn:
    """A set function and its values by enumeration."""

    function: SetFunction
    values: Values


def drawn(values: Values) -> Drawn:
    """The function without groups that has these values."""
    flat = [values[A] for A in reference.subsets(len(reference.ground(values)))]
    return Drawn(SetFunction.from_values(flat), values)


@cache
def lists_of(elements, size):
    """Lists of one length."""
    return st.lists(elements, min_size=size, max_size=size)


@cache
def integer_array(shape, elements=INTEGERS):
    """Float arrays of whole numbers with 0 in the first place."""

    def build(numbers):
        array = np.array(numbers, dtype=np.float64).reshape(shape)
        array.flat[0] = 0.0
        return array

    return lists_of(elements, int(np.prod(shape))).map(build)


# ---------------------------------------------------------------- by representation


@st.composite
def symmetric_functions(draw, min_p=1, max_p=6):
    p = draw(st.integers(min_p, max_p))
    curve = draw(integer_array((p + 1,)))
    return Drawn(SetFunction.symmetric(curve), {A: float(curve[len(A)]) for A in reference.subsets(p)})


@cache
def group_sizes(k, max_size, max_p):
    """The sizes of k groups that have an element between them."""
    return st.sampled_from([s for s in product(range(max_size + 1), repeat=k) if 1 <= sum(s) <= max_p])


orders_of = cache(st.permutations)


@st.composite
def grouped_functions(draw, k=2, max_size=3, max_p=6):
    """A random table over k groups, some of them perhaps empty, whose elements are interleaved at random."""
    sizes = draw(group_sizes(k, max_size, max_p))
    table = draw(integer_array(tuple(n + 1 for n in sizes)))
    groups = draw(orders_of(tuple(np.repeat(np.arange(k), sizes).tolist())))
    return Drawn(SetFunction.from_table(table, groups), reference.values_of_table(table, groups))


@st.composite
def general_functions(draw, min_p=1, max_p=5):
    p = draw(st.integers(min_p, max_p))
    array = draw(integer_array((2**p,)))
    return drawn(dict(zip(reference.subsets(p), array.tolist(), strict=True)))


@cache
def any_functions():
    return st.one_of(
        symmetric_functions(), grouped_functions(k=2), grouped_functions(k=3, max_size=2), general_functions()
    )


# ---------------------------------------------------------------- by law


@st.composite
def coverage_functions(draw, p):
    """|union of S_i over A|: submodular, increasing, non-negative."""
    covers = draw(lists_of(SOME_OF_SIX, p))
    return drawn({A: float(len(frozenset().union(*(covers[i] for i in A)))) for A in reference.subsets(p)})


@st.composite
def cut_functions(draw, p):
    """Weight of the edges that leave A in a random directed graph: submodular, non-negative, zero on V."""
    weights = np.array(draw(lists_of(WEIGHTS, p * p))).reshape(p, p)
    masks = reference.masks(p).astype(int)
    values = np.einsum("ai,ij,aj->a", masks, weights, 1 - masks).astype(float)
    return drawn(dict(zip(reference.subsets(p), values.tolist(), strict=True)))


@cache
def submodular_functions_of(p):
    return st.one_of(coverage_functions(p), cut_functions(p))


@cache
def submodular_functions(min_p=1, max_p=5):
    return st.integers(min_p, max_p).flatmap(submodular_functions_of)


@cache
@st.composite
def supermodular_functions(draw, min_p=1, max_p=5):
    """Non-negative weights on pairs and triples, plus any modular function: all second differences are >= 0."""
    p = draw(st.integers(min_p, max_p))
    blocks = [frozenset(c) for size in (1, 2, 3) for c in combinations(range(p), size)]
    rates = [*draw(lists_of(INTEGERS, p)), *draw(lists_of(WEIGHTS, len(blocks) - p))]
    weights = dict(zip(blocks, map(float, rates), strict=True))
    return drawn({A: sum(weight for S, weight in weights.items() if S <= A) + 0.0 for A in reference.subsets(p)})


# ---------------------------------------------------------------- cost curves


def random_curve(generator):
    """Knots and a set size: on whole mistakes or anywhere, rough, rounded, straight, flat, huge or tiny."""
    p, inner = int(generator.integers(2, 41)), int(generator.integers(0, 6))
    if generator.random() < 0.5:
        places = generator.permutation(np.arange(1, p))[:inner] / p
    else:
        places = np.round(generator.random(inner), int(generator.choice([2, 17])))
    shares = np.unique(np.concatenate(([0.0], places[(places > 0) & (places < 1)], [1.0])))
    n = len(shares)
    rough, whole = generator.random(n), generator.integers(0, 3, n).astype(float)
    kinds = [rough, np.round(rough, 2), whole, 0.7 * shares, shares**2, np.sqrt(shares)]
    costs = kinds[generator.integers(len(kinds))] * float(generator.choice([1.0, 1.0, 1e6, 1e-9]))
    costs[0] = 0.0
    return np.column_stack([shares, costs]).tolist(), p
