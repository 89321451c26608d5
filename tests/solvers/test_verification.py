"""What a checkpoint claims is computed again: edited files forge no gap, honest ones go on to the same digits."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.problems import label_sets, tracks
from setloss.solvers import CheckpointError, FrankWolfe, Limits, NSlack, Status, solve
from setloss.solvers.verification import AGREES, agreeing, not_above, true_dual_points

SOLVERS = ("cutting_plane", "n_slack", "newton", "frank_wolfe", "subgradient")
every_solver = pytest.mark.parametrize("solver", SOLVERS)
ROUNDING = 1e-7


@pytest.fixture(scope="module")
def problem():
    return tracks("dice", "bd", sizes=(4, 7, 3, 5) * 2, d=5, C=3.0).problem


@pytest.fixture(scope="module")
def minimum(problem):
    """By a program of its own, without any checkpoint."""
    return solve(problem, "n_slack", Limits(1e-9)).dual


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.npz"


def edited(path, change):
    """Change the header and the arrays of a checkpoint."""
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


def objective(problem, parameters):
    return problem.primal(parameters, problem.cuts(problem.margins(parameters)).values)


# ---------------------------------------------------------------- the same digits


@every_solver
@pytest.mark.parametrize("layout", [tracks, label_sets])
@pytest.mark.parametrize("operator", ["bd", "slack"])
def test_a_resumed_run_goes_on_to_the_same_digits(path, solver, layout, operator):
    problem = layout("dice", operator, C=3.0).problem
    through = solve(problem, solver, Limits(1e-12, 24))
    for stop in (1, 4, 5, 13, 24):
        resumed = solve(problem, solver, Limits(1e-12, stop, checkpoint=path))
        if resumed.status is not Status.ITERATION_LIMIT:
            break
    assert resumed.iterations == through.iterations
    assert (resumed.primal, resumed.dual) == (through.primal, through.dual)
    np.testing.assert_array_equal(resumed.parameters, through.parameters)
    for before, after in zip(through.history[::-1], resumed.history[::-1], strict=False):
        assert (before.iteration, before.primal, before.dual) == (after.iteration, after.primal, after.dual)
        assert before.passes == after.passes


@pytest.mark.parametrize("method", [NSlack(reoptimise_after=3), FrankWolfe(memory=2, capacity=3)], ids=repr)
def test_methods_that_are_set_up_by_hand_go_on_to_the_same_digits(problem, path, method):
    through = solve(problem, method, Limits(1e-12, 12))
    for stop in (2, 4, 12):
        resumed = solve(problem, method, Limits(1e-12, stop, checkpoint=path))
        if resumed.status is not Status.ITERATION_LIMIT:
            break
    assert (resumed.primal, resumed.dual) == (through.primal, through.dual)


# ---------------------------------------------------------------- forged numbers


@every_solver
@pytest.mark.parametrize("claim", [{"dual": 1e6}, {"primal": 1e-6}, {"primal": 0.0, "dual": 0.0}, "equal"])
def test_objectives_in_the_header_are_not_believed(problem, path, minimum, solver, claim):
    solve(problem, solver, Limits(1e-12, 3, checkpoint=path))

    def forge(header, arrays):
        header.update({"dual": header["primal"]} if claim == "equal" else claim)

    edited(path, forge)
    found = solve(problem, solver, Limits(1e-12, 3, checkpoint=path))
    assert found.primal == pytest.approx(objective(problem, found.parameters), rel=1e-9)
    assert found.dual <= minimum * (1 + ROUNDING)


@every_solver
def test_every_array_of_numbers_may_be_forged_and_no_bound_is_false(problem, path, minimum, solver):
    solve(problem, solver, Limits(1e-12, 3, checkpoint=path))
    with np.load(path) as file:
        names = [name for name in file.files if name != "header" and file[name].dtype == np.float64]
    honest = path.read_bytes()
    for name in names:
        for factor in (-1.0, 1.5, 100.0):
            path.write_bytes(honest)

            def forge(header, arrays, name=name, factor=factor):
                arrays[name] = factor * arrays[name] + (factor - 1)
                header["dual"] = header["primal"]

            edited(path, forge)
            judge(problem, path, solver, minimum, 3)


@pytest.fixture
def honest(problem, path, solver):
    """A checkpoint after four iterations."""
    solve(problem, solver, Limits(1e-12, 4, checkpoint=path))
    return path.read_bytes()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@every_solver
def test_random_edits_never_make_a_gap_smaller_than_the_true_one(problem, path, minimum, solver, honest, data):
    path.write_bytes(honest)
    number = st.one_of(
        st.floats(-3, 3), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1.0, -1.0, 1e-12])
    )

    def forge(header, arrays):
        for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=3)):
            values = arrays[name].reshape(-1)
            for place in data.draw(st.lists(st.integers(0, max(values.size - 1, 0)), max_size=3)):
                if values.size:
                    drawn = data.draw(number)
                    values[place] = drawn if values.dtype.kind == "f" else int(np.clip(drawn, -9, 99))
        header["dual"], header["primal"] = data.draw(number), data.draw(number)

    edited(path, forge)
    judge(problem, path, solver, minimum, data.draw(st.integers(4, 6)))


def judge(problem, path, solver, minimum, max_iter):
    """A forged file is refused, or what comes of it is true."""
    try:
        found = solve(problem, solver, Limits(1e-12, max_iter, checkpoint=path))
    except CheckpointError:
        return
    assert found.primal == pytest.approx(objective(problem, found.parameters), rel=1e-8)
    assert found.dual <= minimum * (1 + ROUNDING)
    true_gap = (found.primal - minimum) / found.primal
    assert found.gap >= true_gap - ROUNDING


@every_solver
def test_a_forged_file_is_still_a_start(problem, path, minimum, solver):
    solve(problem, solver, Limits(1e-12, 4, checkpoint=path))

    def forge(header, arrays):
        for name in ("planes", "plane_offsets", "atoms", "atom_offsets", "dual_slopes", "dual_offsets"):
            if name in arrays:
                arrays[name] = arrays[name] * 3 + 1

    edited(path, forge)
    found = solve(problem, solver, Limits(1e-3, 3000, checkpoint=path))
    assert found.dual <= minimum * (1 + ROUNDING)
    assert found.primal <= minimum * (1.01 if solver != "subgradient" else 1.2)


# ---------------------------------------------------------------- the pieces


def test_what_is_right_to_rounding_is_kept():
    assert agreeing(1.0 + AGREES / 2, 1.0) == 1.0 + AGREES / 2
    assert agreeing(1.1, 1.0) == 1.0
    assert agreeing(np.inf, 1.0) == np.inf
    assert not_above(0.5, 1.0) == 0.5
    assert not_above(1.5, 1.0) == 1.0
    assert not_above(5.0, -np.inf) == -np.inf
    assert not_above(-np.inf, -np.inf) == -np.inf


@pytest.mark.parametrize(
    ("loss", "operator"), [("dice", "bd"), ("jaccard", "lovasz"), ("curve4", "bd"), ("dice", "slack")]
)
def test_mixtures_of_cuts_are_confirmed_and_others_moved_to_true_points(loss, operator):
    problem = tracks(loss, operator, sizes=(3, 5, 2, 6, 4)).problem
    generator = np.random.default_rng(0)
    draws = [problem.cuts(generator.normal(scale=2.0, size=len(problem.signs))) for _ in range(3)]
    shares = generator.dirichlet(np.ones(3))
    slopes = sum(share * np.asarray(cuts.slopes) for share, cuts in zip(shares, draws, strict=True))
    offsets = sum(share * cuts.offsets for share, cuts in zip(shares, draws, strict=True))
    margins = generator.normal(size=len(slopes))
    kept = true_dual_points(problem, margins, slopes, offsets)
    np.testing.assert_array_equal(kept[0], slopes)
    np.testing.assert_array_equal(kept[1], offsets)
    moved = true_dual_points(problem, margins, 2 * slopes + 1, offsets + 1)
    for _ in range(200):
        elsewhere = generator.normal(scale=generator.choice([0.1, 1.0, 10.0]), size=len(slopes))
        heights = moved[1] - problem.surrogate.bags.totals(moved[0] * elsewhere)
        assert np.all(heights <= problem.cuts(elsewhere).values + 1e-9)
