"""Checkpoints: resumed after kill -9, written in one step, and refused wherever they do not belong."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from helpers.children import ENVIRONMENT
from helpers.problems import tracks
from setloss import Hamming
from setloss.solvers import CheckpointError, CheckpointWarning, FrankWolfe, Limits, Status, solve

SOLVERS = ("cutting_plane", "n_slack", "newton", "frank_wolfe", "subgradient")
every_solver = pytest.mark.parametrize("solver", SOLVERS)
LONG = {"sizes": (4, 7, 3, 5) * 10, "d": 8, "C": 3.0}
"""A problem of some thirty iterations, so that stopping in its middle means something."""


@pytest.fixture(scope="module")
def case():
    return tracks("dice", "bd", **LONG)


@pytest.fixture(scope="module")
def problem(case):
    return case.problem


@pytest.fixture(scope="module")
def minimum(problem):
    return solve(problem, "n_slack", Limits(1e-7)).dual


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.npz"


def resumable(solver):
    """Iterations enough for the whole run."""
    return 10_000 if solver == "frank_wolfe" else 200


def written(problem, path, solver="cutting_plane", max_iter=4):
    """A checkpoint of a run cut short."""
    solve(problem, solver, Limits(1e-12, max_iter, checkpoint=path))
    return path


# ---------------------------------------------------------------- resuming


@pytest.mark.parametrize("solver", ["cutting_plane", "n_slack", "frank_wolfe"])
@pytest.mark.parametrize("stopped_after", [1, 3, 8])
def test_a_resumed_run_reaches_the_same_certified_objective(case, path, minimum, solver, stopped_after):
    problem, tolerance = case.problem, 1e-3 if solver == "frank_wolfe" else 1e-5
    solve(problem, solver, Limits(tolerance, stopped_after, checkpoint=path))
    resumed = solve(problem, solver, Limits(tolerance, resumable(solver), checkpoint=path))
    assert resumed.status is Status.CONVERGED
    assert resumed.primal == pytest.approx(case.objective(resumed.parameters), rel=1e-9)
    assert resumed.dual <= minimum * (1 + 1e-6) <= resumed.primal * (1 + 2e-6)
    assert resumed.primal == pytest.approx(minimum, rel=2 * tolerance)


@every_solver
def test_every_record_after_resuming_is_true(case, path, solver):
    """The primal value found so far is that of the parameters kept, from the first iteration on."""
    for stop in (2, 3, 5, 10, 22):
        solution = solve(case.problem, solver, Limits(1e-12, stop, checkpoint=path))
        assert solution.primal == pytest.approx(case.objective(solution.parameters), rel=1e-9)
        assert solution.dual <= solution.primal * (1 + 1e-12)


@every_solver
def test_stopping_and_resuming_takes_as_many_iterations_as_running_through(problem, path, solver):
    through = solve(problem, solver, Limits(1e-3, 60))
    for stop in (5, 9, 20, 60):
        resumed = solve(problem, solver, Limits(1e-3, stop, checkpoint=path))
        if resumed.status is Status.CONVERGED:
            break
    assert resumed.iterations <= 1.5 * through.iterations + 5
    assert resumed.primal == pytest.approx(through.primal, rel=0.05)


@every_solver
def test_iterations_passes_and_seconds_go_on_counting(problem, path, solver):
    first = solve(problem, solver, Limits(1e-12, 3, checkpoint=path))
    record = solve(problem, solver, Limits(1e-12, 5, checkpoint=path)).history[0]
    assert record.iteration == 4
    assert record.passes > first.history[-1].passes
    assert record.seconds > first.history[-1].seconds


def test_a_run_resumed_at_its_iteration_limit_says_how_many_iterations_there_were(problem, path):
    first = solve(problem, "cutting_plane", Limits(1e-12, 5, checkpoint=path))
    again = solve(problem, "cutting_plane", Limits(1e-12, 5, checkpoint=path))
    assert (again.primal, again.dual) == (first.primal, first.dual)
    assert again.status is Status.ITERATION_LIMIT
    assert again.iterations == 5


def test_a_finished_run_resumes_as_finished(problem, path):
    first = solve(problem, "cutting_plane", Limits(1e-3, 1000, checkpoint=path))
    again = solve(problem, "cutting_plane", Limits(1e-3, first.iterations, checkpoint=path))
    assert again.status is Status.CONVERGED
    assert again.primal <= first.primal


CHILD = """
import sys
from setloss.solvers import Limits, solve
from helpers.problems import tracks
problem = tracks("dice", "bd", **{sizes!r}).problem
def run(solver, at_the_fifth):
    call = lambda record: record.iteration < 5 or at_the_fifth()
    solve(problem, solver, Limits(1e-15, 10**6, None, (call,), {folder!r} + "/" + solver, 0.0))
def wait():
    print("waiting", flush=True)
    sys.stdin.read()
run("frank_wolfe", lambda: run("cutting_plane", wait))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The checkpoints of two runs, one within a callback of the other, that were killed in their fifth iteration."""
    folder = tmp_path_factory.mktemp("killed")
    ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    script = CHILD.format(sizes=LONG, folder=str(folder))
    with subprocess.Popen([sys.executable, "-c", script], **ends, env=ENVIRONMENT) as child:
        assert child.stdout.readline() == b"waiting\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    return folder


@pytest.mark.parametrize("solver", ["frank_wolfe", "cutting_plane"])
def test_a_run_killed_by_signal_9_is_resumed(case, killed, minimum, solver):
    path, tolerance = killed / solver, 1e-3
    resumed = solve(case.problem, solver, Limits(tolerance, resumable(solver), checkpoint=path))
    assert resumed.history[0].iteration == 5
    assert resumed.status is Status.CONVERGED
    assert resumed.primal == pytest.approx(minimum, rel=2 * tolerance)
    assert resumed.primal == pytest.approx(case.objective(resumed.parameters), rel=1e-9)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda case: {"X": 2 * case.X}, id="features"),
        pytest.param(lambda case: {"truth": ~case.truth}, id="labels"),
        pytest.param(lambda case: {"costs": 2 * case.costs}, id="C"),
        pytest.param(lambda case: {"operator": "slack"}, id="operator"),
        pytest.param(lambda case: {"loss": Hamming()}, id="loss"),
        pytest.param(lambda case: {"scale": 1.0}, id="scale"),
        pytest.param(lambda case: {"constant": 0.0}, id="intercept"),
        pytest.param(lambda case: {"sparse": True}, id="storage"),
        pytest.param(lambda case: {"X": case.X.astype(np.float32)}, id="precision"),
    ],
)
def test_a_checkpoint_of_another_problem_is_refused(case, path, change):
    written(case.problem, path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="belongs to another problem or solver"):
        solve(type(case)(**(vars(case) | change(case))).problem, "cutting_plane", Limits(checkpoint=path))
    assert path.read_bytes() == before


@every_solver
def test_a_checkpoint_of_another_solver_is_refused(problem, path, solver):
    written(problem, path, "n_slack" if solver == "cutting_plane" else "cutting_plane", 2)
    with pytest.raises(CheckpointError, match="another problem or solver"):
        solve(problem, solver, Limits(checkpoint=path))


def test_a_checkpoint_of_another_configuration_is_refused(problem, path):
    solve(problem, FrankWolfe(capacity=8), Limits(1e-12, 2, checkpoint=path))
    with pytest.raises(CheckpointError, match="does not fit this problem"):
        solve(problem, FrankWolfe(capacity=16), Limits(checkpoint=path))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_checkpoint_is_refused(problem, path, share):
    content = written(problem, path).read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match="not a checkpoint of setloss, or it is damaged"):
        solve(problem, "cutting_plane", Limits(checkpoint=path))


def test_a_checkpoint_with_a_flipped_byte_is_refused_or_still_true(case, path):
    """Bytes nobody reads may differ; whatever is accepted has to be the state that was written."""
    content = written(case.problem, path).read_bytes()
    expected = solve(case.problem, "cutting_plane", Limits(1e-12, 4, checkpoint=path))
    for place in np.random.default_rng(0).integers(0, len(content), size=150):
        broken = bytearray(content)
        broken[place] ^= 0x55
        path.write_bytes(bytes(broken))
        try:
            found = solve(case.problem, "cutting_plane", Limits(1e-12, 4, checkpoint=path))
        except CheckpointError:
            continue
        np.testing.assert_array_equal(found.parameters, expected.parameters)
        assert (found.primal, found.dual) == (expected.primal, expected.dual)


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_are_refused(problem, path, seed):
    path.write_bytes(np.random.default_rng(seed).bytes(1000))
    with pytest.raises(CheckpointError, match="not a checkpoint of setloss"):
        solve(problem, "cutting_plane", Limits(checkpoint=path))


def other_npz(path):
    np.savez(path, x=np.eye(3))


def compressed_npz(path):
    np.savez_compressed(path, x=np.eye(3))


def npy(path):
    with path.open("wb") as file:
        np.save(file, np.eye(3))


def pickled(path):
    np.savez(path, header=np.array({"format": "setloss-checkpoint-2"}, dtype=object))


def other_format(path):
    np.savez(path, header=np.array(json.dumps({"format": "setloss-checkpoint-0"})))


def header_without_fields(path):
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays["header"]))
    arrays["header"] = np.array(json.dumps({name: header[name] for name in ("format", "fingerprint")}))
    np.savez(path, **arrays)


def header_that_is_a_list(path):
    np.savez(path, header=np.array("[1, 2]"))


def folder(path):
    path.unlink()
    path.mkdir()


def planes_of_unequal_number(path):
    with np.load(path) as file:
        arrays = dict(file)
    arrays["plane_offsets"] = arrays["plane_offsets"][:-1]
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    "spoil",
    [
        other_npz,
        compressed_npz,
        npy,
        pickled,
        other_format,
        header_without_fields,
        header_that_is_a_list,
        folder,
        planes_of_unequal_number,
    ],
)
def test_a_file_of_something_else_is_refused(problem, path, spoil):
    written(problem, path)
    spoil(path)
    with pytest.raises(CheckpointError, match=r"[Dd]elete it|is a folder"):
        solve(problem, "cutting_plane", Limits(checkpoint=path))


def test_a_missing_folder_is_said_before_the_work_begins(problem, tmp_path):
    with pytest.raises(CheckpointError, match=r"folder of the checkpoint .* does not exist; create it first"):
        solve(problem, "cutting_plane", Limits(checkpoint=tmp_path / "nowhere" / "state.npz"))


# ---------------------------------------------------------------- writing


@every_solver
def test_nothing_but_the_checkpoint_is_left_in_the_folder(problem, path, solver):
    solve(problem, solver, Limits(1e-3, 10, checkpoint=path, checkpoint_seconds=0.0))
    assert list(path.parent.iterdir()) == [path]


def test_a_path_may_be_a_string(problem, path):
    solve(problem, "cutting_plane", Limits(1e-2, checkpoint=str(path)))
    assert path.exists()


def savez_that_raises(error):
    def half(file, **arrays):
        file.write(b"half")
        raise error

    return half


def test_a_write_that_is_interrupted_leaves_the_old_file_intact(problem, path, monkeypatch):
    before = written(problem, path).read_bytes()
    monkeypatch.setattr(np, "savez", savez_that_raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        solve(problem, "cutting_plane", Limits(1e-12, 6, checkpoint=path))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_is_a_warning_and_the_work_goes_on(problem, path, monkeypatch):
    through = solve(problem, "cutting_plane", Limits(1e-12, 6))
    before = written(problem, path).read_bytes()
    monkeypatch.setattr(np, "savez", savez_that_raises(OSError(28, "No space left on device")))
    with pytest.warns(CheckpointWarning, match=r"state\.npz cannot be written \(No space left on device\)") as said:
        found = solve(problem, "cutting_plane", Limits(1e-12, 6, checkpoint=path, checkpoint_seconds=0.0))
    assert len(said) == 1
    assert found.primal == pytest.approx(through.primal, rel=1e-9)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_second_run_on_the_same_checkpoint_is_told_so(problem, path):
    def second(record):
        with pytest.raises(CheckpointError, match="another run is writing the checkpoint"):
            solve(problem, "cutting_plane", Limits(1e-12, 2, checkpoint=path))

    first = solve(problem, "cutting_plane", Limits(1e-12, 2, callbacks=(second,), checkpoint=path))
    assert first.iterations == 2
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iteration", float("inf")),
        ("iteration", -7),
        ("iteration", 2.5),
        ("iteration", True),
        ("iteration", 2**70),
        ("passes", -1.0),
        ("seconds", float("inf")),
        ("seconds", -3.0),
        ("exact", 1),
        ("primal", float("nan")),
        ("dual", "0"),
    ],
)
def test_a_header_that_no_run_can_have_is_refused(problem, path, name, value):
    with np.load(written(problem, path)) as file:
        arrays = dict(file)
    arrays["header"] = np.array(json.dumps(json.loads(str(arrays["header"])) | {name: value}))
    np.savez(path, **arrays)
    with pytest.raises(CheckpointError, match=f"for {name} in its header"):
        solve(problem, "cutting_plane", Limits(checkpoint=path))


def test_a_pipe_in_place_of_a_checkpoint_is_refused_at_once(problem, path):
    os.mkfifo(path)
    with pytest.raises(CheckpointError, match="is a pipe; give the name of a file"):
        solve(problem, "cutting_plane", Limits(checkpoint=path))


def test_intervals_are_kept(problem, path, monkeypatch):
    times = []
    savez = np.savez
    monkeypatch.setattr(np, "savez", lambda file, **arrays: (times.append(1), savez(file, **arrays)))
    solve(problem, "cutting_plane", Limits(1e-12, 6, checkpoint=path, checkpoint_seconds=3600))
    assert len(times) == 1
    path.unlink()
    solve(problem, "cutting_plane", Limits(1e-12, 6, checkpoint=path, checkpoint_seconds=0))
    assert len(times) == 1 + 7


def test_an_interrupted_run_can_be_resumed(case, path, minimum):
    def interrupt(record):
        if record.iteration == 4:
            raise KeyboardInterrupt

    stopped = solve(case.problem, "cutting_plane", Limits(1e-5, 1000, None, (interrupt,), path))
    assert stopped.status is Status.INTERRUPTED
    resumed = solve(case.problem, "cutting_plane", Limits(1e-5, 150, checkpoint=path))
    assert resumed.history[0].iteration == 5
    assert resumed.primal == pytest.approx(minimum, rel=2e-5)


@pytest.mark.parametrize("solver", ["cutting_plane", "n_slack"])
def test_an_interruption_in_the_middle_of_an_iteration_leaves_a_checkpoint_that_can_be_resumed(
    case, path, minimum, monkeypatch, solver
):
    append, calls = np.append, []

    def interrupted_append(*arguments):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return append(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(np, "append", interrupted_append)
        stopped = solve(case.problem, solver, Limits(1e-5, 150, checkpoint=path))
    assert stopped.status is Status.INTERRUPTED
    resumed = solve(case.problem, solver, Limits(1e-5, 150, checkpoint=path))
    assert resumed.status is Status.CONVERGED
    assert resumed.primal == pytest.approx(minimum, rel=2e-5)


def test_paths_and_costs_have_checkpoints_of_their_own(problem, path):
    written(problem, path)
    with pytest.raises(CheckpointError):
        solve(replace(problem, costs=problem.costs * 1.000001), "cutting_plane", Limits(checkpoint=path))
