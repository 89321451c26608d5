"""CPU time of `CountClassifier` to a gap of 1e-4, against a logistic regression for each label at the same C."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.measure import Row
from benchmarks.training_parts import training_parts
from experiments.label_sets.protocol import scaling
from setloss.estimators import CountClassifier

NAMES = ("yeast", "scene", "medical")


def rows(quick: bool) -> Iterator[Row]:
    for name, X, Y in _data():
        for C in (10.0,) if quick else (1.0, 10.0):
            reference = OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000))
            ours = _cpu_time(lambda C=C, X=X, Y=Y: CountClassifier(C=C).fit(X, Y))
            theirs = _cpu_time(lambda model=reference, X=X, Y=Y: model.fit(X, Y))
            yield Row(f"CountClassifier, {name}, C = {C:g} / logistic regression per label", ours, theirs, 3.0)


def _data() -> Iterator[tuple[str, Any, Any]]:
    """Training parts of label sets in the folder SETLOSS_DATA, without constant labels; or one generated set."""
    folder = Path(os.environ.get("SETLOSS_DATA", ""))
    if not all((folder / name).is_dir() for name in NAMES):
        generator = np.random.default_rng(0)
        X = generator.normal(size=(1500, 103)) / np.sqrt(103)
        scores = 5 * X @ generator.normal(size=(103, 14)) + generator.logistic(size=(1500, 14))
        yield "generated", X, (scores > 1).astype(np.int8)
        return
    for data in training_parts(folder, NAMES):
        varying = (data.Y.min(axis=0) == 0) & (data.Y.max(axis=0) == 1)
        yield data.name, make_pipeline(*scaling(data.X)).fit_transform(data.X), data.Y[:, varying]


def _cpu_time(run: Callable[[], object], repeats: int = 3) -> float:
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)
