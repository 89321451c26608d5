"""setloss.dask: what a cluster costs and gives, and how many rounds local steps save."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client, LocalCluster

import setloss.estimators as local
from benchmarks.measure import Row
from setloss.dask import BagClassifier, SetClassifier
from setloss.dask.collections import parts_of
from setloss.dask.engines import OnCluster
from setloss.dask.repartition import whole_bag_chunks
from setloss.datasets import make_tracks

PARTS = 4


def rows(quick: bool) -> Iterator[Row]:
    yield from latency_rows((1, 4) if quick else (1, 4, 16))
    for features in (500,) if quick else (500, 2000):
        yield from iteration_rows(n_bags=300 if quick else 1000, n_frames=5000 if quick else 20000, features=features)
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
    engine = OnCluster(client, parts_of(X, X[:, 0].astype(int)).delayed)
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
            yield Row(f"Dask, empty round, partitions: {parts}, seconds / 0.03", seconds, 0.03)


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


def seconds_per_iteration(model: Any, *data: Any) -> float:
    """Of the fastest iteration but the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = model.set_params(tol=0.0, max_iter=8, solver="cutting_plane").fit(*data).solution_.history
    return min(after.seconds - before.seconds for before, after in pairwise(history))


def iteration_rows(n_bags: int, n_frames: int, features: int) -> Iterator[Row]:
    tracks = make_tracks(n_bags, n_frames, features, dtype="float32")
    name = f"{n_frames} frames, d = {features}, cutting plane iteration:"
    here = seconds_per_iteration(local.BagClassifier(C=0.3), tracks.X, tracks.y, tracks.groups)
    with tempfile.TemporaryDirectory() as folder:
        data = stored(tracks, Path(folder))
        with cluster_of(1) as client:
            one = seconds_per_iteration(BagClassifier(C=0.3, client=client), *data)
        with cluster_of(2) as client:
            two = seconds_per_iteration(BagClassifier(C=0.3, client=client), *data)
    yield Row(f"{name} 1 worker / local", one, here)
    yield Row(f"{name} 2 workers / 1", two, one)


# ---------------------------------------------------------------- rounds


def round_rows(bags: int) -> Iterator[Row]:
    """Rounds to a gap of 1e-3; they do not depend on where the partitions lie."""
    for name, model, data in problems(bags):
        rounds = {}
        for solver in ("frank_wolfe", "cutting_plane"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = model.set_params(solver=solver, max_iter=500).fit(*data)
            rounds[solver] = fitted.n_rounds_
            note = "" if fitted.dual_gap_ <= 1e-3 else f"{solver} stopped at gap {fitted.dual_gap_:.1e}"
        yield Row(
            f"rounds to gap 1e-3, {name}: local steps / none",
            rounds["frank_wolfe"],
            rounds["cutting_plane"],
            note=note,
        )


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
