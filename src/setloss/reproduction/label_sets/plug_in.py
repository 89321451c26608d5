"""The label set of largest expected F1 (or Jaccard), given the probability of every label, labels independent.

For independent labels the best set of k labels is the k most probable ones: a swap for a more probable label raises
the number of hits S and lowers the number of misses R, and the score rises with S and falls with R. So p + 1 sets
compete. With T = S + R the number of true labels,

    E F1(first k) = sum over a, b of  P(S_k = a) P(R_k = b)  2 a / (k + a + b),        E F1(empty) = P(T = 0),

where S_k and R_k are sums of independent Bernoulli variables over the first k and the other labels. Their
distributions for all k take O(p^2) per example, the double sums O(p^3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setloss.reproduction.criteria import worth
from setloss.typing import Array


def best_expected_sets(probabilities: Array, criterion: str = "f1") -> NDArray[np.bool_]:
    """The label sets (n, p) of largest expected score for probabilities (n, p); of equal ones the smallest."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    falling = np.take_along_axis(probabilities, order, axis=1)
    best = np.argmax(expected_scores(falling, criterion), axis=1)
    chosen = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(probabilities.shape[1]) < best[:, None], axis=1)
    return chosen


def expected_scores(probabilities: Array, criterion: str = "f1") -> Array:
    """The expected score (n, p + 1) of predicting the first 0, 1, ..., p labels, in the order given."""
    p = probabilities.shape[1]
    first = sums_of_prefixes(probabilities)
    others = sums_of_prefixes(probabilities[:, ::-1])
    scores = np.empty((len(probabilities), p + 1))
    for k in range(p + 1):
        hits, misses = np.arange(k + 1)[:, None], np.arange(p - k + 1)
        values = worth(criterion, hits, k, hits + misses)
        scores[:, k] = np.sum((first[k] @ values) * others[p - k], axis=1)
    return scores


def sums_of_prefixes(probabilities: Array) -> list[Array]:
    """The distributions (n, k + 1) of the number of true labels among the first k, for k = 0, ..., p."""
    found = [np.ones((len(probabilities), 1))]
    for chance in probabilities.T:
        before = found[-1]
        after = np.zeros((len(before), before.shape[1] + 1))
        after[:, :-1] = before * (1 - chance)[:, None]
        after[:, 1:] += before * chance[:, None]
        found.append(after)
    return found
