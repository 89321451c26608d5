"""The best set of pixels, argmax_A E score(A, y), for independent pixels with known probabilities.

For a loss that grows with false negatives and false positives the best set of k pixels is the k most probable ones,
so p + 1 sets compete. With S the positives among the k taken, R those among the others (independent of each other),

    score = S / D,   D = (1 - a) S + a k + b R,         a, b the weights of false positives and false negatives

is Tversky's index: Dice a = b = 1/2, Jaccard a = b = 1, F-beta a + b = 1. Two ways to its expectation:

- **exact**, O(p^2), for Jaccard, where D does not know S, and for F-beta, where D knows S + R only;
- **by moments**, O(p log p) at any size. With d = E D and e = D - d, exactly

      1/D = 1/d - e/d^2 + e^2/d^3 - e^3/d^4 + e^4/(d^4 D),

  and 0 <= S/D <= 1, so E S/D lies between the first four terms, computed from sums of central moments, and these
  plus E e^4 / d^4. That is the error bound; it falls with the square of the expected number of positives.

A loss that is an increasing function of the number of mistakes alone (Hamming, cost curves) needs neither: taking the
pixels with probability above 1/2 makes that number stochastically smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.decisions.decision import decide
from setloss.losses import CostCurve, Hamming, Loss, TverskyFamily, as_loss
from setloss.typing import Array

Method = Literal["auto", "exact", "moments"]

EXACT_PIXELS = 1024
"""Up to this many pixels "auto" is exact: a quarter of a second."""

TOLERANCE = 1e-3
"""Beyond, "auto" is still exact where moments may lose more than this, up to `MOST_EXACT_PIXELS`."""

MOST_EXACT_PIXELS = 8192


@dataclass(frozen=True)
class PixelDecision:
    """A set of pixels and what is known of its expected loss.

    `expected_loss` is off by at most `error`, and no other set has an expected loss that is lower by more than
    `regret`; both are 0 for exact answers.
    """

    chosen: NDArray[np.bool_]
    expected_loss: float
    error: float
    regret: float
    rule: Literal["exact", "moments", "each pixel"]

    def __str__(self) -> str:
        return (
            f"{int(self.chosen.sum())} of {self.chosen.size} pixels, expected loss {self.expected_loss:.4f} "
            f"± {self.error:.1e}, at most {self.regret:.1e} above the best ({self.rule})"
        )


class Bounds(NamedTuple):
    """Lower and upper bounds of the expected score of every prefix."""

    low: Any
    high: Any


def decide_pixels(
    probabilities: ArrayLike, loss: str | Loss = "dice", *, mask: ArrayLike | None = None, method: Method = "auto"
) -> PixelDecision:
    """The set of pixels of lowest expected loss.

    Parameters
    ----------
    probabilities
        Of every pixel to be positive, any shape. They have to be calibrated: fit a temperature on validation images
        first (`setloss.nn.fit_temperature`), or take the cut at 1/2.
    loss
        Dice, Jaccard, Tversky, F-beta, Hamming, or an increasing cost curve; of few pixels any loss that `decide`
        takes, a callable ``(y_true, y_pred) -> float`` too.
    mask
        Which pixels count; others are not chosen.
    method
        "exact", "moments", or "auto": exact for small sets and where moments may be off by 0.001.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    counted = np.ones(p.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if counted.shape != p.shape:
        raise ValueError(f"a mask of shape {counted.shape} does not fit probabilities {p.shape}")
    inside = p[counted]
    if not ((inside >= 0) & (inside <= 1)).all():
        raise ValueError("probabilities lie in [0, 1]; give the sigmoid of logits")
    chosen = np.zeros(p.shape, dtype=bool)
    family = as_loss(loss)
    if not isinstance(family, TverskyFamily):
        if not _each_pixel_is_best(family):
            found = decide(log_odds(inside)[None], family)
            chosen[counted] = found.sets[0]
            return PixelDecision(chosen, float(found.expected[0]), 0.0, 0.0, "exact")
        chosen[counted], expected, error = _each_pixel(inside, family)
        return PixelDecision(chosen, expected, error, 0.0, "each pixel")
    order = np.argsort(-inside, kind="stable")
    a, b = family.weights
    bounds, rule = expected_scores(inside[order], float(a), float(b), method)
    best = int(np.argmax(bounds.low))
    taken = np.zeros(len(inside), dtype=bool)
    taken[order[:best]] = True
    chosen[counted] = taken
    middle, error = (bounds.low[best] + bounds.high[best]) / 2, (bounds.high[best] - bounds.low[best]) / 2
    return PixelDecision(chosen, float(1 - middle), float(error), float(bounds.high.max() - bounds.low[best]), rule)


def expected_scores(
    p: Array, a: float, b: float, method: Method = "auto"
) -> tuple[Bounds, Literal["exact", "moments"]]:
    """The expected score of the k first pixels, k = 0, ..., p, for probabilities in descending order."""
    if method not in ("auto", "exact", "moments"):
        raise ValueError(f"method is 'auto', 'exact' or 'moments'; got {method!r}")
    if a <= 0:
        raise ValueError("where false positives cost nothing, taking every pixel is best; give them a weight")
    solvable = np.isclose(a, 1) or np.isclose(a + b, 1)
    if method == "exact" and not solvable:
        raise ValueError(f"exact decisions are for Jaccard and F-beta (a = 1 or a + b = 1); got a = {a:g}, b = {b:g}")
    if solvable and (method == "exact" or (method == "auto" and len(p) <= EXACT_PIXELS)):
        return _exact(p, a, b), "exact"
    bounds = moment_bounds(p, a, b, np)
    off = float(bounds.high.max() - bounds.low.max())
    if method == "auto" and solvable and off > TOLERANCE and len(p) <= MOST_EXACT_PIXELS:
        return _exact(p, a, b), "exact"
    return bounds, "moments"


def log_odds(p: Array) -> Array:
    """Log p / (1 - p); infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def _each_pixel_is_best(loss: Loss) -> bool:
    return isinstance(loss, Hamming) or (
        isinstance(loss, CostCurve) and bool(np.all(np.diff([value for _, value in loss.knots]) >= 0))
    )


def _each_pixel(p: Array, loss: Loss) -> tuple[NDArray[np.bool_], float, float]:
    """The set, its expected loss, and how far that may be off."""
    if isinstance(loss, Hamming):
        miss, alarm = loss.false_negative_weight, loss.false_positive_weight
        unit = max(len(p), 1) if loss.normalize else 1
        return p * miss > (1 - p) * alarm, float(np.minimum(p * miss, (1 - p) * alarm).sum() / unit), 0.0
    assert isinstance(loss, CostCurve)
    return p > 0.5, *_expected_cost(loss, np.minimum(p, 1 - p))


def _expected_cost(loss: CostCurve, wrong: Array) -> tuple[float, float]:
    """The expected cost; for large sets the cost of the expected share, off by at most slope x standard deviation."""
    if not len(wrong):
        return 0.0, 0.0
    shares, costs = np.transpose(loss.knots)
    if len(wrong) <= MOST_EXACT_PIXELS:
        counts = poisson_binomial(wrong)
        return float(counts @ np.interp(np.arange(len(counts)) / len(wrong), shares, costs)), 0.0
    spread = float(np.sqrt((wrong * (1 - wrong)).sum()) / len(wrong))
    steepest = float(np.max(np.diff(costs) / np.maximum(np.diff(shares), 1e-12)))
    return float(np.interp(wrong.mean(), shares, costs)), steepest * spread


# ---------------------------------------------------------------- by moments


def moment_bounds(p: Any, a: float, b: float, xp: Any) -> Bounds:
    """Bounds of E S/D for every prefix of the last axis; plain arithmetic, for NumPy and torch alike (`xp`)."""
    v = p * (1 - p)
    parts = {"mean": p, "variance": v, "third": v * (1 - 2 * p), "fourth": v * (1 - 6 * v)}
    taken = {name: _prefixes(part, xp) for name, part in parts.items()}
    rest = {name: part[..., -1:] - part for name, part in taken.items()}
    k = xp.arange(taken["mean"].shape[-1], **({} if xp is np else {"device": p.device, "dtype": p.dtype}))
    d = (1 - a) * taken["mean"] + a * k + b * rest["mean"]
    d = xp.where(k == 0, 1 + 0 * d, d)  # a set of its own, below
    first, fourth = _terms(taken, rest, d, 1 - a, b)
    empty = xp.prod(1 - p, axis=-1)[..., None] if xp is np else xp.prod(1 - p, dim=-1, keepdim=True)
    low, high = xp.where(k == 0, empty, first), xp.where(k == 0, empty, first + fourth)
    return Bounds(xp.maximum(low, 0 * d), xp.minimum(high, 1 + 0 * d))


def _terms(taken: dict[str, Any], rest: dict[str, Any], d: Any, alpha: float, b: float) -> tuple[Any, Any]:
    """The first four terms of E S/D, and E e^4 / d^4; e = alpha (S - E S) + b (R - E R)."""
    s, vs, vr = taken["mean"], taken["variance"], rest["variance"]
    variance = alpha**2 * vs + b**2 * vr
    third = alpha**3 * taken["third"] + b**3 * rest["third"]
    fourth_s, fourth_r = 3 * vs**2 + taken["fourth"], 3 * vr**2 + rest["fourth"]
    fourth = alpha**4 * fourth_s + 6 * alpha**2 * b**2 * vs * vr + b**4 * fourth_r
    first = s / d - alpha * vs / d**2 + (s * variance + alpha**2 * taken["third"]) / d**3
    first = first - (s * third + alpha**3 * fourth_s + 3 * alpha * b**2 * vs * vr) / d**4
    return first, abs(fourth) / d**4


def _prefixes(values: Any, xp: Any) -> Any:
    zero = 0 * values[..., :1]
    if not values.shape[-1]:
        return values.sum(-1)[..., None]
    joined = xp.concatenate([zero, values], axis=-1) if xp is np else xp.cat([zero, values], dim=-1)
    return xp.cumsum(joined, -1)


# ---------------------------------------------------------------- exactly


def _exact(p: Array, a: float, b: float) -> Bounds:
    values = _exact_jaccard(p, b) if np.isclose(a, 1) else _exact_fbeta(p, a, b)
    values[0] = np.prod(1 - p)
    return Bounds(values, values)


def _exact_jaccard(p: Array, b: float) -> Array:
    """E S E 1/(k + b R): the two are independent. R grows by one pixel from each k to the one before."""
    size = len(p)
    means, values, rest = np.cumsum(p), np.zeros(size + 1), np.ones(1)
    for k in range(size, 0, -1):
        values[k] = means[k - 1] * (rest / (k + b * np.arange(len(rest)))).sum()
        rest = _with_one_more(rest, p[k - 1])
    return values


def _exact_fbeta(p: Array, a: float, b: float) -> Array:
    """E[S; T = t] grows by p_k P(T without k = t - 1) from each k to the next; T all positives."""
    size = len(p)
    total, joint, t = poisson_binomial(p), np.zeros(size + 1), np.arange(size + 1)
    values = np.zeros(size + 1)
    for k in range(1, size + 1):
        joint[1:] += p[k - 1] * _without(total, p[k - 1])
        values[k] = (joint / (a * k + b * t)).sum()
    return values


def poisson_binomial(p: Array) -> Array:
    """The distribution of the number of successes of independent trials."""
    counts = np.ones(1)
    for chance in p:
        counts = _with_one_more(counts, chance)
    return counts


def _with_one_more(counts: Array, chance: float) -> Array:
    grown = np.zeros(len(counts) + 1)
    grown[:-1] = (1 - chance) * counts
    grown[1:] += chance * counts
    return grown


def _without(counts: Array, chance: float) -> Array:
    """The distribution with one trial less: the recursion from the side on which errors shrink."""
    from scipy.signal import lfilter

    if chance <= 0.5:
        return np.asarray(lfilter([1 / (1 - chance)], [1, chance / (1 - chance)], counts[:-1]))
    back = lfilter([1 / chance], [1, (1 - chance) / chance], counts[:0:-1])
    return np.asarray(back[::-1])
