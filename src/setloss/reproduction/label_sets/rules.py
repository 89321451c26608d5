"""How scores become label sets: by sign, a global threshold, a fixed number of labels, or expected F1.

A rule learns its one number, if it has one, from scores of examples the scorer was not trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.decisions import decide
from setloss.reproduction.criteria import of_top_labels
from setloss.typing import Array

Sets = NDArray[np.bool_]


class DecisionRule(Protocol):
    """A frozen rule; `learned` gives the one with its number filled in."""

    def learned(self, scores: Array, truth: Sets, criterion: str) -> DecisionRule:
        """The rule of largest mean score on these examples."""
        ...

    def predict(self, scores: Array) -> Sets:
        """The label sets of examples with these scores."""
        ...


@dataclass(frozen=True)
class Sign:
    """Labels of positive score; for the log-odds of a logistic model those of probability above 1/2."""

    def learned(self, scores: Array, truth: Sets, criterion: str) -> Sign:
        return self

    def predict(self, scores: Array) -> Sets:
        return np.asarray(scores > 0)


@dataclass(frozen=True)
class ThresholdRule:
    """Labels of score above one threshold for all labels and examples, the best one there is; near 0 among equals."""

    value: float = 0.0

    def learned(self, scores: Array, truth: Sets, criterion: str) -> ThresholdRule:
        order, values = of_top_labels(criterion, truth, scores)
        # Lowering the threshold adds the labels one by one, by falling score; each changes the score of its example.
        falling = np.take_along_axis(scores, order, axis=1).ravel()
        gains = np.diff(values, axis=1).ravel()
        by_score = np.argsort(-falling, kind="stable")
        falling = falling[by_score]
        totals = np.concatenate(([0.0], np.cumsum(gains[by_score])))
        edges = np.concatenate(([falling[0] + 1], falling, [falling[-1] - 1]))
        possible = np.flatnonzero(edges[:-1] > edges[1:])
        cuts = (edges[:-1] + edges[1:])[possible] / 2
        best = totals[possible] >= totals[possible].max() - 1e-9 * len(scores)
        return ThresholdRule(float(min(cuts[best], key=abs)))

    def predict(self, scores: Array) -> Sets:
        return np.asarray(scores > self.value)


@dataclass(frozen=True)
class TopKRule:
    """The same number of labels for every example: those of largest score."""

    k: int = 1

    def learned(self, scores: Array, truth: Sets, criterion: str) -> TopKRule:
        return TopKRule(int(np.argmax(of_top_labels(criterion, truth, scores)[1].mean(axis=0))))

    def predict(self, scores: Array) -> Sets:
        order = np.argsort(-scores, axis=1, kind="stable")
        chosen = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(chosen, order[:, : self.k], True, axis=1)
        return chosen


@dataclass(frozen=True)
class PlugIn:
    """The set of largest expected score if the scores are log-odds of independent labels."""

    criterion: str = "f1"

    def learned(self, scores: Array, truth: Sets, criterion: str) -> PlugIn:
        return PlugIn(criterion)

    def predict(self, scores: Array) -> Sets:
        return decide(scores, self.criterion).sets
