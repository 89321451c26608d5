"""Training: certified solves against LinearSVC on the flattened frames, passes over X, memory, growth."""

from __future__ import annotations

import os
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from benchmarks.measure import Row, best_time, side_by_side
from experiments.generators import make_tracks
from setloss.estimators import SetClassifier
from setloss.io import read
from setloss.losses import PAPER_CURVES
from setloss.operators import OPERATOR_NAMES
from setloss.plans.batch import batch_surrogate
from setloss.solvers import CuttingPlane, Design, Limits, Problem, solve

DATA = Path(os.environ.get("SETLOSS_DATA", Path(__file__).parents[2] / "shared" / "data"))


def track_problem(X: np.ndarray, y: np.ndarray, groups: np.ndarray, C: float, operator: str = "bd") -> Problem:
    """Bags that lie one after the other, loss 1 of the paper, no intercept."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(groups)) + 1, [len(y)]))
    batch = batch_surrogate(PAPER_CURVES["curve1"], y, starts, operator)
    size, bags = len(y), len(starts) - 1
    return Problem(Design.of(X), batch, np.where(y == 1, 1, -1), np.arange(size), np.full(bags, C))


def rows(quick: bool) -> Iterator[Row]:
    yield from toy_rows()
    shape = {"n_bags": 180, "n_frames": 3438} if quick else {}
    tracks = make_tracks(**shape)
    yield from track_rows(tracks, "180 tracks" if quick else "1437 tracks")
    yield from cutting_plane_rows(tracks)
    yield from growth_rows(tracks)
    if DATA.is_dir():
        names = ("emotions", "medical") if quick else ("emotions", "scene", "yeast", "medical")
        for C in (0.1,) if quick else (0.1, 1.0):
            yield from label_rows(names, C)


def toy_rows() -> Iterator[Row]:
    generator = np.random.default_rng(0)
    labels = np.repeat(generator.random(500) < 0.5, 10)
    X = generator.normal(size=(5000, 2)) + np.where(labels, 0.8, -0.8)[:, None]
    problem = track_problem(X, labels.astype(int), np.repeat(np.arange(500), 10), 1.0)
    seconds = best_time(lambda: solve(problem, limits=Limits(tol=1e-4)), repeats=10)
    yield Row("500 bags x 10, d = 2, gap 1e-4: seconds / 0.040", seconds, 0.040, 1)


def track_rows(tracks, name: str) -> Iterator[Row]:
    length = len(tracks.y) / len(np.unique(tracks.groups))
    for C in (0.03, 0.3, 3.0):
        problem = track_problem(tracks.X, tracks.y, tracks.groups, C)
        # A bag of p frames costs at most C; a frame of the flattened data C over the mean length.
        svm = LinearSVC(loss="hinge", C=C / length, tol=1e-3, fit_intercept=False, max_iter=10000)
        found = []
        ours, reference = side_by_side(
            lambda problem=problem, found=found: found.append(solve(problem)),
            lambda svm=svm: svm.fit(tracks.X, tracks.y),
            repeats=1,
        )
        note = f"gap {found[-1].gap:.1e} after {found[-1].iterations} epochs"
        yield Row(f"{name}, B_D curve 1, C = {C:g} / LinearSVC", ours, reference, 2, note=note)


def cutting_plane_rows(tracks) -> Iterator[Row]:
    problem = track_problem(tracks.X, tracks.y, tracks.groups, 0.3)
    iterations = 10
    start = time.perf_counter()
    solve(problem, CuttingPlane(), Limits(tol=0.0, max_iter=iterations))
    ours = (time.perf_counter() - start) / (iterations + 0.5)
    parameters, slopes = np.zeros(problem.shape), np.ones(len(problem.signs))
    passes = best_time(lambda: (problem.margins(parameters), problem.parameters(slopes)), repeats=5)
    yield Row("one-slack iteration / two passes over X", ours, passes, 1.2)
    tracemalloc.start()
    solve(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    yield Row("peak memory of a fit beyond X / X (bytes)", peak, tracks.X.nbytes, 1.3)


def growth_rows(tracks) -> Iterator[Row]:
    """Time per frame of the same number of epochs, all bags against an eighth of them."""
    bags = len(np.unique(tracks.groups))
    few = np.searchsorted(np.unique(tracks.groups, return_inverse=True)[1], bags // 8)
    limits = Limits(tol=0.0, max_iter=5)
    problems = [
        track_problem(tracks.X[:size], tracks.y[:size], tracks.groups[:size], 0.3) for size in (len(tracks.y), few)
    ]
    whole, part = (best_time(lambda p=p: solve(p, "frank_wolfe", limits), repeats=2) for p in problems)
    yield Row("time per frame, all bags / an eighth of them", whole / len(tracks.y), part / few, 1.3)


def label_rows(names: tuple[str, ...], C: float) -> Iterator[Row]:
    """Every operator to a gap of 1e-3 on real label sets, in CPU seconds; the reference is 10 s."""
    for name in names:
        data = read(DATA / name / f"{name}-train.arff")
        X = MaxAbsScaler().fit_transform(data.X)
        slowest, note = 0.0, ""
        for operator in OPERATOR_NAMES:
            loss = "jaccard" if operator == "lovasz" else "dice"
            model = SetClassifier(loss, operator, C=C, max_iter=10**6, max_time=60)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, data.Y)
            seconds = time.process_time() - start
            if seconds > slowest:
                slowest, note = seconds, f"slowest operator: {operator}, gap {model.dual_gap_:.1e}"
        yield Row(f"{name}, C = {C:g}, all operators: slowest / 10 s", slowest, 10.0, 1, note=note)
