"""Thresholds by an exact scan: of all places to cut sorted scores, the one of least loss.

For losses of one example at a time (the mean over examples), of a label over all examples (macro), and of all labels
of all examples together (micro).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.decisions.held_out import HeldOut
from setloss.losses import CountLoss
from setloss.typing import Array


def losses_of_prefixes(data: HeldOut, loss: CountLoss) -> tuple[Array, Array]:
    """Falling scores (n, p) of every example, and the loss (n, p + 1) of predicting its first 0, 1, ..., p labels.

    Labels that are not known come last and change nothing.
    """
    scores = np.where(data.known, data.scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")
    truth, known = (np.take_along_axis(array, order, axis=1) for array in (data.truth & data.known, data.known))
    hits, said = (np.pad(np.cumsum(array, axis=1), ((0, 0), (1, 0))) for array in (truth, known))
    positives = hits[:, -1:]
    values = loss.value(positives - hits, said - hits, positives, said[:, -1:] - positives)
    return np.take_along_axis(scores, order, axis=1), np.asarray(values, dtype=np.float64)


def threshold_of_sets(data: HeldOut, loss: CountLoss) -> float:
    """One threshold for all labels and examples, of least mean loss; of equally good ones that nearest to 0.

    Lowering the threshold adds labels one by one, by falling score; each changes the loss of its own example.
    """
    falling, values = losses_of_prefixes(data, loss) if data.bags is None else _of_bags(data, loss)
    steps = (np.diff(values, axis=1) * data.weights[:, None]).ravel()
    scores = falling.ravel()
    kept = scores > -np.inf
    by_score = np.argsort(-scores[kept], kind="stable")
    totals = np.concatenate(([0.0], np.cumsum(steps[kept][by_score])))
    return _best_cut(scores[kept][by_score], totals)


def threshold_of_column(scores: Array, truth: NDArray[np.bool_], weights: Array, loss: CountLoss) -> float:
    """A threshold for flat elements that are judged together, as one set."""
    by_score = np.argsort(-scores, kind="stable")
    positive = weights[by_score] * truth[by_score]
    hits = np.concatenate(([0.0], np.cumsum(positive)))
    said = np.concatenate(([0.0], np.cumsum(weights[by_score])))
    values = loss.value(hits[-1] - hits, said - hits, hits[-1], said[-1] - hits[-1])
    return _best_cut(scores[by_score], np.asarray(values, dtype=np.float64))


def best_size(data: HeldOut, loss: CountLoss) -> int:
    """The number of labels of least mean loss, if every example gets the same number."""
    return int(np.argmin(data.weights @ losses_of_prefixes(data, loss)[1]))


def _best_cut(falling: Array, totals: Array) -> float:
    """The cut of least total between different scores, nearest to 0 among equals; totals[j] is for j scores above."""
    if not len(falling):
        return 0.0
    edges = np.concatenate(([falling[0] + 1], falling, [falling[-1] - 1]))
    possible = np.flatnonzero(edges[:-1] > edges[1:])
    cuts, found = (edges[:-1] + edges[1:])[possible] / 2, totals[possible]
    best = cuts[found <= found.min() + 1e-9 * max(1.0, float(np.abs(found).max()))]
    return float(best[np.argmin(np.abs(best))])


def _of_bags(data: HeldOut, loss: CountLoss) -> tuple[Array, Array]:
    """The same for bags, padded to the size of the largest one."""
    bags: Any = data.bags
    size = int(bags.sizes.max())
    place = np.arange(size) < bags.sizes[:, None]
    padded = [np.zeros(place.shape, dtype=array.dtype) for array in (data.scores, data.truth, data.known)]
    for table, array in zip(padded, (data.scores, data.truth, data.known), strict=True):
        table[place] = array
    scores, truth, known = padded
    return losses_of_prefixes(HeldOut(scores, truth, known, data.weights, data.folds), loss)
