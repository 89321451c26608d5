"""Average ranks of methods over data sets: 1 is best, equal results share the mean of their ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

from setloss.typing import Array


def average_ranks(results: Mapping[str, Mapping[str, float]], *, lower_is_better: bool = False) -> dict[str, float]:
    """The mean rank of every method from ``results[data set][method]``; all data sets must have the same methods."""
    tables = list(results.values())
    methods = list(tables[0]) if tables else []
    if any(set(table) != set(methods) for table in tables):
        raise ValueError("ranks compare the same methods on every data set; some results are missing")
    values: Array = np.array([[table[method] for method in methods] for table in tables]).reshape(len(tables), -1)
    ranks = rankdata(values if lower_is_better else -values, axis=1).mean(axis=0) if tables else []
    return {method: float(rank) for method, rank in zip(methods, ranks, strict=True)}
