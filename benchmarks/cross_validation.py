"""CPU time of choosing C: 5 folds x 10 values of C with warm starts, against 10 single fits at the largest C."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import Row
from benchmarks.training_parts import training_parts
from setloss.estimators import SetClassifier, SetClassifierCV

CS = tuple(np.logspace(-3, 0, 10).tolist())
FITS = 10.0


def rows(quick: bool) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    for name, X, Y in _data(quick):
        SetClassifier(max_iter=2).fit(X, Y)  # kernels are compiled
        single = _cpu_time(SetClassifier(C=CS[-1]), X, Y)
        search = _cpu_time(SetClassifierCV(Cs=CS, cv=5), X, Y)
        yield Row(f"SetClassifierCV, {name}: 5 folds x 10 C / one fit at C = {CS[-1]:g}", search, single, FITS)


def _data(quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Generated label sets, and birds if the folder SETLOSS_DATA has them."""
    generator = np.random.default_rng(0)
    n, p = (200, 10) if quick else (1000, 50)
    X = generator.normal(size=(n, 30))
    scores = X @ generator.normal(size=(30, p)) / np.sqrt(30) + generator.normal(size=(n, p))
    yield f"generated, {p} labels", X, (scores > 1).astype(np.int8)
    folder = Path(os.environ.get("SETLOSS_DATA", ""))
    if (folder / "birds").is_dir() and not quick:
        for data in training_parts(folder, ("birds",)):
            X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
            yield data.name, StandardScaler().fit_transform(X), data.Y


def _cpu_time(model: Any, X: Any, Y: Any) -> float:
    start = process_time()
    model.fit(X, Y)
    return process_time() - start
