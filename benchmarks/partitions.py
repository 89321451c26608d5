"""setloss.dask: the processor time of an iteration on a worker against one of the local solver."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import setloss.estimators as local
from benchmarks.measure import Row
from dask import delayed
from setloss.dask import DaskSetClassifier as SetClassifier

PARTS, BAG = 4, 20
"""Partitions, and frames of a bag."""

FIRST, LAST = 2, 12
"""Iterations are measured after the first of these and up to the last."""


def rows(quick: bool) -> Iterator[Row]:
    """One worker of one thread, driver and scheduler not counted."""
    frames, features = (20_000, 500) if quick else (100_000, 2000)
    parts = [tracks(frames // PARTS, features, seed) for seed in range(PARTS)]
    here = seconds_of_iteration(local.SetClassifier(C=0.3), None, *map(np.concatenate, zip(*parts, strict=True)))
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        data = collections(frames // PARTS, features)
        there = seconds_of_iteration(SetClassifier(C=0.3), client, *data)
    yield Row(f"Dask, {frames} x {features}, an iteration: 1 worker / local", there, here, None if quick else 2.0)


def tracks(frames: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frames, labels and names of bags, with noise of the bag and of the frame."""
    generator = np.random.default_rng(seed)
    groups = np.arange(frames) // BAG
    y = generator.random(frames // BAG)[groups] < 0.3
    X = generator.standard_normal((frames, features), dtype=np.float32)
    X += generator.standard_normal((frames // BAG, features), dtype=np.float32)[groups]
    X[:, 0] += np.where(y, 2.0, -2.0)
    X /= np.sqrt(features)
    return X, y.astype(int), groups + seed * frames


def collections(frames: int, features: int) -> tuple[da.Array, da.Array, da.Array]:
    """The same as Dask arrays, which a worker makes."""
    made = [delayed(tracks, nout=3)(frames, features, seed) for seed in range(PARTS)]
    X, y, groups = zip(*made, strict=True)
    return (
        da.concatenate([da.from_delayed(block, (frames, features), np.float32) for block in X]),
        *(da.concatenate([da.from_delayed(block, (frames,), int) for block in blocks]) for blocks in (y, groups)),
    )


def seconds_of_iteration(model: Any, client: Client | None, X: Any, y: Any, groups: Any) -> float:
    """Processor seconds of an iteration of cutting planes, in this process or in all workers together."""
    marks = {}

    def look(record: Any) -> None:
        if record.iteration in (FIRST, LAST):
            spent = [time.process_time()] if client is None else client.run(time.process_time).values()
            marks[record.iteration] = sum(spent)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(tol=0.0, max_iter=LAST, solver="cutting_plane", callbacks=[look])
        model.fit(X, y, groups=groups)
    return float(marks[LAST] - marks[FIRST]) / (LAST - FIRST)
