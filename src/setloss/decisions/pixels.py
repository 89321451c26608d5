"""The best set of pixels, argmax_A E score(A, y), for independent pixels with known probabilities.

For a loss that grows with false negatives and false positives the best set of k pixels is the k most probable ones,
so p + 1 sets compete. With S the positives among the k taken, R those among the others (independent of each other),

    score = S / D,   D = (1 - a) S + a k + b R,         a, b the weights of false positives and false negatives

is Tversky's index: Dice a = b = 1/2, Jaccard a = b = 1, F-beta a + b = 1; 0/0 scores `zero_division`. Two ways to its
expectation:

- **exact**, by `decide`, for Jaccard (a = 1) and F-beta (a + b = 1), and for others of few pixels;
- **by moments**, O(p log p) at any size. With d = E D and e = D - d, exactly

      1/D = 1/d - e/d^2 + e^2/d^3 - e^3/d^4 + e^4/(d^4 D),

  and 0 <= S/D <= 1, so E S/D lies between the first four terms, computed from sums of central moments, and these
  plus E e^4 / d^4. That is the error bound; it falls with the square of the expected number of positives.

Where false positives cost nothing (a = 0), every pixel that may be positive is taken. For a rising cost curve the
best set is that of the pixels with probability above 1/2, which makes the number of mistakes stochastically smallest.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from setloss.arguments import refuse_masked
from setloss.decisions.decision import decide
from setloss.decisions.scores import as_log_odds
from setloss.decisions.specs import loss_spec
from setloss.losses import Form, Loss, as_loss
from setloss.setfunctions.counts import Kind
from setloss.typing import Array

Method = Literal["auto", "exact", "moments"]

MOST_WORK = 10_000_000
"""Largest work of an exact answer by "auto": the number of pixels times one plus the standard deviation of the number
of positives, so 65,536 pixels in any case. Up to there it is as fast as moments; these are good where many positives
are expected."""

FEW_PIXELS = 256
"""Largest set that is decided exactly for weights a, b of no fast algorithm."""


@dataclass(frozen=True)
class PixelDecision:
    """A set of pixels, bool in the shape of the scores, and what is known of its expected loss.

    `expected_loss` is that of independent pixels; those of a network err together. As such it is off by at most
    `error`, and no other set has one that is lower by more than `regret`; both are 0 for exact answers.

    Examples
    --------
    >>> decision = decide_pixels([[0.9, 0.4], [0.1, 0.05]], "dice", scores="probabilities")
    >>> print(decision)
    1 of 4 pixels, expected loss 0.2554 ± 0.0e+00, at most 0.0e+00 above the best (exact)
    """

    sets: NDArray[np.bool_]
    expected_loss: float
    error: float
    regret: float
    rule: Literal["exact", "moments"]

    def __str__(self) -> str:
        return (
            f"{int(self.sets.sum())} of {self.sets.size} pixels, expected loss {self.expected_loss:.4f} "
            f"± {self.error:.1e}, at most {self.regret:.1e} above the best ({self.rule})"
        )


def decide_pixels(
    values: ArrayLike,
    loss: str | Loss = "dice",
    *,
    scores: str = "auto",
    mask: ArrayLike | None = None,
    method: Method = "auto",
) -> PixelDecision:
    """The set of pixels of lowest expected loss.

    Parameters
    ----------
    values
        Log-odds (logits) or probabilities of every pixel to be positive, any shape. They have to be calibrated: fit a
        temperature on validation images first (`setloss.nn.fit_temperature`), or take threshold 1/2.
    loss
        Dice, Jaccard, Tversky, F-beta or Hamming; of few pixels any loss that `decide` takes, a callable
        ``(y_true, y_pred) -> float`` too.
    scores
        What `values` are: "log-odds", "probabilities", or "auto", log-odds unless all of them lie in [0, 1], which is
        refused.
    mask
        Which pixels count; others are not chosen.
    method
        "exact", "moments", or "auto": exact up to 65,536 pixels, and beyond where few positives are expected.

    Examples
    --------
    >>> probabilities = [[0.4, 0.4], [0.4, 0.1]]  # none is above 1/2, and the best set has three
    >>> decide_pixels(probabilities, "dice", scores="probabilities").sets.astype(int)
    array([[1, 1],
           [1, 0]])
    """
    log_odds = as_log_odds(values, scores, "values")
    refuse_masked(mask, "mask")
    counted = np.ones(log_odds.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if counted.shape != log_odds.shape:
        raise ValueError(f"a mask of shape {counted.shape} does not fit values of shape {log_odds.shape}")
    if method not in ("auto", "exact", "moments"):
        raise ValueError(f"method is 'auto', 'exact' or 'moments'; got {method!r}")
    decision = _decide(log_odds[counted], as_loss(loss), method)
    chosen = np.zeros(log_odds.shape, dtype=bool)
    chosen[counted] = decision.sets
    return PixelDecision(chosen, decision.expected_loss, decision.error, decision.regret, decision.rule)


def _decide(log_odds: Array, loss: Loss, method: Method) -> PixelDecision:
    """The decision for a flat array."""
    p, form = expit(log_odds), loss.form
    if not len(p):
        return PixelDecision(np.zeros(0, dtype=bool), form.undefined if form else 0.0, 0.0, 0.0, "exact")
    if form is not None and form.kind == Kind.TVERSKY:
        if form.false_positive == 0:
            nothing = float(np.exp(np.log1p(-np.minimum(p, 1 - 1e-16)).sum()))
            return PixelDecision(p > 0, form.undefined * nothing, 0.0, 0.0, "exact")
        if not _is_exact(p, loss, form, method):
            return _decide_by_moments(p, form)
    elif loss.by_size and len(p) > FEW_PIXELS:
        raise ValueError(
            f"cost curves are decided for at most {FEW_PIXELS} pixels, there are {len(p)}; if the curve rises, the "
            "best set is that of all pixels with a probability above 1/2"
        )
    decision = decide(log_odds[None], loss, scores="log-odds")
    return PixelDecision(decision.sets[0], float(decision.expected_loss[0]), 0.0, 0.0, "exact")


def _is_exact(p: Array, loss: Loss, form: Form, method: Method) -> bool:
    spec = loss_spec(loss, len(p), len(p) + 1)
    assert spec is not None
    fast = spec.linear_in_hits or spec.linear_in_misses
    if method == "exact" and not fast and len(p) > FEW_PIXELS:
        a, b = form.false_positive, form.false_negative
        raise ValueError(
            f"exact decisions of more than {FEW_PIXELS} pixels are for Jaccard and F-beta (a = 1 or a + b = 1); got "
            f"a = {a:g}, b = {b:g} and {len(p)} pixels. Use method='moments'."
        )
    if method != "auto":
        return method == "exact"
    work = len(p) * (1 + np.sqrt(np.sum(p * (1 - p))))
    return len(p) <= FEW_PIXELS or (fast and bool(work <= MOST_WORK))


def _decide_by_moments(p: Array, form: Form) -> PixelDecision:
    order = np.argsort(-p, kind="stable")
    low, high = moment_bounds(p[order], form.false_positive, form.false_negative, 1 - form.undefined)
    best = int(np.argmax(low))
    chosen = np.zeros(len(p), dtype=bool)
    chosen[order[:best]] = True
    middle, error = (low[best] + high[best]) / 2, (high[best] - low[best]) / 2
    return PixelDecision(chosen, float(1 - middle), float(error), float(high.max() - low[best]), "moments")


# ---------------------------------------------------------------- by moments


def moment_bounds(p: Array, a: float, b: float, zero_division: float = 1.0) -> tuple[Array, Array]:
    """Lower and upper bounds of E S/D for every prefix of the last axis, a > 0; E e^4 / d^4 apart."""
    v = p * (1 - p)
    cumulants = p, v, v * (1 - 2 * p), v * (1 - 6 * v)
    parts = [np.cumsum(np.insert(one, 0, 0.0, axis=-1), axis=-1) for one in cumulants]
    s, variance_s, third_s, fourth_s = parts
    r, variance_r, third_r, fourth_r = (part[..., -1:] - part for part in parts)
    k, alpha = np.arange(s.shape[-1]), 1 - a
    d = np.where(k == 0, 1.0, alpha * s + a * k + b * r)  # no pixels are a set of its own, below
    variance = alpha**2 * variance_s + b**2 * variance_r
    third = alpha**3 * third_s + b**3 * third_r
    fourth_s, fourth_r = 3 * variance_s**2 + fourth_s, 3 * variance_r**2 + fourth_r
    fourth = alpha**4 * fourth_s + 6 * alpha**2 * b**2 * variance_s * variance_r + b**4 * fourth_r
    first = s / d - alpha * variance_s / d**2 + (s * variance + alpha**2 * third_s) / d**3
    first -= (s * third + alpha**3 * fourth_s + 3 * alpha * b**2 * variance_s * variance_r) / d**4
    # No pixels: 0/0 if there are no positives, or if missing them costs nothing; else 0.
    empty = zero_division * (np.prod(1 - p, axis=-1, keepdims=True) if b > 0 else 1.0)
    low, high = (np.where(k == 0, empty, one) for one in (first, first + abs(fourth) / d**4))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)
