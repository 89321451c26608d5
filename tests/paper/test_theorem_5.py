"""Theorem 5. Subgradients of B_D l take polynomial time, given f and g as oracles.

True of L: 2p values of f and a sort. False of S, and hence of B_D, for a supermodular g behind an oracle:

* Subset sum. Let e be one element, w_i > 0 integers for the others, and l(A) = w(A) if e is in A, else 0. l is
  supermodular, non-negative, increasing, and its own D l, so B_D l = S l. At margins w_i / (2T), and 0 for e,
  the value is max_A w(A) (T - w(A)) / T; it is T / 4 iff some of the w_i sum to T / 2. Any subgradient gives
  the value away. So a polynomial algorithm would prove P = NP.
* Without any assumption: the number of pairs |A|(|A| - 1)/2, raised by 1/2 on one hidden set of size p / 2, is
  still supermodular. At margins 2 / (3p - 1) the sets of that size are the worst ones; the hidden one raises S,
  and only asking for its value tells. An algorithm has to ask for all C(p, p/2) of them.

True for tables over counts, where S is exact, for any l, in as many steps as there are cells: p + 1 for
symmetric losses, (m + 1)(r + 1) with m positives and r negatives. So the paper's experiments needed no greedy
search. For p groups of one element the table has 2^p cells and nothing is gained.
"""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.definitions import function_of, slack
from setloss import SetFunction, decompose, from_counts, loss_named, verdicts
from setloss.operators import B_D, LovaszHinge, SlackRescaling

# ---------------------------------------------------------------- subset sum


def with_special_element(weights):
    """l(A) = w(A) if the last element is in A, else 0."""
    special = len(weights)
    return SetFunction.from_callable(
        lambda A: float(sum(weights[i] for i in A if i != special)) if special in A else 0.0, special + 1
    )


def reduction_margins(weights, total):
    return np.array([*weights, 0]) / (2 * total)


weight_lists = st.lists(st.integers(1, 30), min_size=1, max_size=7)


@given(weight_lists.filter(lambda w: len(w) <= 4))
def test_the_function_is_as_tame_as_d_can_make_it(weights):
    loss = with_special_element(weights)
    values = reference.values_of(loss)
    for law in ("supermodular", "increasing", "non-negative"):
        assert verdicts(loss)[law]
        assert reference.EXCESS[law](values) <= 0
    parts = decompose(loss)
    assert parts.supermodular == loss
    assert not parts.submodular.table.any()


@given(weight_lists, st.integers(1, 60))
def test_one_value_of_b_d_decides_subset_sum(weights, target):
    total = 2 * target
    reachable = any(sum(c) == target for k in range(len(weights) + 1) for c in combinations(weights, k))
    value = B_D(with_special_element(weights))(reduction_margins(weights, total))
    assert (abs(value - total / 4) <= 1e-9) == reachable
    if not reachable:
        assert value <= (target**2 - 1) / total + 1e-9


@given(weight_lists, st.integers(1, 60))
def test_any_subgradient_gives_the_value_away(weights, target):
    """Every set that counts contains e, so the entry of e is -2 l(A), averaged if A is not unique."""
    margins = reduction_margins(weights, 2 * target)
    surrogate = B_D(with_special_element(weights))
    subgradient = -surrogate.cut(margins).slope
    assert surrogate(margins) == pytest.approx(-subgradient[-1] / 2 + subgradient @ margins, abs=1e-9)


# ---------------------------------------------------------------- a hidden set


def pairs_with_hidden_set(p, hidden=None):
    return {A: len(A) * (len(A) - 1) / 2 + (0.5 if hidden == A else 0.0) for A in reference.subsets(p)}


def deciding_margin(p):
    """Between 1 / (3k + 1) and 1 / (3k - 2), k = p / 2: there sets of k elements, and no others, are worst."""
    return 2 / (3 * p - 1)


@pytest.mark.parametrize("p", [4, 6, 8])
def test_one_of_many_sets_decides_the_value(p):
    size, margins = p // 2, np.full(p, deciding_margin(p))
    factor = 1 - 2 * size * deciding_margin(p)
    by_size = [comb(k, 2) * (1 - 2 * k * deciding_margin(p)) for k in range(p + 1)]
    assert sorted(by_size)[-1] == by_size[size] > sorted(by_size)[-2]
    value = slack(pairs_with_hidden_set(p), margins)
    assert value == pytest.approx(comb(size, 2) * factor)
    for hidden in list(combinations(range(p), size))[:: max(1, comb(p, size) // 5)]:
        values = pairs_with_hidden_set(p, frozenset(hidden))
        assert reference.supermodular_excess(values) <= 0
        assert reference.negative_excess(values) <= 0
        raised = (comb(size, 2) + 0.5) * factor
        assert slack(values, margins) == pytest.approx(raised)
        assert SlackRescaling(function_of(values))(margins) == pytest.approx(raised)


# ---------------------------------------------------------------- what is polynomial


class Counted:
    """A callable that counts the values it was asked for."""

    def __init__(self, function):
        self.function, self.asked = function, 0

    def __call__(self, *arguments):
        values = self.function(*arguments)
        self.asked += np.size(values)
        return values


def test_the_lovasz_hinge_asks_for_two_values_per_element():
    p = 60
    oracle = Counted(lambda A: np.sqrt(len(A)))
    hinge = LovaszHinge(SetFunction.oracle(oracle, p), positive_part="elementwise")
    oracle.asked = 0
    hinge.cut(np.linspace(-1, 1, p))
    assert oracle.asked <= 2 * p


def test_slack_asks_for_every_cell_once():
    m, r = 20, 15
    loss = Counted(lambda n, q, positives, negatives: np.minimum(n * q, 9) + np.sqrt(n) + q**2)
    slack = SlackRescaling(from_counts(loss).on_counts(m, r))
    loss.asked = 0
    for shift in (-0.1, 0.0, 0.1):
        slack.cut(np.linspace(-0.5, 0.5, m + r) + shift)
    assert loss.asked <= (m + 1) * (r + 1) + 2 * 3


def test_the_greedy_search_of_the_paper_stops_half_way_on_loss_1():
    """At margins 0 the worst set is V; greedy stays on the plateau between 1/3 and 2/3 of the mistakes."""
    loss = loss_named("curve1").on_counts(6, 0)
    assert SlackRescaling(loss)(np.zeros(6)) == pytest.approx(2 / 3)
    greedy = SlackRescaling(loss, search="greedy").cut(np.zeros(6))
    assert greedy(np.zeros(6)) == pytest.approx(1 / 3)
    assert not greedy.exact
