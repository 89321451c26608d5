"""Decisions for whole batches, against one sort of the same scores and against the rule they replaced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from benchmarks.measure import Row, best_time, side_by_side
from setloss.decisions import CountModel, decide
from setloss.typing import Array


def rows(quick: bool) -> Iterator[Row]:
    repeats = 3 if quick else 10
    generator = np.random.default_rng(0)
    scores, counts = generator.normal(-4, 1.5, (1000, 1000)), -0.05 * np.arange(31)
    for name, target in (("f1", 10.0), ("jaccard", None)):
        ours, sort = side_by_side(
            lambda name=name: decide(scores, name, counts=counts), lambda: np.sort(scores, axis=1), repeats
        )
        yield Row(f"decide {name}, p = 1000, K = 30, n = 1000 / np.sort", ours, sort, target)
    truth = np.argsort(np.argsort(-scores, axis=1), axis=1) < 10
    ours, sort = side_by_side(
        lambda: CountModel(scores, counts).likelihood(truth), lambda: np.sort(scores, axis=1), repeats
    )
    yield Row("likelihood and gradients of the same count models / np.sort", ours, sort)

    for words, mean in (("few of 100 labels", -3), ("half of 100 labels", 0)):
        scores = generator.normal(mean, 1.5, (1000, 100))
        ours = best_time(lambda scores=scores: decide(scores, "f1"), repeats)
        reference = best_time(lambda scores=scores: by_matrix_products(expit(scores)), 3)
        yield Row(f"independent f1, {words}: times faster", ours, reference, 20, at_least=True)
    for n, p in ((20, 1000), (1, 100_000)):
        scores = generator.normal(-3, 1.5, (n, p))
        for name in ("f1", "jaccard"):
            ours, sort = side_by_side(
                lambda s=scores, name=name: decide(s, name), lambda s=scores: np.sort(s), repeats
            )
            yield Row(f"decide {name}, independent, n = {n}, p = {p} / np.sort", ours, sort)


def by_matrix_products(chances: Array) -> Array:
    """Expected F1 (n, p + 1) of the most likely 0, ..., p labels in O(p^3), as this library computed it at first."""
    falling = -np.sort(-chances, axis=1)
    p = falling.shape[1]
    first, others = _sums_of_prefixes(falling), _sums_of_prefixes(falling[:, ::-1])
    found = np.empty((len(falling), p + 1))
    for k in range(p + 1):
        hits, misses = np.arange(k + 1)[:, None], np.arange(p - k + 1)
        values = 2 * hits / np.maximum(k + hits + misses, 1)
        found[:, k] = np.sum((first[k] @ values) * others[p - k], axis=1)
    return found


def _sums_of_prefixes(chances: Array) -> list[Array]:
    found = [np.ones((len(chances), 1))]
    for chance in chances.T:
        before = found[-1]
        after = np.zeros((len(before), before.shape[1] + 1))
        after[:, :-1] = before * (1 - chance)[:, None]
        after[:, 1:] += before * chance[:, None]
        found.append(after)
    return found
