"""Theorem 1. For supermodular non-negative l, B_D l >= S l on the unit cube: B_D is nearer the convex closure.

Holds, although the lemma its proof rests on (Lemma 2) does not: f is modular, L f >= S f on the cube, and the
maximum is subadditive, so B_D l = L f + S g >= S f + S g >= S l. Both lie below the convex closure.

The same argument covers every l whose f is increasing, supermodular or not: S f then extends f, and L f is the
largest convex extension. It stops there: for the paper's own loss 2, whose f is not increasing, S exceeds B_D
inside the cube. Outside the cube it fails even for the Hamming loss.
"""

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers import reference
from helpers.definitions import function_of, lovasz_hinge, modular, plus, slack, with_points
from helpers.strategies import general_functions, lists_of, supermodular_functions
from setloss import Hamming, decompose, loss_named
from setloss.decomposition.certificate import TableRangeError
from setloss.operators import B_D, SlackRescaling


def raised(values):
    """The function plus the smallest modular one that makes it increasing."""
    lowest = [
        min(values[A | {i}] - values[A] for A in values if i not in A) for i in sorted(reference.ground(values))
    ]
    return [max(0.0, -gain) for gain in lowest]


def convex_closure(values, u):
    """min of sum_A t_A l(A) over the ways to write u as a mixture of the vertices 1_A."""
    sets = list(values)
    rows = np.array([[1.0] * len(sets), *([float(i in A) for A in sets] for i in range(len(u)))])
    answer = linprog([values[A] for A in sets], A_eq=rows, b_eq=[1.0, *u], bounds=(0, None), method="highs")
    assert answer.status == 0, answer.message
    return answer.fun


def cube_points(p):
    """Margins of the unit cube: multiples of 1/8."""
    return lists_of(st.integers(0, 8), p).map(lambda k: np.array(k) / 8)


@given(with_points(supermodular_functions(1, 4), points=cube_points), st.sampled_from([1.0, 2.0]))
def test_between_slack_and_the_convex_closure(case, scale):
    drawn, margins = case
    values = plus(drawn.values, modular(raised(drawn.values)))
    assert reference.negative_excess(values) <= 0
    below = slack(values, margins, scale)
    combined = B_D(function_of(values), scale=scale)(margins)
    closure = convex_closure(values, 1 - margins)
    assert below - 1e-9 <= combined <= closure + 1e-7


@given(with_points(general_functions(1, 4), points=cube_points), st.sampled_from([1.0, 2.0]))
def test_holds_for_every_loss_with_increasing_submodular_part(case, scale):
    """Adding a modular function to l adds it to f and leaves D l as it is."""
    drawn, margins = case
    g = reference.values_of(decompose(drawn.function).supermodular)
    f = {A: drawn.values[A] - g[A] for A in g}
    shift = modular([rate + 1e-6 for rate in raised(f)])
    values, f = plus(drawn.values, shift), plus(f, shift)
    combined = lovasz_hinge(f, margins) + slack(g, margins, scale)
    try:
        ours = B_D(function_of(values), scale=scale)(margins)
    except TableRangeError:  # rounding of the sum has left bends that are tiny beside its values
        reject()
    assert combined == pytest.approx(ours, abs=1e-5)
    assert slack(values, margins, scale) - 1e-5 <= combined
    assert combined <= convex_closure(values, 1 - margins) + 1e-5


def test_fails_inside_the_cube_for_the_papers_loss_2():
    loss = loss_named("curve2").on_counts(4, 0)
    assert loss.table.tolist() == [0, 1, 1, 2, 2]
    assert decompose(loss).submodular.table.tolist() == [0, 1, 1, 1, 0]
    margins = np.full(4, 1 / 6)
    assert SlackRescaling(loss)(margins) == pytest.approx(2 / 3)
    assert B_D(loss)(margins) == pytest.approx(0)


def test_fails_outside_the_cube_for_the_hamming_loss():
    loss = Hamming(normalize=False).on_counts(2, 0)
    margins = [-10.0, 5.0]
    assert SlackRescaling(loss)(margins) == 22
    assert B_D(loss)(margins) == 11
