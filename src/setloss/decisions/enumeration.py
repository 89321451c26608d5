"""The best of all 2^p sets, for losses whose best set of k elements need not be the k largest scores.

Sets are numbered by their elements: element j is the bit of weight 2^j.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.kernels import weigh
from setloss.decisions.search import TIE, write_losses
from setloss.typing import Array

MAX_ENUMERATED = 16
"""Largest number of elements for which all sets are compared."""


@kernel()
def chances_of_subsets(q, r, chances):
    """chances[A, a] = the chance of a positives among A, from A without its first element."""
    chances[0, 0] = 1.0
    for mask in range(1, len(chances)):
        first, rest, size = 0, mask & (mask - 1), 0
        while not (mask >> first) & 1:
            first += 1
        for j in range(len(q)):
            size += (mask >> j) & 1
        chances[mask, 0] = chances[rest, 0] * r[first]
        for a in range(1, size + 1):
            chances[mask, a] = chances[rest, a] * r[first] + chances[rest, a - 1] * q[first]


@kernel()
def losses_of_subsets(scores, potentials, spec, sizes, losses):
    """The expected loss of every set, for a loss of counts; the rows must be safe."""
    kind, numbers, table = spec
    n, p = scores.shape
    width = potentials.shape[1]
    q, r, w, row = np.empty(p), np.empty(p), np.empty(width), np.empty(p + 1)
    chances = np.zeros((2**p, p + 1))
    for i in range(n):
        weigh(scores[i], potentials[i % len(potentials)], q, r, w)
        chances_of_subsets(q, r, chances)
        total = 0.0
        for k in range(width):
            total += w[k] * chances[2**p - 1, k]
        for mask in range(2**p):
            k, other = sizes[mask], 2**p - 1 - mask
            cost = 0.0
            for a in range(min(k, width - 1) + 1):
                end = min(p - k + 1, width - a)
                write_losses(kind, numbers, table, p, k, a, end, row)
                for b in range(end):
                    cost += chances[mask, a] * chances[other, b] * w[a + b] * row[b]
            losses[i, mask] = cost / total


@kernel()
def best_subset(losses, sizes):
    """The set of least expected loss; of equal ones the smallest, of equally small ones the first."""
    best = 0
    for mask in range(1, len(losses)):
        room = TIE * abs(losses[best])
        smaller = sizes[mask] < sizes[best] and losses[mask] <= losses[best] + room
        if smaller or losses[mask] < losses[best] - room:
            best = mask
    return best


def losses_by_transform(chances: Array, values: Array) -> Array:
    """sum_y P(y) l(A xor y) for all A: a convolution, turned into a product by the Walsh-Hadamard transform."""
    return _transformed(_transformed(chances) * _transformed(values)) / len(values)


def _transformed(values: Array) -> Array:
    """The sums over all sets, with the sign of the number of elements in common."""
    found = values.copy()
    step = 1
    while step < len(found):
        pairs = found.reshape(-1, 2, step)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        step *= 2
    return found
