"""Held-out scores to learn decisions from."""

import numpy as np

from setloss.bags import Bags
from setloss.decisions.held_out import HeldOut


def complete(scores, truth, weights=None):
    """Label sets in rows, all labels known, in five folds."""
    n = len(scores)
    return HeldOut(scores, truth, np.ones_like(truth), np.ones(n) if weights is None else weights, np.arange(n) % 5)


def held_out(in_bags, seed=0):
    """Scores with ties, some labels not known, weights; in rows or in bags of different sizes."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, size=12)
    bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(sizes)))) if in_bags else None
    shape = (12, 4) if bags is None else (bags.elements,)
    scores = generator.integers(-3, 4, size=shape) / 2
    truth, known = generator.random(shape) < 0.5, generator.random(shape) < 0.8
    return HeldOut(scores, truth, known, generator.uniform(0.5, 2, size=12), np.arange(12) % 3, bags)
