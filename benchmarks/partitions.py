"""setloss.dask: what a cluster costs and gives, and how many rounds local steps save."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import setloss.estimators as local
from benchmarks.measure import Row
from dask import delayed
from setloss.dask import BagClassifier, SetClassifier
from setloss.dask.engines import OnCluster
from setloss.dask.local_steps import LocalSteps
from setloss.dask.repartition import whole_bag_chunks
from setloss.dask.unread_partitions import partitions_of
from setloss.datasets import make_tracks
from setloss.solvers import FrankWolfe, Problem
from setloss.solvers.loop import State

PARTS = 4

FIRST, LAST = 2, 12
"""Iterations are measured after the first of these and up to the last."""


def rows(quick: bool) -> Iterator[Row]:
    yield from latency_rows((1, 4) if quick else (1, 4, 16))
    yield from iteration_rows(5000, 500)
    if not quick:
        yield from iteration_rows(20_000, 500)
        for dtype in ("float32", "float64"):
            yield from iteration_rows(100_000, 2000, dtype, target=1.5)
    yield from round_rows(100 if quick else 400)


# ---------------------------------------------------------------- time


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    """A client of so many worker processes of one thread."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def empty_round(source: Any, index: int, vector: np.ndarray) -> tuple[np.ndarray]:
    """A task that does nothing, and answers with a vector."""
    return (vector,)


def round_seconds(client: Client, parts: int, size: int = 2001, repeats: int = 30) -> float:
    """The shortest time of a round in which nothing is computed and a vector goes there and back."""
    X = da.zeros((5 * parts, 2), chunks=(5, 2))
    engine = OnCluster(client, partitions_of(X, X[:, 0].astype(int)).delayed)
    engine.total(empty_round, np.zeros(size))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        engine.total(empty_round, np.zeros(size))
        times.append(time.perf_counter() - start)
    return min(times)


def latency_rows(counts: tuple[int, ...]) -> Iterator[Row]:
    with cluster_of(1) as client:
        for parts in counts:
            seconds = round_seconds(client, parts)
            yield Row(f"Dask, empty round, partitions: {parts}, seconds / 0.02", seconds, 0.02, 1.0)


def read_rows(file: str, start: int, stop: int) -> np.ndarray:
    """Rows of an array in a file."""
    return np.array(np.load(file, mmap_mode="r")[start:stop])


def stored(tracks: Any, folder: Path) -> tuple[da.Array, da.Array, da.Array]:
    """Tracks in files, read by whoever needs a partition of them."""
    sizes = whole_bag_chunks(tracks.groups, PARTS)
    edges = np.concatenate(([0], np.cumsum(sizes))).tolist()
    found = []
    for name, array in (("X", tracks.X), ("y", tracks.y), ("groups", tracks.groups)):
        file = folder / f"{name}.npy"
        np.save(file, array)
        blocks = [
            da.from_delayed(delayed(read_rows)(str(file), start, stop), (stop - start, *array.shape[1:]), array.dtype)
            for start, stop in pairwise(edges)
        ]
        found.append(da.concatenate(blocks))
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class Cost:
    """Seconds an iteration: the wall and this process as medians, the processors of the workers as a mean.

    `talking` is that part of `workers` in which they talk to the scheduler.
    """

    wall: float
    here: float
    workers: float = 0.0
    talking: float = 0.0


def cost_of_iteration(model: Any, *data: Any) -> Cost:
    """What an iteration of cutting planes costs; workers are asked twice, since every question takes time."""
    client = getattr(model, "client", None)
    marks, answers = [], []

    def look(record: Any) -> None:
        marks.append((time.perf_counter(), time.process_time()))
        if client is not None and record.iteration in (FIRST, LAST):
            answers.append(np.sum(list(client.run(worker_seconds).values()), axis=0))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(tol=0.0, max_iter=LAST, solver="cutting_plane", callbacks=[look]).fit(*data)
    wall, here = np.median(np.diff(np.array(marks[FIRST - 1 :]), axis=0), axis=0)
    if client is None:
        return Cost(wall, here)
    return Cost(wall, here, *(answers[1] - answers[0]) / (LAST - FIRST))


def worker_seconds() -> tuple[float, float]:
    """Processor time of a worker, and of its thread that talks to the scheduler, in which this runs."""
    return time.process_time(), time.thread_time()


def passes_of_processes(file: str, edges: list[int]) -> float:
    """The seconds in which plain processes go twice over their rows, all at a time: the slowest one's median."""
    spawning = get_context("spawn")
    with spawning.Manager() as manager, spawning.Pool(len(edges) - 1) as pool:
        together = manager.Barrier(len(edges) - 1)
        return max(pool.starmap(two_passes, [(file, *ends, together) for ends in pairwise(edges)], chunksize=1))


def two_passes(file: str, start: int, stop: int, together: Any) -> float:
    """The median time of a product with every row and a sum of all rows, in NumPy."""
    X = read_rows(file, start, stop)
    w, s = np.ones(X.shape[1], X.dtype), np.ones(X.shape[0], X.dtype)
    times = []
    for _ in range(LAST - FIRST):
        together.wait()
        begin = time.perf_counter()
        X @ w, s @ X
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def iteration_rows(frames: int, features: int, dtype: str = "float32", target: float | None = None) -> Iterator[Row]:
    """Iterations on workers against those of the local solver, which runs before and after them."""
    tracks = make_tracks(frames // 20, frames, features, dtype=dtype)
    name = f"{frames} frames, d = {features}, {dtype}, an iteration:"

    def here() -> Cost:
        return cost_of_iteration(local.BagClassifier(C=0.3, decision="sign"), tracks.X, tracks.y, tracks.groups)

    before = here()
    with tempfile.TemporaryDirectory() as folder:
        data = stored(tracks, Path(folder))
        with cluster_of(1) as client:
            one = cost_of_iteration(BagClassifier(C=0.3, client=client), *data)
        with cluster_of(2) as client:
            two = cost_of_iteration(BagClassifier(C=0.3, client=client), *data)
        after = here()
        file = str(Path(folder) / "X.npy")
        floor = passes_of_processes(file, [0, frames // 2, frames]) / passes_of_processes(file, [0, frames])
    wall, processor = (before.wall + after.wall) / 2, (before.here + after.here) / 2
    note = f"{one.talking:.3f} s of it talk to the scheduler; driver and scheduler, {one.here:.3f} s, are not in it"
    yield Row(f"{name} 1 worker / local", one.wall, wall, target)
    yield Row(f"{name} 1 worker / local, processor", one.workers, processor, target, note=note)
    yield Row(f"{name} 2 workers / 1", two.wall, one.wall, note=f"passes in 2 plain processes / 1: {floor:.2f}")


# ---------------------------------------------------------------- rounds


def round_rows(bags: int) -> Iterator[Row]:
    """Rounds to a gap of 1e-3, which do not depend on where partitions lie, and passes of a round of local steps."""
    for name, model, data in problems(bags):
        with epochs_counted() as epochs:
            steps = rounds_to_gap(model.set_params(solver="frank_wolfe"), data)
        none = rounds_to_gap(model.set_params(solver="cutting_plane"), data)
        passes = 3 + LocalSteps().epochs * float(np.mean(epochs))
        yield Row(f"rounds, {name}: local steps / none", steps, none, note=f"{passes:.1f} passes a round of steps")


def rounds_to_gap(model: Any, data: tuple[da.Array, ...]) -> int:
    """Rounds of a fit; a gap above 1e-3 is an error."""
    fitted = model.set_params(max_iter=1000, tol=1e-3).fit(*data)
    assert fitted.dual_gap_ <= 1e-3
    return int(fitted.n_rounds_)


@contextmanager
def epochs_counted() -> Iterator[list[float]]:
    """The passes over X of every epoch of Frank-Wolfe in here."""
    found: list[float] = []
    plain = FrankWolfe.epoch

    def epoch(method: FrankWolfe, problem: Problem, state: State, number: int) -> None:
        before = state.passes
        plain(method, problem, state, number)
        found.append(state.passes - before)

    with mock.patch.object(FrankWolfe, "epoch", epoch):
        yield found


def problems(bags: int) -> Iterator[tuple[str, Any, tuple[da.Array, ...]]]:
    """Few features, many features, several labels; four partitions each."""
    for features in (50, 2000):
        tracks = make_tracks(bags, 15 * bags, features, dtype="float32")
        sizes = whole_bag_chunks(tracks.groups, PARTS)
        data = (tracks.X, tracks.y, tracks.groups)
        cut = tuple(da.from_array(array, chunks=(sizes, *array.shape[1:])) for array in data)
        yield f"{bags} bags, d = {features}", BagClassifier(C=0.3), cut
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4 * bags, 100)) / 10
    Y = (X @ generator.normal(size=(100, 10)) + 0.3 * generator.normal(size=(len(X), 10)) > 0.3).astype(int)
    chunks = len(X) // PARTS
    yield (
        f"{len(X)} label sets, d = 100, p = 10",
        SetClassifier(C=0.3),
        tuple(da.from_array(array, chunks=(chunks, -1)) for array in (X, Y)),
    )
