"""Proposition 5. The minimiser that defines D is unique.

False from four elements on. On V = {1, 2, 3, 4} let l be 1 on {3}, {4} and {3, 4}, and 0 on every other set.
Two supermodular functions, and all their mixtures, reach the minimal sum 4: g = 1 on all sets that contain
{1, 2}; and g = 1 on {1, 2, 3} and {1, 2, 4}, 2 on V. The proof slips where it reads a non-positive sum of the
entries of y as "every entry is non-positive".

True for up to three elements, and at any size wherever the pointwise lower bound on all feasible g is feasible
itself (symmetric functions, the Dice family with beta >= 1/2). Elsewhere our D is the minimiser of least sum of
squares.
"""

import numpy as np
import pytest
from hypothesis import given

from helpers import reference
from helpers.definitions import difference, function_of, optimal_face_width
from helpers.strategies import general_functions
from setloss import SetFunction, decompose
from setloss.decomposition.optimality import pointwise_lower_bound

SETS = reference.subsets(4)
LOSS = {A: float(bool(A) and {2, 3} >= A) for A in SETS}
FIRST = {A: float({0, 1} <= A) for A in SETS}
SECOND = {A: float(max(0, len(A) - 2)) if {0, 1} <= A else 0.0 for A in SETS}


# ---------------------------------------------------------------- the counter-example


def test_both_functions_are_feasible_with_sum_four():
    for g in (FIRST, SECOND):
        assert reference.infeasibility(LOSS, g) == 0
        assert sum(g.values()) == 4
    assert {A: v for A, v in SECOND.items() if v} == {
        frozenset({0, 1, 2}): 1,
        frozenset({0, 1, 3}): 1,
        frozenset(range(4)): 2,
    }


def test_four_is_the_minimum():
    assert reference.brute_force_program(LOSS)[1] == pytest.approx(4, abs=1e-9)
    assert optimal_face_width(LOSS) == pytest.approx(1, abs=1e-6)


def test_the_step_between_them_refutes_the_proof():
    """Its entries sum to 0 and it loosens no tight constraint, but it is neither zero nor of one sign."""
    y = difference(SECOND, FIRST)
    assert sum(y.values()) == 0
    assert min(y.values()) < 0 < max(y.values())
    required = {k: max(0.0, bend) for k, bend in reference.second_differences(LOSS).items()}
    bends, steps = reference.second_differences(FIRST), reference.second_differences(y)
    assert all(steps[k] >= 0 for k in required if bends[k] == required[k])
    assert all(y[A] >= 0 for A in SETS if FIRST[A] == 0)


def test_our_tie_break_picks_the_first():
    parts = decompose(function_of(LOSS))
    found = reference.values_of(parts.supermodular)
    assert all(abs(found[A] - FIRST[A]) <= 1e-6 for A in SETS)
    assert parts.certificate.unique is False
    mixtures = [{A: (1 - t) * FIRST[A] + t * SECOND[A] for A in SETS} for t in np.linspace(0, 1, 11)]
    squares = [sum(v**2 for v in g.values()) for g in mixtures]
    assert squares == sorted(squares)
    assert (squares[0], squares[-1]) == (4, 6)


# ---------------------------------------------------------------- where it is true


def pointwise_bound(values):
    """The largest lower bound that telescoping gives: increments first, then values, level by level."""
    required = {k: max(0.0, bend) for k, bend in reference.second_differences(values).items()}
    increment, bound = {}, {}
    for A in sorted(values, key=len):
        bound[A] = max((bound[A - {i}] + increment[i, A - {i}] for i in A), default=0.0)
        for i in reference.ground(values) - A:
            raised = (increment[i, A - {j}] + required[A - {j}, min(i, j), max(i, j)] for j in A)
            increment[i, A] = max(raised, default=0.0)
    return bound


@given(general_functions(min_p=2, max_p=3))
def test_up_to_three_elements_the_bound_is_feasible_and_d_is_unique(drawn):
    bound = pointwise_bound(drawn.values)
    assert reference.infeasibility(drawn.values, bound) <= 0
    assert optimal_face_width(drawn.values) <= 1e-6
    assert decompose(drawn.function).certificate.unique is True


@given(general_functions(min_p=4, max_p=4))
def test_where_the_bound_is_feasible_it_is_d_and_unique(drawn):
    bound = pointwise_bound(drawn.values)
    assert reference.values_of_table(pointwise_lower_bound(drawn.function.table), range(4)) == bound
    smallest, minimum = reference.brute_force_program(drawn.values)
    assert all(smallest[A] >= bound[A] - 1e-7 for A in bound)
    if reference.infeasibility(drawn.values, bound) <= 0:
        assert sum(bound.values()) == pytest.approx(minimum, abs=1e-7)
        assert optimal_face_width(drawn.values) <= 1e-6
        parts = decompose(drawn.function)
        assert parts.supermodular == function_of(bound)
        assert parts.certificate.rule in ("pointwise lower bound", "symmetric closed form")


# ---------------------------------------------------------------- how often, and what we do then


def random_tables(count):
    generator = np.random.default_rng(0)
    for _ in range(count):
        values = generator.normal(size=16)
        values[0] = 0.0
        yield dict(zip(SETS, values.tolist(), strict=True))


def test_about_one_random_table_in_ten_has_several_minimisers_and_the_certificate_knows_which():
    several = []
    for values in random_tables(60):
        several.append(optimal_face_width(values) > 1e-6)
        certificate = decompose(function_of(values)).certificate
        assert certificate.holds
        assert certificate.unique is not several[-1]
    assert 2 <= sum(several) <= 14


def test_the_tie_break_does_not_depend_on_how_the_function_is_written():
    """Groups {1, 2} and {3, 4}: the table over counts and the sixteen values have the same D."""
    grouped = SetFunction.from_table([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert grouped == function_of(LOSS)
    assert decompose(grouped).supermodular.allclose(decompose(function_of(LOSS)).supermodular, rtol=1e-6)
