"""Slack and margin rescaling against the maximum over all subsets."""

import numpy as np
import pytest
from hypothesis import given

from helpers.definitions import margin_cut, random_margins, slack_cut, with_points
from helpers.reference import values_of
from helpers.strategies import any_functions
from setloss import Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, from_counts
from setloss.operators import MarginRescaling, SlackRescaling
from setloss.operators import rescaling as module
from setloss.setfunctions.counts import AxisCurve, TableTooLargeError

SCALES = (1.0, 2.0, 0.7)
both = pytest.mark.parametrize("rescaling", [SlackRescaling, MarginRescaling])


def by_definition(rescaling, values, m, scale):
    return (slack_cut if rescaling is SlackRescaling else margin_cut)(values, m, scale)[0]


def nonnegative(drawn):
    """The same function with values 0..6."""
    return SetFunction.from_table(np.abs(drawn.function.table), drawn.function.partition)


# ---------------------------------------------------------------- exact


@both
@pytest.mark.parametrize("scale", SCALES)
@given(with_points(any_functions()))
def test_the_cut_is_that_of_the_worst_of_all_sets(rescaling, scale, case):
    """The offset is l of the set, the slope on it c for margin and c times l for slack rescaling."""
    function, m = nonnegative(case[0]), case[1]
    values = values_of(function)
    cut = rescaling(function, scale).cut(m)
    assert cut.exact
    assert cut(m) == pytest.approx(by_definition(rescaling, values, m, scale), rel=1e-12, abs=1e-12)
    A = frozenset(np.flatnonzero(cut.slope).tolist())
    on_set = scale * cut.offset if rescaling is SlackRescaling else scale
    assert [cut.slope[i] for i in sorted(A)] == [on_set] * len(A)
    assert cut.offset == values[A]


@both
@pytest.mark.parametrize("axis", [0, 1])
def test_functions_of_one_group_only(rescaling, axis):
    function = SetFunction(AxisCurve.from_steps((3, 3), axis, np.array([0.0, 1.0, 0.5])), [0, 1, 1, 0, 0, 1])
    values = values_of(function)
    for m in random_margins(np.random.default_rng(0), 6, 60):
        expected = by_definition(rescaling, values, m, 2.0)
        assert rescaling(function)(m) == pytest.approx(expected, rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------- the concave binary search

CONCAVE = {
    "Dice": Dice(),
    "Jaccard": Jaccard(),
    "Tversky(0.3, 0.7)": Tversky(0.3, 0.7),
    "Tversky(2, 0.1)": Tversky(2.0, 0.1),
    "Tversky(0, 0.5)": Tversky(0.0, 0.5),
    "Tversky(0.5, 0)": Tversky(0.5, 0.0),
    "Tversky(0.5, 0), 0/0 scores 0": Tversky(0.5, 0.0, zero_division=0.0),
    "FBeta(3)": FBeta(3.0),
    "weighted Hamming": Hamming(True, 0.3, 2.0),
    "Hamming, false positives free": Hamming(False, 1.0, 0.0),
    "Hamming, false negatives free": Hamming(False, 0.0, 1.0),
}


def searched(monkeypatch, rescaling, m):
    """The cut by binary search, which must really have run."""
    calls = []
    run = module.Rescaling._search_concave
    with monkeypatch.context() as patch:
        patch.setattr(module, "GRID_CELLS", 0)
        patch.setattr(module.Rescaling, "_search_concave", lambda *args: calls.append(1) or run(*args))
        found = rescaling.cut(m)
    assert calls
    return found


@both
@pytest.mark.parametrize("name", CONCAVE)
def test_binary_search_finds_the_maximum_over_all_sets(rescaling, name, monkeypatch):
    generator = np.random.default_rng(0)
    for m, q in ((3, 4), (1, 5), (5, 1), (4, 0), (2, 2), *([(0, 6)] * (name == "Dice"))):
        function = CONCAVE[name].on_counts(m, q)
        values = values_of(function)
        for scale in SCALES:
            for point in random_margins(generator, m + q, 4):
                fast = searched(monkeypatch, rescaling(function, scale), point)
                expected = by_definition(rescaling, values, point, scale)
                assert fast.exact
                assert fast(point) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@both
def test_a_large_function_that_is_not_concave_is_searched_in_every_cell(rescaling):
    function = from_counts(lambda n, q, m, r: 0.01 * n + (q >= 30)).on_counts(70, 70)
    total = 0.001 * np.add.outer(np.arange(71), np.arange(71))
    expected = function.table * (1 - total) if rescaling is SlackRescaling else function.table - total
    assert rescaling(function, 1.0)(np.full(140, 0.001)) == pytest.approx(expected.max(), rel=1e-12)


# ---------------------------------------------------------------- heuristics


def plain_greedy(objective, p):
    chosen, best = frozenset(), 0.0
    while len(chosen) < p:
        value, i = max((objective(chosen | {i}), i) for i in range(p) if i not in chosen)
        if value <= best:
            break
        chosen, best = chosen | {i}, value
    return best


@both
@pytest.mark.parametrize("shape", [(7,), (4, 3), (3, 2, 3), (2,) * 5])
def test_greedy_is_what_its_name_says(rescaling, shape):
    generator = np.random.default_rng(len(shape))
    for _ in range(10):
        table = generator.random(shape)
        table.flat[0] = 0
        groups = generator.permutation(np.repeat(np.arange(len(shape)), [n - 1 for n in shape]))
        function = SetFunction.from_table(table, groups)
        values = values_of(function)
        m = generator.normal(size=function.p) * 0.5

        def objective(A, values=values, m=m):
            total = sum(m[i] for i in A)
            return values[A] * (1 - 2 * total) if rescaling is SlackRescaling else values[A] - 2 * total

        assert rescaling(function, search="greedy")(m) == pytest.approx(
            plain_greedy(objective, function.p), abs=1e-12
        )


@both
def test_the_scale_mean_is_two_over_the_number_of_elements(rescaling):
    function, m = Dice().on_counts(2, 3), np.linspace(-1, 1, 5)
    assert rescaling(function, "mean")(m) == rescaling(function, 2 / 5)(m)


# ---------------------------------------------------------------- functions known through calls only


def square_root(p):
    return SetFunction.oracle(lambda A: len(A) ** 0.5, p)


@both
@pytest.mark.parametrize("p", [21, 300, 2000])
def test_exact_search_of_a_large_oracle_is_refused_with_the_remedy(rescaling, p):
    with pytest.raises(TableTooLargeError, match=r'search="greedy".*describe the function by counts'):
        rescaling(square_root(p)).cut(np.zeros(p))


@both
def test_a_large_oracle_works_with_a_heuristic(rescaling):
    m = np.random.default_rng(0).normal(size=40)
    symmetric = SetFunction.symmetric(np.arange(41) ** 0.5)
    cut = rescaling(square_root(40), search="greedy").cut(m)
    assert not cut.exact
    assert cut(m) == pytest.approx(rescaling(symmetric, search="greedy")(m), rel=1e-12)
    assert cut(m) <= rescaling(symmetric)(m) + 1e-12


@both
def test_a_small_oracle_is_exact(rescaling):
    function = square_root(6)
    for m in random_margins(np.random.default_rng(3), 6):
        cut = rescaling(function).cut(m)
        assert cut.exact
        assert cut(m) == pytest.approx(by_definition(rescaling, values_of(function), m, 2.0), abs=1e-12)


# ---------------------------------------------------------------- errors


@both
def test_a_negative_function_is_refused_with_a_witness(rescaling):
    with pytest.raises(ValueError, match=f"{rescaling.__name__} .*the value of {{0, 1}} is -2"):
        rescaling(SetFunction.symmetric([0, 1, -2, 1]))


def test_a_negative_oracle_is_refused_where_it_shows():
    function = SetFunction.oracle(lambda A: -float(len(A)), 3)
    with pytest.raises(ValueError, match=r"needs a non-negative function; \[0\] has the value -1"):
        MarginRescaling(function)([-2.0, 3.0, 4.0])


def test_rounding_errors_below_zero_are_as_good_as_zero():
    """The verdict accepts -1e-12 after a value of 1 as non-negative; so must the cut."""
    function = SetFunction.symmetric([0, 1, -1e-12])
    for rescaling in (SlackRescaling, MarginRescaling):
        expected = by_definition(rescaling, values_of(function), [-5.0, 30.0], 2.0)
        assert rescaling(function)([-5.0, 30.0]) == pytest.approx(expected, abs=1e-9)
        assert rescaling(function)([1e6, 1e6]) == 0


@both
@pytest.mark.parametrize("scale", [0, -1, np.nan, np.inf])
def test_the_scale_must_be_positive(rescaling, scale):
    with pytest.raises(ValueError, match=f"{rescaling.__name__}: the scale c .* got {scale}"):
        rescaling(Dice().on_counts(1, 1), scale)
    with pytest.raises(ValueError, match='search is "exact" or "greedy"'):
        rescaling(Dice().on_counts(1, 1), search="best")
