"""D by linear programming: against closed forms, against enumeration, and in front of its own judge."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from setloss import Dice, SetFunction, Tversky, decompose
from setloss.decomposition.certificate import (
    FEASIBILITY_TOLERANCE,
    OPTIMALITY_TOLERANCE,
    DecompositionError,
    ProgramTooLargeError,
    mean_over_subsets,
)
from setloss.decomposition.program import exact_weights, free_cells, measure_multipliers, solve_program
from setloss.decomposition.refinement import to_fixed, to_float
from setloss.setfunctions.counts import Table
from setloss.setfunctions.differences import cell_levels, second_difference_matrix

# ---------------------------------------------------------------- tables


def second_differences(table):
    return second_difference_matrix(table.shape) @ table.ravel()


def rough(kind, shape, seed):
    generator = np.random.default_rng(seed)
    table = {
        "uniform": lambda: generator.random(shape),
        "normal": lambda: generator.normal(size=shape),
        "integers": lambda: generator.integers(0, 4, shape).astype(float),
        "indicator": lambda: (generator.random(shape) < 0.5).astype(float),
        "tenths": lambda: np.round(generator.random(shape), 1),
    }[kind]()
    table.flat[0] = 0.0
    return table


KINDS = ["uniform", "normal", "integers", "indicator", "tenths"]


def expanded(table):
    """The general table, shape (2,)*p, of the function with this grouped table."""
    sizes = [length - 1 for length in table.shape]
    members = np.indices((2,) * sum(sizes))
    stops = np.cumsum(sizes)
    return table[tuple(members[stop - n : stop].sum(axis=0) for stop, n in zip(stops, sizes, strict=True))]


@st.composite
def tables(draw, max_p=6):
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(lambda s: 2 <= sum(s) <= max_p))
    return rough(draw(st.sampled_from(KINDS)), tuple(n + 1 for n in sizes), draw(st.integers(0, 10**6)))


def mean(g):
    return mean_over_subsets(Table(g))


def is_optimal(measured):
    return measured.feasibility <= FEASIBILITY_TOLERANCE and measured.column_residual <= OPTIMALITY_TOLERANCE


def assert_certified(solution, table):
    """What a solution says of itself is what the judge finds."""
    measured = measure_multipliers(table, solution.supermodular, solution.multipliers, solution.submodular)
    assert measured == replace(solution.measured, unique=True, tie_break_residual=0.0)
    assert measured.feasibility <= 1e-9
    assert measured.column_residual < 1e-9
    assert measured.dual == pytest.approx(mean(solution.supermodular), rel=1e-9, abs=1e-300)
    assert solution.measured.tie_break_residual < 1e-10
    assert min(solution.multipliers) >= 0
    assert (solution.supermodular >= 0).all()


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize(("positives", "negatives"), [(1, 1), (2, 3), (7, 1), (5, 12), (25, 25), (40, 40)])
def test_dice(positives, negatives):
    table = Dice().on_counts(positives, negatives).table
    solution = solve_program(table)
    n = np.arange(positives + 1.0)[:, None]
    expected = n * (n - 1) / ((2 * positives - 1) * (2 * positives - n))
    np.testing.assert_allclose(solution.supermodular, np.broadcast_to(expected, table.shape), atol=1e-13)
    assert solution.measured.unique is True
    assert_certified(solution, table)


# ---------------------------------------------------------------- uniqueness and the tie-break


@given(tables(max_p=7))
def test_the_general_table_has_the_same_decomposition(table):
    grouped, general = solve_program(table), solve_program(expanded(table))
    scale = np.max(np.abs(table)) or 1.0
    np.testing.assert_allclose(expanded(grouped.supermodular), general.supermodular, atol=1e-10 * scale)
    assert general.measured.unique is not True or grouped.measured.unique is True


@given(tables(max_p=5))
def test_no_optimum_has_less_norm(table):
    """g is the optimum of least norm iff <g, h> >= <g, g> for every optimum h: one more linear program."""
    table = expanded(table)
    scale = np.max(np.abs(table)) or 1.0
    chosen = solve_program(table).supermodular.ravel() / scale
    matrix = second_difference_matrix(table.shape)
    least = linprog(
        chosen,
        A_ub=np.vstack([-matrix.toarray(), np.ones(table.size)]),
        b_ub=np.append(-np.maximum(second_differences(table), 0.0) / scale, np.sum(chosen)),
        bounds=[(0, None if level > 1 else 0) for level in cell_levels(table.shape).ravel()],
    )
    assert least.fun == pytest.approx(chosen @ chosen, rel=1e-6, abs=1e-6)


# ---------------------------------------------------------------- the linear program


@given(tables(max_p=7))
def test_objective_of_an_independent_solver(table):
    solution = solve_program(table)
    scale = np.max(np.abs(table)) or 1.0
    matrix = second_difference_matrix(table.shape)
    weights = exact_weights(table.shape).astype(float)
    levels = cell_levels(table.shape).ravel()
    plain = linprog(
        weights,
        A_ub=-matrix,
        b_ub=-np.maximum(second_differences(table), 0.0) / scale,
        # Singletons are free to be positive here: that they are zero is proved, not assumed.
        bounds=[(0, 0 if level == 0 else None) for level in levels],
    )
    least = plain.fun * scale / np.sum(weights)
    assert mean(solution.supermodular) == pytest.approx(least, rel=1e-7, abs=1e-7 * scale)
    assert_certified(solution, table)


@pytest.mark.parametrize("factor", [1e-9, 1e9, 1e-200, 1e200, 3.0])
@pytest.mark.parametrize("kind", ["uniform", "integers"])
def test_scale_equivariance(kind, factor):
    table = rough(kind, (2,) * 5, 1)
    plain, scaled = solve_program(table), solve_program(factor * table)
    np.testing.assert_allclose(scaled.supermodular / factor, plain.supermodular, atol=1e-11)
    assert scaled.measured.unique == plain.measured.unique
    assert scaled.measured.dual / factor == pytest.approx(plain.measured.dual, rel=1e-12)


SHAPES = [(12, 15), (2, 60), (2, 300), (6, 7, 8), (3,) * 5, (2,) * 8]
TABLES = {f"{kind} {shape}": rough(kind, shape, 0) for kind, shape in product(KINDS, SHAPES)}
SEEDS = ((7, 23), (8, 1), (8, 10), (9, 0), (10, 0))
TABLES |= {f"indicator p={p}, {seed}": rough("indicator", (2,) * p, seed) for p, seed in SEEDS}
TABLES |= {
    "tenths 40+40": rough("tenths", (41, 41), 0),
    "indicator 30+30": rough("indicator", (31, 31), 1),
    "Tversky 30+30": Tversky(0.7, 0.3).on_counts(30, 30).table,
    "max 30+30": np.maximum(*np.indices((31, 31))).astype(float),
    "normal p=10": rough("normal", (2,) * 10, 0),
    "tenths p=5": rough("tenths", (2,) * 5, 2),
}
TABLES |= {
    f"several optima {shape}": rough("uniform", shape, 0) for shape in ((2, 2, 60), (3, 3, 60), (2, 2, 2, 2, 20))
}


@pytest.mark.parametrize("name", TABLES)
def test_rough_and_large_tables_are_certified(name):
    """At 40 + 40 elements weights span 22 orders of magnitude, with many optima; g of tenths p=5 was once -6e-17.

    Indicators have cells where f or g is zero in truth, among others where they are not.
    """
    solution = solve_program(TABLES[name])
    assert_certified(solution, TABLES[name])
    assert not (name.startswith("several") and solution.measured.unique)


# ---------------------------------------------------------------- the judge


def test_judge_sees_small_counts():
    """One cell of weight 900 among 1e16: the gap is blind to it, the judge is not."""
    table = rough("uniform", (31, 31), 2)
    solution = solve_program(table)
    assert_certified(solution, table)
    for change in (1e-3, -1e-3):
        wrong = solution.supermodular.copy()
        wrong[1, 1] += change
        measured = measure_multipliers(table, wrong, solution.multipliers)
        assert measured.dual == pytest.approx(mean(wrong), rel=1e-12)
        assert not is_optimal(measured)


def test_judge_sees_wrong_multipliers():
    table = rough("uniform", (12, 12), 0)
    solution = solve_program(table)
    y = solution.multipliers
    priced = np.flatnonzero(y > 0)
    row = priced[np.argmin(y[priced])]
    for wrong in (0, y[row] * 101 // 100, -y[row]):
        changed = y.copy()
        changed[row] = wrong
        assert measure_multipliers(table, solution.supermodular, changed).column_residual > 1e-3
    negative, zero = (np.where(np.arange(len(y)) == row, value, y) for value in (-y[row], 0))
    measured = [measure_multipliers(table, solution.supermodular, changed) for changed in (negative, zero)]
    assert measured[0] == measured[1]
    slack = second_differences(solution.supermodular) - np.maximum(second_differences(table), 0.0)
    positive = solution.supermodular.ravel()[free_cells(table.shape)]
    for loose in (len(positive) + int(np.argmax(slack)), int(np.argmax(positive))):
        changed = y.copy()
        changed[loose] += 1  # far too little to be seen in a column
        assert measure_multipliers(table, solution.supermodular, changed).column_residual > 1e-3


def test_judge_refuses_infeasible_values():
    table = Dice().on_counts(5, 5).table
    solution = solve_program(table)
    for wrong in (0 * table, solution.supermodular + 1e-3):
        assert not is_optimal(measure_multipliers(table, wrong, solution.multipliers))


def test_dual_bound_is_a_bound_for_any_multipliers():
    table = rough("uniform", (5, 6), 4)
    solution = solve_program(table)
    generator = np.random.default_rng(0)
    for _ in range(20):
        y = to_float(solution.multipliers) * generator.uniform(0.5, 2.0, len(solution.multipliers))
        measured = measure_multipliers(table, solution.supermodular, to_fixed(y))
        assert measured.dual <= mean(solution.supermodular) * (1 + 1e-12)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("shape", [(2,) * 16, (200, 200), (30, 30, 30)])
def test_size_limits_come_before_any_work(shape):
    with pytest.raises(ProgramTooLargeError, match=r"cells and \d+ second differences; .* fewer groups"):
        solve_program(np.zeros(shape))


def test_an_uncertified_answer_is_an_error(monkeypatch):
    monkeypatch.setattr("setloss.decomposition.certificate.OPTIMALITY_TOLERANCE", -1.0)
    with pytest.raises(DecompositionError, match="not to the accuracy that is certified: NOT certified by linear"):
        decompose(SetFunction.from_table(rough("uniform", (3, 3), 0)))
