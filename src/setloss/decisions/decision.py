"""The set of least expected loss under a count model.

    A* = argmin_A  E l(y, A),        P(y) ~ exp( sum_i y_i s_i + u_{|y|} ).

**The best set of k elements is the k largest scores**, for every loss that does not fall with more false negatives
or false positives: swap a chosen j for an i with s_i > s_j. Labels with y_i = 1, y_j = 0 are at least as likely as
the same labels with i and j exchanged, because the number of positives and so the potential is the same, and they now
cost no more. So p + 1 sets compete. `docs/proofs.md` has the argument in full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from setloss.bags import Bags
from setloss.decisions.count_model import SetsOfOneSize
from setloss.decisions.layout import Counts, Layout, as_scores, potentials_of
from setloss.decisions.specs import LossSpec, descent, loss_spec
from setloss.losses import FixedSetLoss, Loss, as_loss
from setloss.typing import Array

Flags = NDArray[np.bool_]

FEW_SUMS = 2048
"""Up to this many terms (12 elements) the sums that serve every loss take a microsecond more per set than those for
Dice alone, whose kernel the first call on a machine would wait for."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Chosen sets in the shape of the scores, the expected loss of each, and how many elements each has."""

    sets: NDArray[np.bool_]
    expected: Array
    sizes: NDArray[np.intp]


def decide(
    scores: ArrayLike, loss: Loss | str, *, counts: Counts = None, bags: Bags | ArrayLike | None = None
) -> Decision:
    """The set of least expected loss for every example.

    Exact for losses that do not fall with more mistakes: Dice, Jaccard, Tversky, F-beta, Hamming, 0/1, rising cost
    curves, `from_counts` and tables. For others all sets are compared up to 16 elements, and beyond they are
    refused. The empty set competes; 0/0 costs what the loss says. Of equal sets (to 1e-12) the smallest is chosen, of
    elements with equal scores the first.

    Parameters
    ----------
    scores
        Log-odds (n, p), or flat with `bags`. Infinite ones are allowed.
    loss
        A loss, or the name of one.
    counts
        None for independent elements, or log-potentials of the number of positives: (K + 1,) or (n, K + 1), larger
        numbers being impossible; with bags a callable ``p -> (p + 1,)``, a sequence of arrays, or a flat array of
        p_i + 1 numbers for each bag. -inf makes a number impossible.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat scores.
    """
    loss = as_loss(loss)
    array = as_scores(scores)
    layout = Layout.of(array.shape, bags)
    parts = [
        _decide_sets_of_one_size(part, potentials, loss, counts is None)
        for part, potentials in zip(layout.split(array), potentials_of(counts, layout), strict=True)
    ]
    return Decision(
        layout.join([part.sets for part in parts]) if parts else np.zeros(layout.shape, dtype=bool),
        layout.join_rows([part.expected for part in parts]),
        layout.join_rows([part.sizes for part in parts]).astype(np.intp),
    )


def expected_losses(scores: ArrayLike, loss: Loss | str, *, counts: Counts = None) -> Array:
    """The expected loss (n, p + 1) of choosing the k largest scores, for every k; scores (n, p) in any order."""
    loss = as_loss(loss)
    array = as_scores(scores)
    layout = Layout.of(array.shape, None)
    potentials = potentials_of(counts, layout)[0]
    spec = loss_spec(loss, layout.shape[1], potentials.shape[1])
    if spec is None:
        raise ValueError(f"{_why_not(loss, layout.shape[1], potentials.shape[1])}, so no order of elements is best")
    return _losses_of_prefixes(SetsOfOneSize(-np.sort(-array, axis=1), potentials), spec)


def expected_losses_of(
    sets: ArrayLike,
    scores: ArrayLike,
    loss: Loss | str,
    *,
    counts: Counts = None,
    bags: Bags | ArrayLike | None = None,
) -> Array:
    """The expected loss of given sets, in the shape of the scores; the rest is as in `decide`."""
    loss = as_loss(loss)
    array, chosen = as_scores(scores), np.asarray(sets, dtype=bool)
    if chosen.shape != array.shape:
        raise ValueError(f"sets have shape {chosen.shape}, the scores have shape {array.shape}")
    layout = Layout.of(array.shape, bags)
    parts = []
    for part, potentials, said in zip(
        layout.split(array), potentials_of(counts, layout), layout.split(chosen), strict=True
    ):
        spec = loss_spec(loss, part.shape[1], potentials.shape[1])
        if spec is None:
            raise ValueError(_why_not(loss, part.shape[1], potentials.shape[1]))
        chosen_first = np.take_along_axis(part, np.argsort(~said, axis=1, kind="stable"), axis=1)
        losses = _losses_of_prefixes(SetsOfOneSize(chosen_first, potentials), spec)
        parts.append(np.take_along_axis(losses, said.sum(axis=1, keepdims=True), axis=1)[:, 0])
    return layout.join_rows(parts)


def _decide_sets_of_one_size(scores: Array, potentials: Array, loss: Loss, independent: bool) -> Decision:
    p, width = scores.shape[1], potentials.shape[1]
    if descent(loss, p, width) is not None:
        return _enumerate(scores, potentials, loss)
    spec = loss_spec(loss, p, width)
    assert spec is not None
    rows = SetsOfOneSize(scores, potentials)
    found, safe = _search(rows, spec, independent)
    if not np.all(safe):
        some = np.flatnonzero(~safe)
        again = _search_in_scale(rows.take(some), spec)
        found.sets[some], found.expected[some], found.sizes[some] = again.sets, again.expected, again.sizes
    return found


def _search(rows: SetsOfOneSize, spec: LossSpec, independent: bool, exact: bool = False) -> tuple[Decision, Flags]:
    """Decisions, and which of them can be trusted; `exact` never subtracts."""
    from setloss.decisions.f_measure_kernel import best_by_hits
    from setloss.decisions.misses import best_by_misses
    from setloss.decisions.search import best_prefixes

    n, p = shape = rows.scores.shape
    found = Decision(np.empty(shape, dtype=np.bool_), np.empty(n), np.empty(n, dtype=np.intp))
    safe = np.empty(n, dtype=np.bool_)
    order, floor = np.argsort(-rows.scores, axis=1), _floor(independent)
    results = (found.sets, found.expected, found.sizes)
    by_hits = spec.linear_in_hits and p * rows.potentials.shape[1] ** 2 > FEW_SUMS
    if exact or not (by_hits or (independent and spec.linear_in_misses)):
        best_prefixes(rows.scores, rows.potentials, spec.arguments, order, floor, *results, safe)
    elif by_hits:
        weights = tuple(spec.numbers)
        best_by_hits(rows.scores, rows.potentials, weights, order, floor, *results, safe, independent)
    else:
        safe[:] = True
        best_by_misses(rows.scores, tuple(spec.numbers), order, floor, *results)
    return found, safe


def _search_in_scale(rows: SetsOfOneSize, spec: LossSpec) -> Decision:
    """Decisions for rows that are not safe as they stand."""
    found, _ = _search(rows.in_scale, spec, independent=False, exact=True)
    for i, mixture in rows.mixtures.items():
        parts = rows.of_mixture(mixture)
        falling = SetsOfOneSize(-np.sort(-parts.scores, axis=1), parts.potentials)
        losses = mixture.chances @ _losses_of_prefixes(falling, spec)
        size = int(np.argmax(losses <= losses.min() + 1e-12 * abs(losses.min())))
        found.sizes[i], found.expected[i] = size, losses[size]
        found.sets[i] = False
        found.sets[i, np.argsort(-rows.scores[i], kind="stable")[:size]] = True
    return found


def _losses_of_prefixes(rows: SetsOfOneSize, spec: LossSpec) -> Array:
    """Expected losses (n, p + 1) of the first k elements, in the order given."""
    from setloss.decisions.search import all_prefixes

    n, p = rows.scores.shape
    found = np.empty((n, p + 1))
    all_prefixes(rows.in_scale.scores, rows.in_scale.potentials, spec.arguments, _floor(False), found)
    for i, mixture in rows.mixtures.items():
        found[i] = mixture.chances @ _losses_of_prefixes(rows.of_mixture(mixture), spec)
    return found


def _floor(independent: bool) -> float:
    """Chances that are dropped: the sum Z is 1 for independent elements, and at least 1e-250 otherwise."""
    return 1e-20 if independent else 1e-270


def _why_not(loss: Loss, p: int, width: int) -> str:
    return f"the loss falls with more mistakes, or needs more than their numbers: {descent(loss, p, width)}"


def _enumerate(scores: Array, potentials: Array, loss: Loss) -> Decision:
    from setloss.decisions.enumeration import MAX_ENUMERATED, best_subset

    (n, p), width = scores.shape, potentials.shape[1]
    if p > MAX_ENUMERATED:
        raise ValueError(
            f"{_why_not(loss, p, width)}. The best set is then found by comparing all sets, for up to "
            f"{MAX_ENUMERATED} elements; there are {p}. Use a loss that never falls, such as its monotone closure."
        )
    masks = ((np.arange(2**p)[:, None] >> np.arange(p)) & 1).astype(bool)
    sizes = masks.sum(axis=1)
    sets, expected = np.empty((n, p), dtype=np.bool_), np.empty(n)
    for i in range(n):
        losses = _losses_of_all_sets(scores[i], potentials[i % len(potentials)], loss, masks, sizes)
        best = best_subset(losses, sizes)
        sets[i], expected[i] = masks[best], losses[best]
    return Decision(sets, expected, sets.sum(axis=1))


def _losses_of_all_sets(
    scores: Array, potentials: Array, loss: Loss, masks: NDArray[np.bool_], sizes: NDArray[np.intp]
) -> Array:
    """The expected loss of each of the 2^p sets, for one example."""
    from setloss.decisions.enumeration import losses_by_transform, losses_of_subsets

    spec = loss_spec(loss, len(scores), len(potentials))
    if spec is None:
        assert isinstance(loss, FixedSetLoss)
        logs = np.where(sizes < len(potentials), potentials[np.minimum(sizes, len(potentials) - 1)], -np.inf)
        return losses_by_transform(softmax(masks @ scores + logs), np.asarray(loss.function(masks)))
    row = SetsOfOneSize(scores[None], potentials[None])
    chances, row = (row.mixtures[0].chances, row.of_mixture(row.mixtures[0])) if row.mixtures else (1.0, row.in_scale)
    losses = np.empty((len(row.scores), len(masks)))
    losses_of_subsets(row.scores, row.potentials, spec.arguments, sizes, losses)
    return np.asarray(np.sum(chances * losses.T, axis=1))
