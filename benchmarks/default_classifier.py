"""Which classifier should `SetDecisionCV()` take if none is named? Judged without test parts.

``python -m benchmarks.default_classifier DATA [NAME...]``: logistic regressions with the C that the search begins
with (sparse features as given), trees, and the choice among all of `default_kinds`, on three folds of the training
parts (at most 1,000 examples) and of generated sets. Example F1; seconds are of the processor, for one fit.

``python -m benchmarks.default_classifier DATA --test [NAME...]``: the choice on the standard test parts, its time
beside six plain fits of the classifier that it took (five folds and everything), its memory and the size of its file;
and the same for generated sets: ``products`` of 16 features, and ``many-labels``, a text with 983.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.model_selection import KFold

from benchmarks.text import zipf_text
from benchmarks.training_parts import training_parts
from experiments.document import Cell, ResultTable
from experiments.loaders import find_data_sets, read_data_set
from setloss import save
from setloss.estimators import SetDecisionCV
from setloss.estimators.candidates import default_kinds
from setloss.estimators.fit_log import in_words
from setloss.estimators.label_scores import fit_scorer
from setloss.estimators.labels import labels_of

MOST = 1000
NAMES = ("logistic, first C", "trees", "chosen")
WORDS = ((300, 20, 5), (1000, 40, 20), (200, 100, 8))
"""Texts, words and labels; the first take scikit-learn more than a second to draw."""


Problem = tuple[str, Any, Any]
"""Name, features and labels."""


def real(folder: Path, names: Sequence[str]) -> Iterator[Problem]:
    """Training parts."""
    for data in training_parts(folder, names):
        yield data.name, data.X[:MOST], data.Y[:MOST]


def generated(words: Sequence[tuple[int, int, int]] = WORDS) -> Iterator[Problem]:
    """Noisy digits with five properties, counts of words, and labels that add up or multiply features."""
    generator = np.random.default_rng(0)
    X, digit = load_digits(return_X_y=True)
    kinds = (digit % 2 == 0, digit > 4, digit % 3 == 0, np.isin(digit, [0, 6, 8, 9]), np.isin(digit, [2, 3, 5, 7]))
    yield "digits, noisy", (X + 4 * generator.normal(size=X.shape))[:MOST], np.column_stack(kinds)[:MOST].astype(int)
    for n, features, labels in words:
        found = make_multilabel_classification(n, features, n_classes=labels, n_labels=3, random_state=1)
        yield f"words, {n} x {labels}", *found
    X = generator.normal(size=(500, 30))
    noise = generator.normal(size=(500, 8))
    yield "sums", X, (X @ generator.normal(size=(30, 8)) / 5 + noise > 0.5).astype(int)
    yield "products", X, (X[:, :8] * X[:, 8:16] + 0.5 * noise > 0.3).astype(int)


def scores_of(X: Any, Y: Any, folds: int = 3, **options: Any) -> tuple[list[float], list[float]]:
    """Mean F1 of each classifier and of the choice, and the seconds of a fit; `options` go to `SetDecisionCV`.

    Trees are NaN where X is sparse: they are no candidates there.
    """
    linear, *trees = default_kinds(X)
    tried = (linear[0].estimators[linear[0].start], *([kind[0].estimators[0] for kind in trees] or ["none"]), None)
    found, seconds = np.full((2, folds, len(tried)), np.nan)
    for fold, (train, test) in enumerate(KFold(folds, shuffle=True, random_state=1).split(X)):
        for k, estimator in enumerate(tried):
            if isinstance(estimator, str):
                continue
            began = time.process_time()
            model = SetDecisionCV(estimator, **options).fit(X[train], Y[train])
            seconds[fold, k] = time.process_time() - began
            found[fold, k] = model.score(X[test], Y[test])
    return found.mean(axis=0).tolist(), seconds.mean(axis=0).tolist()


def row_of(name: str, X: Any, Y: Any) -> tuple[Cell, ...]:
    """A line of the table, also shown as it is made."""
    scores, seconds = scores_of(X, np.asarray(Y))
    cells = [
        "-" if np.isnan(score) else f"{score:.3f} ({second:.1f} s)"
        for score, second in zip(scores, seconds, strict=True)
    ]
    sys.stderr.write(f"{'  '.join((name, *cells))}\n")
    return (name, *cells)


# -------------------------------------------------------------------- the standard test parts

MEASURED = (
    "data",
    "classifier",
    "rule",
    "F1 of the test part",
    "CPU s of a fit",
    "times six plain fits",
    "MB",
    "file",
)


def _print_test_parts(folder: Path, names: Sequence[str]) -> None:
    """The table of the test parts, each data set in a process of its own, whose memory is that of one fit."""
    of_folder = [name for name in names if name not in GENERATED]
    files = find_data_sets(folder, of_folder or None) if of_folder or not names else {}
    table = []
    for name in [*(name for name, some in files.items() if len(some) == 2), *GENERATED]:
        if names and name not in names:
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
            table.append(processes.submit(test_row, folder, name).result())
        sys.stderr.write("  ".join(table[-1]) + "\n")
    note = "MB: what the fit adds to the memory at its start, and in brackets kB of it a row."
    sys.stdout.write(ResultTable("SetDecisionCV() on test parts", MEASURED, tuple(table), note).markdown())


def products() -> tuple[Any, Any, int]:
    """14 labels, each by the product of two features, and the number of sets to train on."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1412, 16))
    return X, (X[:, :14] * X[:, 2:] + 0.5 * generator.normal(size=(1412, 14)) > 0.3).astype(int), 706


def many_labels() -> tuple[Any, Any, int]:
    """Text of the size of delicious, a known data set: 500 words and 983 labels."""
    X, Y = zipf_text(16_105, 500, 983)
    return X, Y.astype(int), 12_920


GENERATED = {"products": products, "many-labels": many_labels}


def test_row(folder: Path, name: str) -> tuple[str, ...]:
    """What `SetDecisionCV()` does with a data set of a folder, or with a generated one; compiled before."""
    if name in GENERATED:
        X, Y, train = GENERATED[name]()
    else:
        data = read_data_set(name, find_data_sets(folder, [name])[name])
        X, Y, train = data.X, data.Y, int(data.n_train or 0)
    SetDecisionCV(cv=2).fit(*make_multilabel_classification(60, random_state=0))
    SetDecisionCV(cv=2).fit(X[: train // 10], Y[: train // 10])  # imports and kernels are no memory of the data
    before, began = _peak(), time.process_time()
    model = SetDecisionCV().fit(X[:train], Y[:train])
    seconds, megabytes = time.process_time() - began, _peak() - before
    labels, began = labels_of(Y, "benchmark"), time.process_time()
    for rows in [*(rows for rows, _ in KFold(5, shuffle=True, random_state=0).split(Y[:train])), np.arange(train)]:
        fit_scorer(model.estimator_, X, labels, rows, {})
    six = time.process_time() - began
    losses = model.losses(X[train:], Y[train:])
    score, error = 1 - losses.mean(), losses.std(ddof=1) / np.sqrt(len(losses))
    with TemporaryDirectory() as place:
        save(model, Path(place) / "m.skops")
        size = (Path(place) / "m.skops").stat().st_size / 1e6
    what = in_words(model.estimator_), model.decision_.rule_name_, f"{score:.4f} +- {error:.4f}"
    memory = f"{megabytes:.0f} ({1e3 * megabytes / train:.1f})"
    return name, *what, f"{seconds:.1f}", f"{seconds / six:.2f}", memory, f"{size:.1f} MB"


def _peak() -> float:
    """The most memory that this process had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str]) -> int:
    """Print one of the tables."""
    if "--test" in arguments:
        _print_test_parts(Path(arguments[0]), [name for name in arguments[1:] if name != "--test"])
        return 0
    rows = tuple(row_of(*one) for one in (*real(Path(arguments[0]), arguments[1:]), *generated()))
    note = "Example F1 on held-out folds, and the processor time of a fit."
    sys.stdout.write(ResultTable("Classifiers of SetDecisionCV()", ("data", *NAMES), rows, note).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
