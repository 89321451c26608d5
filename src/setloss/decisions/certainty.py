"""Certainty of scores: what probabilities of exactly 0 or 1, and infinite log-odds, count as.

A forest of 200 trees says 0 where no tree votes for a label, which happens to labels that are positive. Taken at its
word, one of them rules out every other explanation of its set. What is learned from such scores takes certainty for
twice the largest odds, for or against, of the scores that are not certain, and keeps that number for predictions.
Only `setloss.decisions.decide` and `CountModel` take certainty at its word.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from setloss.typing import Array

LEAST_CHANCE = 1e-6
"""Smallest probability that is believed: smaller ones are overconfidence or rounding, and count as 0."""

LARGEST_CHANCE = 1e-2
"""Largest probability that 0 may stand for."""


def odds_of_certainty(values: Array, chances: bool) -> float:
    """Log-odds that certainty counts as, learned from probabilities, or from log-odds in any unit."""
    log_odds = np.abs(logit(values) if chances else values)
    most = -logit(LEAST_CHANCE) if chances else np.inf
    largest = log_odds.max(where=log_odds < most, initial=0.0)
    return float(np.clip(largest + np.log(2), -logit(LARGEST_CHANCE), most))


def without_certainty(values: Array, chances: bool, certainty: float) -> Array:
    """Log-odds where certainty is `certainty`; probabilities are kept within it, finite log-odds stay as they are."""
    if chances:
        return np.asarray(np.clip(logit(values), -certainty, certainty))
    infinite = np.isinf(values)
    return np.where(infinite, np.copysign(certainty, values), values) if infinite.any() else values
