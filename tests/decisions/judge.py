"""Count models by the list of all label sets: slow, and too short to be wrong."""

import itertools

import numpy as np
from scipy.special import logsumexp


class AllSets:
    """Every label set of one example with its log-weight and probability."""

    def __init__(self, scores, counts=None):
        p = len(scores)
        counts = np.zeros(p + 1) if counts is None else np.asarray(counts, dtype=float)
        padded = np.concatenate((counts, np.full(p + 1 - len(counts), -np.inf)))
        self.sets = np.array(list(itertools.product([0, 1], repeat=p)))
        self.sizes = self.sets.sum(axis=1)
        self.logs = self.sets @ np.asarray(scores, dtype=float) + padded[self.sizes]
        self.log_partition = logsumexp(self.logs)
        self.chances = np.exp(self.logs - self.log_partition)

    @property
    def marginals(self):
        return self.chances @ self.sets

    def size_chances(self, width):
        return np.array([self.chances[self.sizes == k].sum() for k in range(width)])

    def joint(self, width):
        return np.stack([(self.chances * (self.sizes == k)) @ self.sets for k in range(width)], axis=1)

    def log_chance(self, y, known):
        agree = np.all((self.sets == y) | ~np.asarray(known, dtype=bool), axis=1)
        return logsumexp(self.logs[agree]) - self.log_partition

    def expected(self, loss, chosen):
        """The expected loss of one choice."""
        return float(self.chances @ loss(self.sets, np.tile(np.asarray(chosen, dtype=int), (len(self.sets), 1))))

    def all_expected(self, loss):
        return np.array([self.expected(loss, chosen) for chosen in self.sets])
