"""Thresholds of least held-out loss, by an exact scan of all places between two of the sorted scores.

Losses are those of one set at a time (the mean over sets), or of elements that are judged together as one set: a
label over all examples (macro), all labels of all examples (micro).
"""

from collections.abc import Sequence

import numpy as np

from setloss.bags import Bags
from setloss.decisions.held_out import HeldOut, falling
from setloss.losses import CountLoss
from setloss.setfunctions.counts import Kind
from setloss.typing import Array, Flags

PRIOR = 10.0
"""Positives of a label that weigh as much as its calibrated chances, where every label has its own threshold."""

MOST_ELEMENTS = 2**20
"""Largest number of elements, about, that one threshold for all is sought on."""

MOST_PLACES = 2**15
"""Scores, drawn at random, between which that threshold is sought; and elements whose losses are computed at a time,
which bounds the memory of the scan."""


def thresholds_without(data: HeldOut, loss: CountLoss, folds: Sequence[int] = (-1,)) -> list[float]:
    """The thresholds of all sets but those of one fold, for each of some folds; no set is in fold -1.

    Each is one for all elements, of least mean loss; of equally good ones that nearest to 0.

    Lowering the threshold adds elements one by one, by falling score; each changes the loss of its own set. Of sets
    with more than `MOST_ELEMENTS`, some at random are enough for one number.
    """
    data = data.sample(max(1, MOST_ELEMENTS * len(data) // max(1, int(data.sizes.sum()))))
    some = np.arange(data.scores.size)
    if len(some) > MOST_PLACES:
        some = np.random.default_rng(0).integers(0, len(some), size=MOST_PLACES)
    rising = np.sort(-np.ravel(data.scores)[some[np.ravel(data.known)[some]]])
    growth = np.zeros((len(folds), len(rising) + 2))
    chunks = np.cumsum(data.sizes) // MOST_PLACES
    for chunk in np.unique(chunks):
        part = data.part(chunks == chunk)
        steps, turns = _steps(part, loss), np.repeat(part.folds, part.sizes)
        first = 1 + np.searchsorted(rising, -np.ravel(part.scores))  # so many of the places must be above a threshold
        for i, fold in enumerate(folds):
            growth[i] += np.bincount(first, np.where(turns == fold, 0.0, steps), growth.shape[1])
    return [best_threshold(-rising, totals) for totals in np.cumsum(growth[:, :-1], axis=1)]


def _steps(data: HeldOut, loss: CountLoss) -> Array:
    """What the loss of its set grows by when an element is added to those of larger score, times the set's weight."""
    bags = data.bags or Bags.from_offsets(data.scores.shape[1] * np.arange(len(data) + 1))
    known = np.ravel(data.known)
    order = falling(np.where(known, np.ravel(data.scores), -np.inf), bags)  # labels that are not known change nothing
    totals = np.zeros((2, len(order) + 1), dtype=np.intp)
    np.cumsum([(np.ravel(data.truth) & known)[order], known[order]], axis=1, out=totals[:, 1:])
    hits, said = totals[:, 1:] - np.repeat(totals[:, bags.offsets[:-1]], bags.sizes, axis=1)
    first, last = bags.offsets[:-1], np.repeat(bags.offsets[1:] - 1, bags.sizes)
    positives, negatives = hits[last], said[last] - hits[last]
    after = np.asarray(loss.value(positives - hits, said - hits, positives, negatives), dtype=np.float64)
    before = np.concatenate(([0.0], after[:-1]))
    before[first] = loss.value(positives[first], 0 * first, positives[first], negatives[first])
    steps = np.empty(len(order))
    steps[order] = (after - before) * np.repeat(data.weights, bags.sizes)
    return steps


def threshold_of_column(
    scores: Array, positive: Array | Flags, weights: Array, loss: CountLoss, absent: float = 0.0
) -> float:
    """A threshold for flat elements that are judged together, as one set; `positive` is 0 or 1, or a chance.

    `absent` is the chance that none of them will be positive, part of the chances in `positive`.
    """
    by_score = np.argsort(-scores, kind="stable")
    hits = np.concatenate(([0.0], np.cumsum((weights * positive)[by_score])))
    said = np.concatenate(([0.0], np.cumsum(weights[by_score])))
    values = (1 - absent) * _loss_of_tallies(hits / max(1 - absent, 1e-12), said, loss)
    if absent > 0:
        values += absent * _loss_of_tallies(0 * hits, said, loss)
    return best_threshold(scores[by_score], values)


def _loss_of_tallies(hits: Array, said: Array, loss: CountLoss) -> Array:
    """The loss of everything as one set, for hits[j] of the said[j] elements that are chosen first."""
    hits = np.minimum(hits, said)
    return np.asarray(loss.value(hits[-1] - hits, said - hits, hits[-1], said[-1] - hits[-1]), dtype=np.float64)


def column_thresholds(data: HeldOut, chances: Array, loss: CountLoss, average: str) -> Array:
    """Thresholds (p,) of least loss over all examples: one for each label (macro), or one for all (micro).

    The best threshold of a label with few positives is a matter of chance. For labels that occur, truth is mixed with
    the calibrated `chances` of the same examples, which a threshold cannot follow: with `PRIOR` positives, half each.
    With Poisson counts, a label has no positive among as many new examples with probability exp(-sum of its
    probabilities). If an empty label that is left empty scores 1, it can be best to leave it alone; its threshold is
    then infinite.
    """
    weights, p = data.element_weights, data.scores.shape[1]
    if average == "micro":
        known = data.known
        return np.full(p, threshold_of_column(data.scores[known], data.truth[known], weights[known], loss))
    thresholds = np.empty(p)
    for j in range(p):
        known = data.known[:, j]
        scores, truth, weight = data.scores[known, j], data.truth[known, j].astype(np.float64), weights[known, j]
        absent = 0.0
        if loss.form is not None and loss.form.kind == Kind.TVERSKY and truth.any():
            truth += PRIOR / (PRIOR + truth.sum()) * (chances[known, j] - truth)
            absent = float(np.exp(-np.average(truth, weights=weight) * len(truth)))
        thresholds[j] = threshold_of_column(scores, truth, weight, loss, absent)
        if float(loss.value(0, 0, 0, 1)) < float(loss.value(0, 1, 0, 1)) and not np.any(scores > thresholds[j]):
            thresholds[j] = np.inf  # the label is left alone
    return thresholds


def best_threshold(falling: Array, totals: Array) -> float:
    """The threshold of least total, of equal ones that nearest to 0; totals[j] is for j scores above it."""
    if not len(falling):
        return 0.0
    edges = np.concatenate(([falling[0] + 1], falling, [falling[-1] - 1]))
    possible = np.flatnonzero(edges[:-1] > edges[1:])
    losses = totals[possible]
    best = possible[losses <= losses.min() + 1e-9 * max(1.0, float(losses.max()), -float(losses.min()))]
    middles = (edges[best] + edges[best + 1]) / 2
    return float(middles[np.argmin(np.abs(middles))])
