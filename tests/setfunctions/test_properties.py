"""The six verdicts against the definitions, enumerated; witnesses that really break the law."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from helpers.reference import EXCESS
from helpers.strategies import any_functions
from setloss import (
    Dice,
    Hamming,
    Jaccard,
    SetFunction,
    Tversky,
    decompose,
    from_counts,
    is_increasing,
    is_modular,
    is_nonnegative,
    is_submodular,
    is_supermodular,
    is_symmetric,
    loss_named,
    monotone_closure,
    verdicts,
)
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.differences import curvature
from setloss.setfunctions.properties import LAWS

# ---------------------------------------------------------------- against the definitions


def violation_at(law, values, A, i, j):
    """The left-hand side of the inequality that a witness (A, i, j) claims to break."""
    if law == "non-negative":
        return -values[A]
    if law == "increasing":
        return values[A] - values[A | {i}]
    if law == "symmetric":
        return abs(values[A | {i}] - values[A | {j}])
    bend = values[A | {i, j}] - values[A | {i}] - values[A | {j}] + values[A]
    return {"submodular": bend, "supermodular": -bend, "modular": abs(bend)}[law]


@given(any_functions())
@settings(max_examples=100)
def test_verdicts_are_those_of_all_sets_and_witnesses_break_the_law_by_the_largest_violation(drawn):
    for law, verdict in verdicts(drawn.function).items():
        excess = EXCESS[law](drawn.values)
        assert bool(verdict) == verdict.holds == (verdict.witness is None) == (excess <= 0), law
        if law == "symmetric" and len(drawn.function.sizes) == 1:
            assert verdict.excess == 0
        elif law == "symmetric" or drawn.function.p >= 2:
            assert max(verdict.excess, 0) == max(excess, 0), law
        if verdict.witness is not None:
            A, i, j = verdict.witness.A, verdict.witness.i, verdict.witness.j
            assert {i, j}.isdisjoint(A)
            assert violation_at(law, drawn.values, frozenset(A), i, j) == verdict.excess > 0, law


@given(any_functions())
def test_gains_shrink_iff_unions_and_intersections_cost_no_more(drawn):
    values = drawn.values
    cheap = all(values[A] + values[B] >= values[A | B] + values[A & B] for A in values for B in values)
    assert bool(is_submodular(drawn.function)) == cheap


# ---------------------------------------------------------------- tolerance


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_tolerances_are_relative(scale):
    assert is_modular(SetFunction.symmetric(np.array([0, 1, 2 + 1e-12]) * scale))
    assert not is_modular(SetFunction.symmetric(np.array([0, 1, 2 + 1e-6]) * scale))
    assert is_modular(SetFunction.symmetric(np.array([0, 1, 2 + 1e-6]) * scale), rtol=1e-5)


def test_rtol_zero_is_exact():
    curve = SetFunction.symmetric([0, 1, np.nextafter(2, 3)])
    assert is_submodular(curve)
    assert not is_submodular(curve, rtol=0)
    assert is_modular(SetFunction.symmetric([0, 1, 2]), rtol=0)


def test_small_gains_between_large_values_are_judged_by_themselves():
    assert not is_submodular(SetFunction.symmetric([0, 1, 1, 1 + 5e-13]))
    assert is_submodular(SetFunction.symmetric([0, 1, 1, 1 + 5e-16]))
    assert not is_nonnegative(SetFunction.symmetric([0, 1, -0.5, 1e12]))
    rounding_beside_a_breach = np.add.outer([0, 1e12, 2e12 + 1e-3], [0, 1, 2 + 1e-7])
    assert not is_submodular(SetFunction.from_table(rounding_beside_a_breach))


def test_a_breach_is_as_large_as_the_worst_inequality():
    (bends,) = curvature(np.array([0.0, 0, 1, 2.5]), 1)
    assert bends.violation() == pytest.approx(1.0)


@pytest.mark.parametrize("rtol", [-1e-9, float("nan"), float("inf")])
def test_a_senseless_tolerance_is_refused(rtol):
    with pytest.raises(ValueError, match="rtol must be a non-negative number"):
        is_submodular(SetFunction.symmetric([0, 1]), rtol)


# ---------------------------------------------------------------- closed forms: what is proved is true

WEIGHTS = [(0.5, 0.5), (1, 1), (0, 0.7), (2, 0.5), (0.3, 0.999), (0.2, 1.5), (3, 0.2), (0.5, 0), (0, 0)]


def assert_proved_laws_hold(function, rtol=1e-12):
    """Every law that is tagged as proved holds on the table of the same function."""
    tabulated = SetFunction.from_table(function.table, function.partition)
    for law, proved in function.counts.laws.items():
        if proved and law in LAWS:
            assert LAWS[law](function).proved
            verdict = LAWS[law](tabulated, rtol)
            # Values that are differences of larger ones are right up to the rounding of those.
            allowed = rtol * np.abs(tabulated.table).max()
            assert verdict or verdict.excess <= allowed, f"{law} is not true of {function}"


@pytest.mark.parametrize(("a", "b"), WEIGHTS)
def test_what_is_proved_of_a_tversky_loss_of_its_split_and_closure_holds_on_the_table(a, b):
    for m, q in list(product(range(7), range(6)))[1:]:
        function = Tversky(a, b).on_counts(m, q)
        assert_proved_laws_hold(function)
        if b >= 0.5 and m:
            split = decompose(function)
            for part in (split.submodular, split.supermodular, monotone_closure(split.submodular)):
                assert_proved_laws_hold(part)


def test_the_submodular_part_of_dice_is_increasing_exactly_where_it_is_tagged_so():
    for m in range(1, 9):
        for q in range(9):
            part = decompose(Dice().on_counts(m, q)).submodular
            tabulated = SetFunction.from_table(part.table)
            assert bool(part.counts.laws["increasing"]) == bool(is_increasing(tabulated))


def test_what_is_proved_of_hamming_and_what_sums_inherit_from_all_their_terms():
    jaccard, hamming, dice = Jaccard().on_counts(3, 4), Hamming().on_counts(3, 4), Dice().on_counts(3, 4)
    weighted = Hamming(normalize=False, false_negative_weight=3.0).on_counts(3, 4)
    sums = (jaccard + hamming, 2 * jaccard, jaccard - hamming, -1 * hamming, dice + jaccard, hamming - jaccard)
    for total in (hamming, weighted, *sums):
        assert_proved_laws_hold(total)
    assert is_modular(weighted).proved
    assert is_submodular(jaccard + 0.5 * hamming).proved
    assert is_supermodular(hamming - jaccard).proved
    assert not is_supermodular(jaccard + hamming)


# ---------------------------------------------------------------- beyond any table


@pytest.mark.parametrize("law", ["submodular", "supermodular", "modular", "symmetric"])
def test_a_violation_among_the_small_counts_is_found_without_the_table(law):
    function = Dice().on_counts(10**5, 10**5)
    verdict = LAWS[law](function)
    assert not verdict
    A, i, j = verdict.witness.A, verdict.witness.i, verdict.witness.j

    def value(*extra):
        n, q = (sum((e < 10**5) == missed for e in (*A, *extra)) for missed in (True, False))
        return Fraction(n + q, 2 * 10**5 - n + q)

    bend = value(i, j) - value(i) - value(j) + value()
    excess = bend if law == "submodular" else -bend if law == "supermodular" else abs(bend)
    excess = abs(value(i) - value(j)) if law == "symmetric" else excess
    assert excess > 0
    assert verdict.excess == pytest.approx(float(excess), rel=1e-2)


def test_a_violation_at_the_largest_counts_is_found_without_the_table():
    function = from_counts(lambda n, q, m, r: n + q + ((n == m) & (q == r))).on_counts(10**5, 10**5)
    assert not is_submodular(function)


def test_a_law_that_cannot_be_decided_without_the_table_is_refused():
    capped = from_counts(lambda n, q, m, r: np.minimum(n + q, m)).on_counts(10**5, 10**5)
    with pytest.raises(TableTooLargeError, match="submodular cannot be read off a closed form"):
        is_submodular(capped)
    with pytest.raises(TableTooLargeError, match="over 30 elements is submodular cannot"):
        is_submodular(SetFunction.oracle(lambda A: float(len(A)), 30))


@pytest.mark.parametrize("name", ["curve1", "curve2", "curve3", "curve4"])
def test_cost_curves_of_a_million_elements_are_judged_on_their_curve(name):
    function = loss_named(name).on_counts(10**6, 0)
    assert is_symmetric(function)
    assert bool(is_increasing(function)) == (name != "curve4")
