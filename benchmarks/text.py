"""Sparse text and many rows, against OneVsRestClassifier(LinearSVC) on the same data, in CPU seconds of one thread.

Every fit has the default solver and a gap of 1e-3. The reference is LinearSVC(loss="hinge") of scikit-learn, one
label after the other, at the same C and its own defaults but for max_iter; for many rows and many labels the squared
hinge, its default. Rows that miss their target stay in the table, with the gap they had. medical, enron and bibtex
are taken from the folder that SETLOSS_DATA names, where it has them; the generated text is always there: Zipf
features, so that few are frequent and most are rare. ``python -m benchmarks.text`` is what the
patience of "auto" buys, and memory for more cuts of 5,000 labels.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, product
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from benchmarks.measure import Row
from benchmarks.solvers import DATA
from setloss.estimators.set_layout import SetLayout
from setloss.losses import loss_named
from setloss.solvers import ADMM, FrankWolfe, Limits, Problem, Record, Status, dual_points, solve
from setloss.solvers.choice import EPOCHS
from setloss.solvers.loop import run

TARGETS = {"hinge": 4.0, "lovasz": 10.0, "bd": 10.0, "slack": 30.0, "margin": 30.0}
"""Largest ratios to LinearSVC, which shrinks, and for which every rare label is a small problem of its own."""

COSTS = (1.0, 0.1)
MOST_SECONDS = 120.0
"""CPU seconds after which a fit is ended; its row says which gap it had, and that the target is missed."""

LARGE = ("hinge", "lovasz", "slack")
"""Operators of the large text, at the smaller C only."""


def zipf_text(n: int, d: int, p: int, *, words: int = 60, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """Examples of about `words` distinct words of a vocabulary of d, in which word k has frequency 1/k, and p labels.

    A label stands for a handful of words, some frequent and some rare; frequent labels come first. A tenth of the
    labels of an example is noise. Entries are 1, as those of max-abs scaled word indicators.
    """
    generator = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, d + 1)
    drawn = generator.choice(d, size=(n, 2 * words), p=frequency / frequency.sum())
    X = csr_array((np.ones(drawn.size), (np.repeat(np.arange(n), 2 * words), drawn.ravel())), shape=(n, d))
    X.sum_duplicates()
    X.data[:] = 1.0
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as LinearSVC takes them
    rarer = np.sqrt(frequency) / np.sqrt(frequency).sum()
    meant = generator.choice(d, 8 * p, p=rarer)
    topics = csr_array((generator.exponential(size=8 * p), (meant, np.repeat(np.arange(p), 8))), shape=(d, p))
    scores = np.asarray((X @ topics).todense()) + 0.3 * generator.normal(size=(n, p))
    shares = np.maximum(0.3 / np.arange(1, p + 1) ** 0.7, 2.0 / n)
    cuts = np.array([np.quantile(column, 1 - share) for column, share in zip(scores.T, shares, strict=True)])
    return X, scores > cuts


def mulan(name: str) -> tuple[csr_array, np.ndarray] | None:
    """The training part of a Mulan data set, features divided by their largest value; None where it is not there."""
    from setloss.io import read

    folder = DATA / name
    if not (folder / f"{name}-train.arff").exists():
        return None
    found: Any = read(folder / f"{name}-train.arff", labels=folder / f"{name}.xml")
    return csr_array(MaxAbsScaler().fit_transform(csr_array(found.X))), np.asarray(found.Y) > 0


def problem_of(X: Any, Y: np.ndarray, operator: str, C: float) -> Problem:
    """The problem that `SetClassifier` would solve, with an intercept as LinearSVC has it."""
    elements = SetLayout.of(len(Y), None, flat=False).elements(Y, np.ones_like(Y), np.ones(len(Y)))
    loss = loss_named("jaccard" if operator == "lovasz" else "dice")
    return elements.problem(X, 1.0, loss, operator, 1.0, C)


def reference(X: Any, Y: np.ndarray, C: float, loss: str = "hinge") -> float:
    """CPU seconds of LinearSVC, one label after the other."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OneVsRestClassifier(LinearSVC(C=C, loss=loss, max_iter=20_000)).fit(X, Y.astype(np.int64))
    return time.process_time() - start


def peak_megabytes() -> float:
    """The largest memory of this process so far, libraries and data included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


@cache
def compile_kernels(operator: str) -> None:
    """Let no clock see the compilation, for sets of few and of many labels."""
    for labels in (6, 200):
        X, Y = zipf_text(60, 50, labels)
        for features in (X, X.toarray()):
            solve(problem_of(features, Y, operator, 1.0), limits=Limits(max_iter=30))
            solve(problem_of(features, Y, operator, 1.0), "frank_wolfe", Limits(max_iter=6))


def ended_after(start: float) -> Callable[[Record], None]:
    """A callback that ends a fit `MOST_SECONDS` after a time of the processor."""

    def end(record: Record) -> None:
        if time.process_time() - start > MOST_SECONDS:
            raise KeyboardInterrupt

    return end


def fit_row(name: str, X: Any, Y: np.ndarray, operator: str, C: float, seconds: float, target: float) -> Row:
    """One fit beside its reference."""
    compile_kernels(operator)
    start = time.process_time()

    found = solve(problem_of(X, Y, operator, C), limits=Limits(1e-3, 10**5, callbacks=(ended_after(start),)))
    note = f"gap {found.gap:.1e} after {found.iterations} iterations ({found.status}), peak {peak_megabytes():.0f} MB"
    reached = target if found.status is Status.CONVERGED else 0.0
    return Row(f"{name}, {operator}, C = {C:g}", time.process_time() - start, seconds, reached, note=note)


def sparse_labels(n: int, p: int, a_set: int = 5) -> np.ndarray:
    """About `a_set` labels of p for each of n examples, at random."""
    generator = np.random.default_rng(0)
    Y = np.zeros((n, p), dtype=bool)
    Y[np.repeat(np.arange(n), a_set), generator.integers(0, p, n * a_set)] = True
    return Y


def many_labels() -> tuple[csr_array, np.ndarray]:
    """5,000 texts with about 5 of 5,000 labels each, which have nothing to do with the words."""
    return zipf_text(5000, 2000, 2)[0], sparse_labels(5000, 5000)


def capacity_rows() -> Iterator[Row]:
    """B_D of 5,000 labels for up to 120 CPU seconds, by the number of cuts that there is memory for per set."""
    X, Y = many_labels()
    compile_kernels("bd")
    for cuts in (4, 8, dual_points.FEWEST_CUTS):
        dual_points.FEWEST_CUTS, start = cuts, time.process_time()
        limits = Limits(1e-2, 10**5, callbacks=(ended_after(start),))
        found = solve(problem_of(X, Y, "bd", 1.0), limits=limits)
        note = f"gap {found.gap:.1e} after {found.iterations} epochs, peak {peak_megabytes():.0f} MB"
        yield Row(f"5000 labels, B_D, {cuts} cuts a set", time.process_time() - start, MOST_SECONDS, note=note)
        del found  # a gigabyte and more


def dense_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian features, 100, and 30 labels by linear rules with noise; some at a time, for `memory_row`."""
    generator = np.random.default_rng(0)
    X, Y = generator.normal(size=(n, 100)), np.empty((n, 30), dtype=bool)
    rules = generator.normal(size=(100, 30)) / 10
    for some in np.array_split(np.arange(n), 100):
        Y[some] = X[some] @ rules + 0.5 * generator.normal(size=(len(some), 30)) > 0.7
    return X, Y


MEMORY = """
from benchmarks.text import compile_kernels, dense_rows, peak_megabytes, problem_of
from setloss.solvers import solve
compile_kernels("{operator}")
X, Y = dense_rows({n})
before = peak_megabytes()
solve(problem_of(X, Y, "{operator}", 1.0))
print(peak_megabytes() - before)
"""


def memory_row(n: int, operator: str) -> Row:
    """Memory of a fit above that of libraries, kernels, X and Y, in a new process."""
    script = MEMORY.format(n=n, operator=operator)
    found = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
    return Row(f"{n} rows x 100 x 30 labels, {operator}: MB over the data / 83", float(found.stdout), 83.0, 1.0)


def rows(quick: bool) -> Iterator[Row]:
    """Text by all operators; then many rows, dense; then large text and many labels."""
    texts = {name: found for name in ("medical", "enron", "bibtex") if (found := mulan(name)) is not None}
    texts["Zipf text 2000 x 2000 x 50"] = zipf_text(2000, 2000, 50)
    for name, (X, Y) in texts.items():
        for C in COSTS:
            seconds = reference(X, Y, C)
            for operator, target in TARGETS.items():
                yield fit_row(name, X, Y, operator, C, seconds, target)
    n = 10_000 if quick else 200_000
    yield memory_row(n, "hinge")
    dense, Y = dense_rows(n)
    seconds = reference(dense, Y, 1.0, "squared_hinge")
    for operator in ("hinge", "bd"):
        yield fit_row(f"{n} rows x 100 x 30 labels", dense, Y, operator, 1.0, seconds, 5.0)
    if quick:
        return
    X, Y = zipf_text(20_000, 20_000, 100)
    seconds = reference(X, Y, 0.1)
    for operator in LARGE:
        yield fit_row("Zipf text 20000 x 20000 x 100", X, Y, operator, 0.1, seconds, TARGETS[operator])
    X, Y = many_labels()
    seconds = reference(X, Y, 1.0, "squared_hinge")
    for operator in ("hinge", "bd"):
        yield fit_row("5000 x 2000 x 5000 labels", X, Y, operator, 1.0, seconds, 5.0)


def patience_rows() -> Iterator[Row]:
    """By "auto", which lets Frank-Wolfe arrive, against ADMM after 50 epochs in any case."""
    texts = {name: found for name in ("enron", "bibtex") if (found := mulan(name)) is not None}
    texts["Zipf text 2000 x 2000 x 50"] = zipf_text(2000, 2000, 50)
    for (name, (X, Y)), operator, C in product(texts.items(), ("hinge", "lovasz", "bd", "slack"), COSTS):
        compile_kernels(operator)
        start = time.process_time()
        solve(problem_of(X, Y, operator, C))
        middle = time.process_time()
        run(problem_of(X, Y, operator, C), FrankWolfe(), Limits(), None, ADMM(), EPOCHS)
        end = time.process_time()
        what = f"{name}, {operator}, C = {C:g}: auto / ADMM after {EPOCHS} epochs"
        yield Row(what, middle - start, end - middle)


if __name__ == "__main__":
    for row in chain(patience_rows(), capacity_rows()):
        print(row.line(), flush=True)
