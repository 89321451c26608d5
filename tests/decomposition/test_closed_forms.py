"""D without a linear program: closed forms and the pointwise bound, judged by the program over all subsets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.strategies import (
    any_functions,
    random_curve,
    symmetric_functions,
)
from setloss import (
    CostCurve,
    Dice,
    FBeta,
    Hamming,
    Jaccard,
    SetFunction,
    Tversky,
    decompose,
    from_counts,
    is_submodular,
    is_supermodular,
)
from setloss.decomposition.certificate import Certificate, mean_over_subsets
from setloss.decomposition.optimality import (
    infeasibility,
    measure_closed_form,
    measure_curve,
    measure_table,
    pointwise_lower_bound,
)
from setloss.losses import PAPER_CURVES
from setloss.setfunctions.counts import AxisCurve, Formula, Linear, Split, Sum


def certificate_of(measured, primal=1.0):
    """The certificate that `decompose` would build from these measurements."""
    return Certificate(rule="test", reason="", primal=primal, **{**vars(measured), "dual": primal})


# ---------------------------------------------------------------- one group


@given(symmetric_functions(max_p=7))
def test_symmetric_closed_form_is_the_optimum_over_all_subsets(drawn):
    split = decompose(drawn.function)
    optimum, total = reference.brute_force_program(drawn.values)
    part = reference.values_of(split.supermodular)
    assert part == pytest.approx(optimum, abs=1e-7)
    assert split.certificate.primal * 2**drawn.function.p == pytest.approx(total, abs=1e-7)
    assert split.certificate.unique


def test_an_empty_group_changes_nothing():
    curve = np.array([0.0, 0, 1, 5])
    alone = decompose(SetFunction.symmetric(curve))
    beside = decompose(SetFunction.from_table(curve[:, None]))
    np.testing.assert_array_equal(beside.supermodular.table[:, 0], alone.supermodular.table)


# ---------------------------------------------------------------- a million elements


def rough_curve(p):
    return SetFunction.symmetric(np.concatenate(([0.0], np.random.default_rng(0).random(p))))


@pytest.mark.parametrize(
    "function",
    [
        PAPER_CURVES["curve4"].on_counts(10**6, 0),
        Dice().on_counts(500_000, 500_000),
        Jaccard().on_counts(50_000, 50_000),
        FBeta(2).on_counts(50_000, 50_000),
        Hamming().on_counts(50_000, 50_000),
        3 * Dice().on_counts(999_990, 10),
        Jaccard().on_counts(50_000, 50_000) + Tversky(0.5, 1.5).on_counts(50_000, 50_000),
        Tversky(0.5, 0.9).on_counts(10, 99_990),
        rough_curve(10**6),
        *(PAPER_CURVES[name].on_counts(10**5, 0) for name in ("curve1", "curve2", "curve3")),
    ],
)
def test_a_million_elements_are_decomposed_and_certified(function):
    """Closed forms of all kinds, of which one each has a million."""
    split = decompose(function)
    assert split.certificate.holds
    rng = np.random.default_rng(1)
    cells = [rng.integers(0, n + 1, 1000) for n in function.sizes]
    f, g, whole = (part.at(*cells) for part in (split.submodular, split.supermodular, function))
    np.testing.assert_allclose(f + g, whole, rtol=0, atol=1e-14 * max(1.0, np.abs(g).max()))


def test_a_closed_form_with_a_negative_factor_is_decomposed_as_its_table():
    function = 2 * Hamming().on_counts(3, 2) - Dice().on_counts(3, 2)
    by_table = decompose(SetFunction.from_table(function.table))
    assert by_table.supermodular.table.any()
    assert decompose(function).supermodular == by_table.supermodular


def test_a_million_elements_of_a_parabola_keep_their_supermodular_part():
    p = 10**6
    share = np.arange(p + 1) / p
    split = decompose(SetFunction.symmetric(share**2))
    np.testing.assert_allclose(split.supermodular.table, share**2 - share / p, atol=1e-9)


# ---------------------------------------------------------------- the pointwise lower bound


@given(any_functions(), st.integers(0, 2**32 - 1))
def test_the_bound_is_below_every_feasible_g(drawn, seed):
    bound = pointwise_lower_bound(drawn.function.table)
    lowest = reference.values_of_table(bound, drawn.function.partition)
    weights = np.random.default_rng(seed).random(2**drawn.function.p) ** 4 + 1e-3
    feasible, _ = reference.brute_force_program(drawn.values, weights)
    assert all(lowest[A] <= feasible[A] + 1e-7 for A in lowest)


# ---------------------------------------------------------------- certificates that can say no


def dice_pair(m=4, q=3):
    split = decompose(Dice().on_counts(m, q))
    return split.loss.table, split.supermodular.table


def test_a_table_changed_in_one_cell_or_scaled_is_not_certified():
    loss, g = dice_pair()
    cells = [(0, 0), (0, 1), (1, 0), (2, 0), (4, 3), (2, 2)]
    counts = np.indices(g.shape)
    changes = [np.where((counts[0] == n) & (counts[1] == q), 1e-4, 0.0) for n, q in cells]
    wrong = [g + sign * change for change in changes for sign in (1, -1)]
    for g in (*wrong, *(factor * g for factor in (0.0, 0.999, 1.001, -1.0, np.nan))):
        assert not certificate_of(measure_table(loss, g)).holds


def test_a_feasible_table_that_is_not_minimal_is_feasible_and_not_certified():
    loss, g = dice_pair()
    larger = g + 0.01 * np.add.outer(np.arange(5.0), np.arange(4.0))
    measured = measure_table(loss, larger)
    assert measured.feasibility <= 1e-9
    assert measured.column_residual > 1e-3
    assert not certificate_of(measured).holds


def test_infeasibility_is_the_worst_breach_relative_to_the_gains_in_it():
    loss = np.array([0.0, 0, 2])
    assert infeasibility(loss, np.array([0.0, 0, 2])) == 0
    assert infeasibility(loss, np.array([0.0, 0, 1])) == pytest.approx(1)
    assert infeasibility(loss, np.array([0.0, -1, 2])) == pytest.approx(1)
    assert infeasibility(loss + 1e6 * np.arange(3), np.array([0.0, 0, 1])) > 0.1
    assert infeasibility(np.zeros(3), np.array([0.0, 1, 1])) == pytest.approx(1)
    assert infeasibility(loss, loss, np.array([0.0, 1, 2])) == pytest.approx(1)  # f + g is not l


def measure_pair(loss, g):
    curves = (AxisCurve.from_steps((len(loss) - 1,), 0, np.diff(values)) for values in (loss, loss - g, g))
    loss, f, g = curves
    return measure_curve(loss, Split(f, g, ""), 0)


@pytest.mark.parametrize(
    ("g", "certified"),
    [
        ([0, 0, 2, 4], True),
        ([0, 0, 0, 0], False),
        ([0, 0, 2, 5], False),
        ([0, 0, 3, 6], False),
        ([0, 1, 4, 7], False),
        ([0, -1, 0, 1], False),
    ],
)
def test_only_the_right_curve_is_certified(g, certified):
    loss = np.array([0.0, 1, 4, 6])
    assert certificate_of(measure_pair(loss, np.array(g))).holds == certified


@pytest.mark.parametrize("fault", ["none", "zero", "smaller", "larger", "modular", "top", "another"])
def test_wrong_parts_are_not_certified_at_borders_and_corners(fault):
    split = decompose(Dice().on_counts(2000, 3000))
    loss, f, g = split.loss.counts, split.submodular.counts, split.supermodular.counts
    sizes, excess = loss.sizes, Linear(loss.sizes, (5.0, 5.0))
    if fault in ("zero", "smaller", "larger"):
        factor = {"zero": 0.0, "smaller": 0.9, "larger": 1.1}[fault]
        f, g = Sum(sizes, ((1.0, loss), (-factor, g))), Sum(sizes, ((factor, g),))
    elif fault == "modular":
        f, g = Sum(sizes, ((1.0, f), (-1.0, excess))), Sum(sizes, ((1.0, g), (1.0, excess)))
    elif fault == "top":
        last = Formula(sizes, lambda n, q: 1.0 * ((n == 2000) & (q == 3000)))
        f, g = Sum(sizes, ((1.0, f), (1.0, last))), Sum(sizes, ((1.0, g), (-1.0, last)))
    elif fault == "another":
        f = Jaccard().on_counts(2000, 3000).counts
    assert certificate_of(measure_closed_form(loss, Split(f, g, ""))).holds == (fault == "none")


@pytest.mark.parametrize("sizes", [(5000, 0), (0, 5000)])
def test_a_homogeneous_bag_with_free_mistakes_is_certified(sizes):
    free_third = from_counts(lambda n, q, m, r: np.maximum(0.0, (n + q) / np.maximum(m + r, 1) - 1 / 3))
    assert decompose(free_third.on_counts(*sizes)).certificate.holds


CERTIFICATE = Certificate(rule="rule", reason="reason", feasibility=0.0, column_residual=0.0, primal=1.0, dual=1.0)


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"feasibility": 1e-8}, False),
        ({"feasibility": np.nan}, False),
        ({"column_residual": 1e-5}, False),
        ({"column_residual": np.nan}, False),
        ({"dual": 1 - 1e-5}, False),
        ({"dual": 1 - 1e-8}, True),
        ({"dual": np.nan}, False),
        ({"tie_break_residual": 1e-3}, False),
        ({"primal": 0.0, "dual": 0.0}, True),
        ({"primal": np.nan, "dual": np.nan}, False),
    ],
)
def test_a_certificate_holds_iff_every_number_is_within_its_tolerance(changes, holds):
    certificate = Certificate(**{**CERTIFICATE.__dict__, **changes})
    assert certificate.holds == bool(certificate) == holds
    assert str(certificate).startswith("certified by rule" if holds else "NOT certified by rule")


@given(any_functions())
def test_the_objective_is_the_mean_over_all_subsets(drawn):
    mean = sum(drawn.values.values()) / 2**drawn.function.p
    assert mean_over_subsets(drawn.function.counts) == pytest.approx(mean, abs=1e-12)


def test_the_mean_over_subsets_of_large_closed_forms():
    curve = PAPER_CURVES["curve1"].on_counts(10**6, 0).counts
    assert mean_over_subsets(curve) == pytest.approx(1 / 3, abs=1e-9)
    rates = Sum((3, 4), ((2.0, Linear((3, 4), (1.0, 0.5))),))
    assert mean_over_subsets(rates) == pytest.approx(2 * (1.5 + 1.0))


def test_curves_of_all_shapes_and_sizes_have_the_closed_form():
    generator = np.random.default_rng(5)
    for knots, p in (random_curve(generator) for _ in range(400)):
        parts = decompose(CostCurve(knots).on_counts(p, 0))
        assert parts.certificate.holds, (knots, p)
        assert parts.certificate.rule == "symmetric closed form"
        assert is_submodular(parts.submodular), (knots, p)
        assert is_supermodular(parts.supermodular), (knots, p)
