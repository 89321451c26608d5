"""Checks of the scores of sets and of the log-potentials of their sizes.

**Certainty.** A forest of 200 trees says 0 where no tree votes for a label, which happens to labels that are
positive. Taken at its word, one of them rules out every other explanation of its set. What is learned from scores
takes certainty for twice the largest odds, for or against, of those that are not certain, and keeps that number for
predictions. Only `setloss.decisions.decide` and `CountModel` take certainty at its word.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from setloss.arguments import refuse_masked
from setloss.typing import Array

SCORES = ("auto", "log-odds", "probabilities")
"""What scores may be said to be."""

LARGEST = 1e6
"""Log-odds of certainty taken at its word."""

LEAST_CHANCE = 1e-6
"""Smallest probability that is believed: smaller ones are overconfidence or rounding, and count as 0."""

LARGEST_CHANCE = 1e-2
"""Largest probability that 0 may stand for."""

ROUNDING = 1e-6
"""How far from [0, 1] a probability may be: sums in single precision end there."""

Counts = ArrayLike | None


def as_log_odds(values: ArrayLike, scores: str = "auto", name: str = "scores") -> Array:
    """Scores as log-odds in float64, by the word `scores` of `decide`, `decide_pixels` and `SetDecision`.

    "auto" takes log-odds as they are, but refuses numbers that all lie in [0, 1]: they are nearly always
    probabilities, and taken for log-odds every one of them would say "rather yes". "log-odds" insists, and
    "probabilities" are turned into log-odds. All are clipped at +-1e6, infinite ones of probabilities 0 and 1 too.
    """
    array = as_numbers(values, name)
    check_scores(array, scores, name)
    return np.ascontiguousarray(np.clip(_logit(array) if scores == "probabilities" else array, -LARGEST, LARGEST))


def check_scores(array: Array, scores: str, name: str = "scores") -> None:
    """Refuse numbers that are not what the word `scores` says, or which "auto" cannot tell."""
    if scores not in SCORES:
        raise ValueError(f"scores is one of {', '.join(SCORES)}; got {scores!r}")
    if scores == "log-odds" or not array.size:
        return
    low, high = array.min(), array.max()
    if scores == "auto" and low >= 0 and high <= 1:
        raise ValueError(
            f"all {name} lie in [0, 1], as probabilities do, and log-odds are expected; pass "
            'scores="probabilities" if they are probabilities, scores="log-odds" if they are not'
        )
    if scores == "probabilities" and not (low >= -ROUNDING and high <= 1 + ROUNDING):
        raise ValueError(
            f"{name} are not probabilities: they reach from {low:.8g} to {high:.8g}. For log-odds or margins pass "
            'scores="log-odds".'
        )


def _logit(chances: Array) -> Array:
    return np.asarray(logit(np.clip(chances, 0, 1)))


def odds_of_certainty(values: Array, chances: bool) -> float:
    """Log-odds that certainty counts as, learned from probabilities, or from log-odds in any unit."""
    log_odds = np.abs(_logit(values) if chances else values)
    most = -logit(LEAST_CHANCE) if chances else np.inf
    largest = log_odds.max(where=log_odds < most, initial=0.0)
    return float(np.clip(largest + np.log(2), -logit(LARGEST_CHANCE), most))


def without_certainty(values: Array, chances: bool, certainty: float) -> Array:
    """Log-odds where certainty is `certainty`; probabilities are kept within it, finite log-odds stay as they are."""
    if chances:
        return np.asarray(np.clip(_logit(values), -certainty, certainty))
    infinite = np.isinf(values)
    return np.where(infinite, np.copysign(certainty, values), values) if infinite.any() else values


def as_numbers(values: Any, name: str) -> Array:
    """Real numbers as float64; NaN, complex numbers, masked arrays and text are refused with a sentence."""
    if hasattr(values, "toarray"):
        raise ValueError(f"{name} are a sparse matrix; every element needs a score, pass {name}.toarray()")
    refuse_masked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf" and (given.dtype != object or np.iscomplexobj(values)):
            raise TypeError
        array = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        kind = getattr(values, "dtype", type(values).__name__)
        raise ValueError(f"{name} must be real numbers, one for each element; got {kind}") from None
    if np.isnan(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise ValueError(f"{name} must be numbers; the one at {place} is NaN. Leave its row out, or score it again.")
    return array


def as_potentials(counts: ArrayLike, p: int, n: int) -> Array:
    """Log-potentials (1, L) or (n, L) of n examples with p elements, which leave some size to each."""
    potentials = np.atleast_2d(as_numbers(counts, "counts"))
    if potentials.ndim != 2 or len(potentials) not in (1, n) or not 0 < potentials.shape[1] <= p + 1:
        raise ValueError(
            f"counts must be (K + 1,) or (examples, K + 1) with K at most {p}, the number of elements; "
            f"got shape {potentials.shape} for {n} examples"
        )
    most = potentials.max(axis=1)
    if n and np.isinf(most).any():
        i = int(np.argmax(np.isinf(most)))
        raise ValueError(f"the largest of row {i} of counts is {most[i]}; one number must be possible, none certain")
    return np.ascontiguousarray(potentials)
