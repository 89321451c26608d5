"""Promises are kept: how often the mean loss of what is answered is above the promise, and how much is answered.

    python -m benchmarks.promises [--draws 1000] [--data DIR] [--json docs/results/promises.json]

**Generated sets.** Scores of p labels are normal, with a difficulty for each set; labels are independent given the
scores, or their number is given. For every kind a pool of sets has exact expected losses under the truth, so that the
mean loss of what a promise answers is known, not estimated. The decision sees other scores: distorted ones in the
kinds that say so. Each draw takes calibration sets from the pool, draws their labels anew, and makes a promise.

**Real sets.** Logistic regression and the decision are learned on the training part. The rest is taken for all there
is: each of 100 draws learns a promise from half as many of its sets, drawn with replacement, and "failed" says how
often the mean loss of what it answers is above the promise. "on_others" says how often this is so where random
halves learn and the other halves judge, which have an error of their own and are what the first halves left over.
Three quarters of the mean loss of all sets are promised.

An oracle knows the mean loss of every share answered along the same order, and answers the most that it may.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from benchmarks.measure import Row
from experiments.loaders import find_data_sets, read_data_set
from setloss.decisions import CountModel, decide, expected_losses_of, make_promise
from setloss.estimators import SetDecisionCV
from setloss.losses import CostCurve, as_loss, from_counts

POOL = 20_000
CONFIDENCE = 0.9
EXACT = from_counts(lambda fn, fp, m, n: ((fn + fp) > 0) * 1.0)
CURVE = CostCurve(((0, 0), (0.25, 1), (0.5, 1), (0.75, 2), (1, 2)))
"""Cost curve 2 of the paper; its largest loss is 2."""


@dataclass(frozen=True)
class Kind:
    """Sets of p labels whose mean loss is to be at most `at_most`, learned from n of them.

    The decision sees log-odds `slope` times as large, plus `shift`. `spread` is the deviation of a set's difficulty.
    """

    name: str
    loss: Any
    p: int
    n: int
    at_most: float
    slope: float = 1.0
    shift: float = 0.0
    spread: float = 1.2
    counts: tuple[float, ...] | None = None


KINDS = (
    Kind("F1, 6 labels", "f1", 6, 500, 0.2),
    Kind("F1, 6 labels, few sets", "f1", 6, 100, 0.2),
    Kind("F1, 6 labels, many sets", "f1", 6, 5000, 0.2),
    Kind("F1, 40 labels", "f1", 40, 1000, 0.25),
    Kind("F1, 100 labels", "f1", 100, 1000, 0.25),
    Kind("F1, 6 labels, one or two positives", "f1", 6, 1000, 0.25, counts=(-np.inf, 2.0, 3.0)),
    Kind("F1, scores too bold", "f1", 6, 1000, 0.22, slope=3.0),
    Kind("F1, scores too timid", "f1", 6, 1000, 0.22, slope=0.3),
    Kind("F1, scores shifted", "f1", 6, 1000, 0.22, shift=1.5),
    Kind("F1, scores reversed", "f1", 6, 1000, 0.63, slope=-1.0),
    Kind("Jaccard, 6 labels", "jaccard", 6, 1000, 0.28),
    Kind("Jaccard, 30 labels, few sets", "jaccard", 30, 200, 0.4),
    Kind("cost curve 2, 12 labels", CURVE, 12, 1000, 0.5),
    Kind("cost curve 2, scores too bold", CURVE, 12, 300, 0.5, slope=3.0),
    Kind("0/1, 6 labels", EXACT, 6, 1000, 0.4),
    Kind("0/1, 2 labels, few sets", EXACT, 2, 100, 0.25),
)


@dataclass(frozen=True, eq=False)
class Pool:
    """Sets with what the decision expects of them, their true expected loss, scores and chosen elements."""

    kind: Kind
    expected: NDArray[Any]
    true: NDArray[Any]
    scores: NDArray[Any]
    chosen: NDArray[np.bool_]

    @classmethod
    def of(cls, kind: Kind, seed: int = 0, base: float = 0.0) -> Pool:
        """Sets of one kind; `base` moves the true log-odds and not what the decision sees."""
        generator = np.random.default_rng(seed)
        difficulty = np.exp(kind.spread * generator.normal(size=(POOL, 1)))
        scores = difficulty * generator.normal(-0.3 if kind.p < 10 else -1.5, 1.5, size=(POOL, kind.p))
        counts = None if kind.counts is None else np.array(kind.counts)
        decision = decide(kind.slope * scores + kind.shift, kind.loss, counts=counts, scores="log-odds")
        scores = scores + base
        true = expected_losses_of(decision.sets, scores, kind.loss, counts=counts)
        return cls(kind, decision.expected_loss, true, scores, decision.sets)

    def observed(self, rows: NDArray[np.intp], generator: np.random.Generator) -> NDArray[Any]:
        """The losses of some of the sets, their labels drawn anew."""
        scores, chosen, loss = self.scores[rows], self.chosen[rows], as_loss(self.kind.loss)
        truth = generator.random(scores.shape) < 1 / (1 + np.exp(-scores))
        if self.kind.counts is not None:
            truth = drawn_with_counts(scores, np.array(self.kind.counts), generator)
        return np.asarray(loss(truth, chosen), dtype=float)

    @property
    def oracle(self) -> float:
        """The largest share that may be answered along this order."""
        order = np.argsort(self.expected, kind="stable")
        means = np.cumsum(self.true[order]) / np.arange(1, len(order) + 1)
        kept = np.flatnonzero(means <= self.kind.at_most)
        return float(kept[-1] + 1) / len(order) if len(kept) else 0.0


def drawn_with_counts(
    scores: NDArray[Any], counts: NDArray[Any], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Labels of a count model, one after the other, each given those before it."""
    n, p = scores.shape
    truth, sure = np.zeros((n, p), dtype=bool), np.zeros((n, p), dtype=bool)
    for j in range(p):
        sure[:, j], truth[:, j] = True, True
        yes = CountModel(scores, counts).log_likelihood(truth, sure)
        truth[:, j] = False
        no = CountModel(scores, counts).log_likelihood(truth, sure)
        truth[:, j] = generator.random(n) < np.exp(yes - np.logaddexp(yes, no))
    return truth


def judged(pool: Pool, draws: int, judge: Pool | None = None) -> dict[str, Any]:
    """How often the promise fails, and the shares answered; new sets are those of `judge`, by default the pool."""
    kind, generator = pool.kind, np.random.default_rng(1)
    judge = judge or pool
    order = np.argsort(judge.expected, kind="stable")
    means = np.cumsum(judge.true[order]) / np.arange(1, len(order) + 1)
    rising, largest = judge.expected[order], 2.0 if kind.loss is CURVE else 1.0
    failed, made, shares = 0, 0, []
    for _ in range(draws):
        rows = generator.integers(POOL, size=kind.n)
        losses = pool.observed(rows, generator)
        promise = make_promise(
            pool.expected[rows], losses, at_most=kind.at_most, confidence=CONFIDENCE, largest=largest
        )
        answered = int(np.searchsorted(rising, promise.limit, side="right"))
        failed += answered > 0 and means[answered - 1] > kind.at_most
        made += answered > 0
        shares.append(answered / len(order))
    return {
        "kind": kind.name, "sets": kind.n, "at_most": kind.at_most, "draws": draws, "failed": int(failed),
        "made": int(made), "answered": float(np.mean(shares)), "oracle": judge.oracle,
        "mean_loss_of_all": float(judge.true.mean()),
    }  # fmt: skip


def allowed(draws: int) -> int:
    """Failures that a promise which is kept as often as it says exceeds once in a thousand benchmarks."""
    return int(binom.ppf(0.999, draws, 1 - CONFIDENCE))


def generated(draws: int, kinds: Sequence[Kind] = KINDS) -> list[dict[str, Any]]:
    """Every kind."""
    return [judged(Pool.of(kind), draws) for kind in kinds]


def shifted(draws: int) -> dict[str, Any]:
    """New sets of other base rates, given the same scores: log-odds are 1.5 lower than where the promise was made."""
    kind = KINDS[2]
    found = judged(Pool.of(kind), draws, Pool.of(kind, base=-1.5))
    return found | {"kind": "F1, base rates fall after the promise"}


# ---------------------------------------------------------------- real sets

REAL = ("flags", "emotions", "birds", "medical", "scene", "yeast", "enron", "bibtex", "cal500")
REAL_LOSSES = ("f1", "jaccard")


def real(folder: Path, names: Sequence[str] = REAL, splits: int = 100) -> list[dict[str, Any]]:
    """Held-out parts of real data, split at random."""
    return [row for name in names for row in real_rows(folder, name, splits)]


def real_rows(folder: Path, name: str, splits: int) -> list[dict[str, Any]]:
    """One row for each loss; cal500, which has no parts of its own, is cut into halves."""
    data = read_data_set(name, find_data_sets(folder, [name])[name])
    part = np.arange(len(data.Y)) < (data.n_train or len(data.Y) // 2)
    sparse = issparse(data.X)
    scaled = make_pipeline(MaxAbsScaler(), Normalizer()) if sparse else StandardScaler()
    classifier = OneVsRestClassifier(LogisticRegression(C=10.0 if sparse else 0.1, max_iter=1000))
    model = SetDecisionCV(classifier, rule="counts").fit(scaled.fit_transform(data.X[part]), data.Y[part])
    new, Z = scaled.transform(data.X[~part]), data.Y[~part]
    rows = []
    for loss in REAL_LOSSES:
        model.set_params(loss=loss)
        expected, losses = model.expected_loss(new), model.losses(new, Z)
        at_most = round(0.75 * float(losses.mean()), 2)
        rows.append(real_row(f"{name}, {loss}", expected, losses, at_most, splits))
    return rows


def real_row(kind: str, expected: NDArray[Any], losses: NDArray[Any], at_most: float, splits: int) -> dict[str, Any]:
    """Promises of random halves, judged on the others."""
    generator, n = np.random.default_rng(0), len(losses)
    failed, on_others, made, shares = 0, 0, 0, []
    for _ in range(splits):
        rows = generator.integers(n, size=n // 2)
        promise = make_promise(expected[rows], losses[rows], at_most=at_most, confidence=CONFIDENCE)
        answered = promise.answers(expected)
        made += bool(promise)
        failed += bool(answered.any()) and bool(losses[answered].mean() > at_most)
        shares.append(answered.mean())
        known = generator.permutation(n) < n // 2
        promise = make_promise(expected[known], losses[known], at_most=at_most, confidence=CONFIDENCE)
        answered = promise.answers(expected) & ~known
        on_others += bool(answered.any()) and bool(losses[answered].mean() > at_most)
    order = np.argsort(expected, kind="stable")
    kept = np.flatnonzero(np.cumsum(losses[order]) / np.arange(1, n + 1) <= at_most)
    return {
        "kind": kind, "sets": n // 2, "at_most": at_most, "draws": splits, "failed": failed, "on_others": on_others,
        "made": made,
        "answered": float(np.mean(shares)), "oracle": float(kept[-1] + 1) / n if len(kept) else 0.0,
        "mean_loss_of_all": float(losses.mean()),
    }  # fmt: skip


def rows(quick: bool) -> list[Row]:
    """Failures of promises on generated sets, against what 90 % allow."""
    draws = 60 if quick else 1000
    return [
        Row(f"promise, {row['kind']}, {row['sets']} sets", row["failed"] / draws, allowed(draws) / draws, 1.0)
        for row in generated(draws)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--data", type=Path, help="folder of real data; none without it")
    parser.add_argument("--json", type=Path, default=Path("docs/results/promises.json"))
    options = parser.parse_args()
    found = {"confidence": CONFIDENCE, "allowed": allowed(options.draws), "generated": generated(options.draws)}
    found["shifted"] = shifted(options.draws)
    found["real"] = [] if options.data is None else real(options.data)
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    for row in [*found["generated"], found["shifted"], *found["real"]]:
        print(
            f"| {row['kind']} | {row['sets']} | {row['at_most']:g} | {row['failed']} of {row['draws']} | "
            f"{row['answered']:.0%} | {row['oracle']:.0%} | {row['mean_loss_of_all']:.2f} |"
        )


if __name__ == "__main__":
    main()
