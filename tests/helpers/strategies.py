"""Hypothesis strategies that draw set functions together with their values on all subsets.

All values are small integers (as floats), so that verdicts are exact and never a matter of tolerance. Strategies
that depend on a size are made once for it: Hypothesis looks through every new one, which takes longer than a draw.
"""

from dataclasses import dataclass, field
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
    arcs = [(i, j) for i in range(p) for j in range(p) if i != j]
    weights = dict(zip(arcs, draw(lists_of(WEIGHTS, len(arcs))), strict=True))
    return drawn(
        {
            A: float(sum(weight for (i, j), weight in weights.items() if i in A and j not in A))
            for A in reference.subsets(p)
        }
    )


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
    blocks = [frozenset(c) for size in (2, 3) for c in combinations(range(p), size)]
    weights = draw(lists_of(WEIGHTS, len(blocks)))
    rates = draw(lists_of(INTEGERS, p))
    return drawn(
        {
            A: float(sum(rates[i] for i in A) + sum(w for w, S in zip(weights, blocks, strict=True) if S <= A))
            for A in reference.subsets(p)
        }
    )


@dataclass
class Mixture(Drawn):
    """l = f + g with D's answer known: g without its modular part, `supermodular`."""

    supermodular: Values = field(default_factory=dict)


@st.composite
def block_mixtures(draw, max_p=6):
    """Submodular on the first elements, supermodular on the others, no interaction: D l is read off."""
    left = draw(submodular_functions(1, max_p - 2))
    p_left = left.function.p
    right = draw(supermodular_functions(2, max_p - p_left)).values
    values, known = {}, {}
    for A in reference.subsets(p_left + len(reference.ground(right))):
        low, high = frozenset(i for i in A if i < p_left), frozenset(i - p_left for i in A if i >= p_left)
        values[A] = left.values[low] + right[high]
        known[A] = right[high] - sum(right[frozenset({i})] for i in high)
    return Mixture(drawn(values).function, values, known)


# ---------------------------------------------------------------- labels

ALPHABETS = ("bool", "0/1 int", "0/1 float32", "-1/+1 int", "-1/+1 float")


@st.composite
def label_vectors(draw, min_p=1, max_p=8, size=None):
    """(boolean truth, the same labels written in one of the alphabets)."""
    length = size if size is not None else draw(st.integers(min_p, max_p))
    truth = np.array(draw(lists_of(st.booleans(), length)), dtype=bool)
    return truth, spelled(truth, draw(st.sampled_from(ALPHABETS)))


def spelled(truth, alphabet):
    """A boolean label vector in the given alphabet."""
    return {
        "bool": truth,
        "0/1 int": truth.astype(np.int64),
        "0/1 float32": truth.astype(np.float32),
        "-1/+1 int": np.where(truth, 1, -1),
        "-1/+1 float": np.where(truth, 1.0, -1.0),
    }[alphabet]


@st.composite
def truths_and_predictions(draw, max_p=8):
    labels = label_vectors(size=draw(st.integers(1, max_p)))
    return draw(labels), draw(labels)
