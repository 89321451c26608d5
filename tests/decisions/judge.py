"""Count models by the list of all label sets: slow, and too short to be wrong."""

import itertools
from functools import cache, partial

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from setloss.decisions import decide as decide_any

decide = partial(decide_any, scores="log-odds")

MODERATE = st.floats(-6, 6)
EXTREME = st.sampled_from([-1e4, -700.0, -30.0, 0.0, 1.0, 30.0, 700.0, 1e4])


@cache
def models_of(p, scores=MODERATE, potentials=MODERATE, gaps=True):
    """Scores of p elements, and potentials of 0, ..., K positives; some are impossible, in between only with gaps."""
    impossible = st.just(-np.inf)
    each = st.lists(potentials | impossible if gaps else potentials, min_size=1, max_size=p + 1)
    some = each.filter(lambda u: max(u) > -np.inf)
    if not gaps:
        some = some.flatmap(lambda u: st.integers(0, p + 1 - len(u)).map(lambda first: [-np.inf] * first + u))
    return st.tuples(st.lists(scores, min_size=p, max_size=p), some)


def models(*kind, largest=6, **options):
    """The same for up to `largest` elements."""
    return st.integers(1, largest).flatmap(lambda p: models_of(p, *kind, **options))


certain = models(MODERATE | EXTREME, gaps=False, largest=5) | models(MODERATE, MODERATE | EXTREME, largest=5)
"""Scores or potentials of any size, which do not contradict each other."""


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

    def log_chance(self, y, known):
        agree = np.all((self.sets == y) | ~np.asarray(known, dtype=bool), axis=1)
        return logsumexp(self.logs[agree]) - self.log_partition

    def expected(self, loss, chosen):
        """The expected loss of one choice."""
        return float(self.chances @ loss(self.sets, np.tile(np.asarray(chosen, dtype=int), (len(self.sets), 1))))

    def all_expected(self, loss):
        return np.array([self.expected(loss, chosen) for chosen in self.sets])
