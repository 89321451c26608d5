"""Decisions: batches against one sort of their scores; `SetDecisionCV` against the fits of its classifier alone.

Independent F1 of 100 labels is compared with O(p^3) of matrix products, which run at the speed of the processor; half
of our time at this size is exponentials and divisions that wait for each other. So the targets are 10 times faster
where few labels are expected and 5 times where half of them are; of 300 labels it is more than 20 times, of 1000 500.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

from benchmarks.measure import Row, best_time, side_by_side
from benchmarks.text import zipf_text
from setloss.decisions import CountModel, decide
from setloss.estimators import SetDecision, SetDecisionCV
from setloss.typing import Array


def rows(quick: bool) -> Iterator[Row]:
    repeats = 3 if quick else 10
    generator = np.random.default_rng(0)
    scores, counts = generator.normal(-4, 1.5, (1000, 1000)), -0.05 * np.arange(31)
    for name, target in (("f1", 10.0), ("jaccard", 20.0)):
        ours, sort = side_by_side(
            lambda name=name: decide(scores, name, counts=counts), lambda: np.sort(scores, axis=1), repeats
        )
        yield Row(f"decide {name}, p = 1000, K = 30, n = 1000 / np.sort", ours, sort, target)
    jaccard, f1 = side_by_side(
        lambda: decide(scores, "jaccard", counts=counts), lambda: decide(scores, "f1", counts=counts), repeats
    )
    yield Row("decide jaccard / decide f1, the same count models", jaccard, f1, 5)
    far, most = generator.normal(-2, 1.5, (20, 5000)), np.zeros(201)
    ours, sort = side_by_side(lambda: decide(far, "f1", counts=most), lambda: np.sort(far, axis=1), repeats)
    yield Row("decide f1, p = 5000, at most 200 of 900 expected / np.sort", ours, sort, 150)
    truth = np.argsort(np.argsort(-scores, axis=1), axis=1) < 10
    ours, sort = side_by_side(
        lambda: CountModel(scores, counts).likelihood(truth), lambda: np.sort(scores, axis=1), repeats
    )
    yield Row("likelihood and gradients of the same count models / np.sort", ours, sort)

    for words, mean, target in (("few of 100 labels", -3, 10), ("half of 100 labels", 0, 5)):
        scores = generator.normal(mean, 1.5, (1000, 100))
        ours = best_time(lambda scores=scores: decide(scores, "f1"), repeats)
        reference = best_time(lambda scores=scores: by_matrix_products(expit(scores)), 3)
        yield Row(f"independent f1, {words}: times faster", ours, reference, target, at_least=True)
    for n, p in ((20, 1000), (1, 100_000)):
        scores = generator.normal(-3, 1.5, (n, p))
        for name in ("f1", "jaccard"):
            ours, sort = side_by_side(
                lambda s=scores, name=name: decide(s, name), lambda s=scores: np.sort(s), repeats
            )
            yield Row(f"decide {name}, independent, n = {n}, p = {p} / np.sort", ours, sort)

    yield from around_a_classifier(quick)


def around_a_classifier(quick: bool) -> Iterator[Row]:
    """CPU seconds of `SetDecisionCV` and of its six fits, and the memory of all that is not X, labels and scores."""
    generator = np.random.default_rng(0)
    n = 10_000 if quick else 100_000
    X = generator.normal(size=(n, 30))
    Y = X @ generator.normal(size=(30, 20)) / 3 + generator.normal(size=(n, 20)) > 1.5
    problems: dict[str, tuple[Any, Any]] = {f"{n} x 30 x 20 labels": (X, Y.astype(int))}
    if not quick:
        X, Y = zipf_text(4880, 1836, 159)
        problems["text 4880 x 1836 x 159 labels"] = X, Y.astype(int)
    for name, (X, Y) in problems.items():
        SetDecision().fit(X[:200, :20] @ np.ones((20, Y.shape[1])) + np.arange(Y.shape[1]), Y[:200])  # kernels
        model = OneVsRestClassifier(LogisticRegression())
        start = time.process_time()
        for train, _ in [*KFold(5, shuffle=True, random_state=0).split(X), (np.arange(len(Y)), None)]:
            model.fit(X[train], Y[train])
        base = time.process_time() - start
        found = SetDecisionCV(model).fit(X, Y)
        ours = time.process_time() - start - base
        tracemalloc.start()
        SetDecisionCV(model).fit(X, Y)
        fit = tracemalloc.get_traced_memory()[1] / len(Y) / 1e3
        tracemalloc.reset_peak()
        found.predict(X)
        predict = tracemalloc.get_traced_memory()[1] / len(Y) / 1e3
        peaks = f"{fit:.1f} kB a row in fit, {predict:.1f} kB in predict"
        tracemalloc.stop()
        yield Row(f"SetDecisionCV / six plain fits, {name}", ours, base, 1.5, note=peaks)


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
