"""A promise: answer where the expected loss is small, so that the mean loss of what is answered is at most `at_most`.

    answered(x)  =  e(x) <= t,        P( E[loss | e <= t] <= a ) >= confidence        over the sets it is learned from

Expected losses e are those of decisions and may be wrong: the promise holds for any numbers that order the sets. Sets
are independent draws of one distribution, as new sets are, and neither the classifier nor the decision has seen them.

**Validity.** Thresholds t_1 < t_2 < ... are multiples of a / 100 fixed beforehand; the last is infinite.
*Each test.* Given which sets have e <= t, their losses l_1, l_2, ... in random order are independent draws of the
loss given e <= t. If its mean is above a, the capital prod_i (1 + r_i (a - l_i)) is a nonnegative supermartingale for
stakes 0 <= r_i < 1 / (1 - a) that know l_1 ... l_(i-1) only. It ever reaches 1/d with probability at most d (Ville),
so one over its largest value is a p-value (betting: Waudby-Smith and Ramdas 2024). With weights in [0, 1],
w_i (a - l_i) takes the place of a - l_i.
*All tests.* Some starts share 1 - confidence. Thresholds are walked upwards; one passes if its p-value is within the
budget, the shares of the starts since the last failure (the fallback procedure of Wiens 2003). Call thresholds of a
mean loss above a bad. If t is the first bad one that passes and s the last bad one below it, s failed, so the budget
at t is at most the shares of the starts in (s, t]. These intervals are disjoint and fixed beforehand: the
probabilities that some bad t passes add up to at most 1 - confidence.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setloss.decisions.specs import descent, loss_spec
from setloss.losses import CountLoss
from setloss.typing import Array

STEPS = 100
"""Thresholds between 0 and `at_most`; larger ones go on with the same step."""

STARTS = ((0.5, 0.25), (1.0, 0.75))
"""Thresholds where the walk may start, as multiples of `at_most`, and their shares of 1 - confidence."""

SCORES = {"f1": "F1", "dice": "Dice", "jaccard": "Jaccard"}
"""Losses that are known by the score 1 - loss."""


@dataclass(frozen=True)
class Promise:
    """The mean loss of sets with an expected loss up to `limit` is at most `at_most`, with this confidence.

    Attributes
    ----------
    at_most, confidence
        Mean loss of what is answered, and the probability of sets to learn from for which the promise is true.
    limit, share
        Largest expected loss that is answered (-inf: nothing, inf: everything), and the share of the weight of sets.
    sets, loss
        Number of sets it was learned from, and the name of the loss.
    surest
        Number of sets and mean loss of what is answered; if nothing is, of what is expected to lose up to `at_most`,
        or 0 and the least expected loss.
    model
        The estimator that made it and gives new sets their expected losses; None if `make_promise` did.

    Examples
    --------
    >>> promise = Promise(0.2, 0.9, limit=0.3, share=0.5, sets=1000, loss="f1", surest=(500, 0.18))
    >>> promise.answers([0.1, 0.3, 0.5])
    array([ True,  True, False])
    """

    at_most: float
    confidence: float
    limit: float
    share: float
    sets: int
    loss: str
    surest: tuple[int, float]
    model: Any = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return self.limit > -np.inf

    def answers(self, new: Any, *, groups: Any = None) -> Any:
        """Whether each new set is answered, from the scores or features that the model takes.

        A promise of `make_promise` takes expected losses. Groups come in sorted order.
        """
        expected = new if self.model is None else self.model.expected_loss(new, groups=groups)
        return np.less_equal(expected, self.limit)

    def __str__(self) -> str:
        number, mean = self.surest
        what, sign = (SCORES[self.loss], -1) if self.loss in SCORES else (f"a mean {self.loss} loss", 1)
        least, seen = (f"{x if sign > 0 else 1 - x:.3g}" for x in (self.at_most, mean))
        claim = f"{what} of at {'most' if sign > 0 else 'least'} {least}"
        sure = f"with {100 * self.confidence:.3g} % confidence"
        if self:
            share = f"{100 * self.share:.0f} % of the sets"
            return f"{claim} on what is answered, {sure}: {share}; assumes new sets are like these {self.sets:,}"
        reached = f"the mean of the {number:,} that are expected to reach it is {seen}"
        near = reached if number else f"none is expected to reach it, and the surest only {seen}"
        help = "more sets" if number and mean <= self.at_most else "a weaker promise or better scores"
        return f"{claim} cannot be promised {sure} from {self.sets:,} sets: {near}; {help} may help"


def make_promise(
    expected: ArrayLike,
    losses: ArrayLike,
    *,
    at_most: float,
    confidence: float = 0.9,
    weights: ArrayLike | None = None,
    largest: float = 1.0,
    loss: str = "set",
) -> Promise:
    """The largest limit of the expected loss up to which a mean loss of at most `at_most` can be promised.

    Sets of equal expected loss are answered together or not at all.

    Parameters
    ----------
    expected, losses
        Expected and observed loss of every set; neither the classifier nor the decision has seen the sets.
    at_most, confidence
        The mean loss that is promised, and with which probability.
    weights
        Weight of every set, for the weighted mean loss. No new set may weigh more than the heaviest of these.
    largest, loss
        Largest possible loss, and the name of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> expected = generator.random(1000)
    >>> losses = generator.random(1000) < expected
    >>> promise = make_promise(expected, losses, at_most=0.2, loss="0/1")
    >>> print(promise)  # doctest: +NORMALIZE_WHITESPACE
    a mean 0/1 loss of at most 0.2 on what is answered, with 90 % confidence: 22 % of the sets; assumes new sets are
    like these 1,000
    >>> promise.answers([0.1, 0.9])
    array([ True, False])
    """
    if not 0 < at_most < largest < np.inf:
        raise ValueError(f"at_most is a loss between 0 and the largest possible, {largest:g}; got {at_most!r}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is between 0 and 1; got {confidence!r}")
    e, seen, w = _in_random_order(expected, losses, weights, largest)
    limit = _walk(e, seen, w, at_most / largest, 1 - confidence, largest)
    here, surest = e <= (at_most if limit == -np.inf else limit), (0, float(e.min()))
    if here.any():
        surest = int(here.sum()), float(np.average(seen[here], weights=w[here])) * largest
    share = float(w[e <= limit].sum() / w.sum())
    return Promise(float(at_most), float(confidence), limit, share, len(e), loss, surest)


def largest_loss(loss: CountLoss, sizes: Any) -> float:
    """The largest possible loss of sets of these sizes: with everything wrong, unless the loss falls somewhere."""
    most = 0.0
    for p in np.unique(sizes).tolist():
        positives = np.arange(p + 1)
        losses = [loss.value(positives, p - positives, positives, p - positives)]
        if descent(loss, p, p + 1) and (spec := loss_spec(loss, p, p + 1)):
            losses += [spec.numbers, np.ravel(spec.table)]
        most = max(most, float(np.nanmax(np.concatenate(losses))))
    return most


def _in_random_order(
    expected: ArrayLike, losses: ArrayLike, weights: ArrayLike | None, largest: float
) -> tuple[Array, Array, Array]:
    """Sets of positive weight: expected losses, and losses and weights divided by the largest possible."""
    e, seen = (np.asarray(one, dtype=np.float64) for one in (expected, losses))
    w = np.ones(e.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if not e.shape == seen.shape == w.shape == (e.size,):
        raise ValueError(
            f"expected losses, losses and weights are one number a set; got {e.shape}, {seen.shape}, {w.shape}"
        )
    if not (w > 0).any() or not np.isfinite([e, seen, w]).all() or w.min() < 0:
        raise ValueError("a promise needs finite losses of sets, weights of at least 0, and a positive weight")
    if seen.min() < 0 or seen.max() > largest * (1 + 1e-9):
        raise ValueError(f"losses lie between 0 and {largest:g}; got {seen.min():g} to {seen.max():g}")
    order = np.random.default_rng(0).permutation(np.flatnonzero(w))
    return e[order], np.minimum(seen[order] / largest, 1.0), w[order] / w.max()


def _walk(expected: Array, losses: Array, weights: Array, a: float, delta: float, largest: float) -> float:
    """The largest threshold that passes, -inf if none does; the module says why this is valid."""
    step = a / STEPS * largest
    thresholds = np.append(np.arange(1, np.ceil(STEPS / a)) * step, np.inf)
    shares = np.zeros(len(thresholds))
    for start, share in STARTS:
        shares[round(start * STEPS) - 1] += share * delta
    limit, budget = -np.inf, 0.0
    for threshold, share in zip(thresholds, shares, strict=True):
        budget += share
        here = expected <= threshold
        if budget > 0 and p_value(losses[here], a, delta, weights[here]) <= budget:
            limit = float(threshold)
        else:
            budget = 0.0
    return limit


def p_value(losses: Array, a: float, delta: float, weights: Array) -> float:
    """Bound of the probability that losses in [0, 1] of mean above `a` look as good as these, in random order.

    Stakes are those for the variance seen so far, for as many losses and for p-values near `delta`, at most
    .95 / (1 - a), so that the capital stays positive. The p-value is valid whatever `delta` is.
    """
    n = len(losses)
    if not n:
        return 1.0
    gains, number = weights * (a - losses), np.arange(1, n + 1)
    means = np.concatenate(([0.0], np.cumsum(gains)[:-1])) / number
    squares = np.concatenate(([0.0], np.cumsum((gains - means) ** 2)[:-1]))
    variances = (a * (1 - a) / 2 + squares) / number
    stakes = np.minimum(np.sqrt(2 * np.log(1 / delta) / (n * variances)), 0.95 / (1 - a))
    return float(np.exp(-max(0.0, np.cumsum(np.log1p(stakes * gains)).max())))
