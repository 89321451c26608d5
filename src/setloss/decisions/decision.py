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
from scipy.special import expit, softmax

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.decisions.count_model import SetsOfOneSize, refuse_large_tables
from setloss.decisions.scores import Counts, Layout, as_log_odds, potentials_of
from setloss.decisions.specs import LINEAR, MAX_ENUMERATED, TIE, LossSpec, descent, loss_spec
from setloss.losses import CountLoss, FixedSetLoss, Loss, as_loss
from setloss.typing import Array

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Decision:
    """Chosen sets in the shape of the scores, the expected loss of each, and how many elements each has."""

    sets: NDArray[np.bool_]
    expected_loss: Array
    sizes: NDArray[np.intp]


def decide(
    values: ArrayLike,
    loss: Loss | str,
    *,
    scores: str = "auto",
    counts: Counts = None,
    bags: Bags | ArrayLike | None = None,
) -> Decision:
    """The set of least expected loss for every example.

    Exact for losses that do not fall with more mistakes: Dice, Jaccard, Tversky, F-beta, Hamming, 0/1, rising cost
    curves, `from_counts` and tables. For others all sets are compared up to 16 elements, and beyond they are
    refused. The empty set competes; 0/0 costs what the loss says. Of equal sets (to 1e-12) the smallest is chosen, of
    elements with equal scores the first.

    Independent elements may be 10^5 and more for Hamming, F-measures and Jaccard; what would need a table of more
    than 1.5 x 10^8 numbers (1.2 GB) is refused before anything is allocated.

    Parameters
    ----------
    values
        Log-odds or probabilities (n, p), or flat with `bags`. Log-odds may be infinite.
    loss
        A loss, or the name of one.
    scores
        What `values` are: "log-odds", "probabilities", or "auto", log-odds unless all of them lie in [0, 1], which is
        refused.
    counts
        None for independent elements, or log-potentials of the number of positives: (K + 1,) or (n, K + 1), larger
        numbers being impossible; with bags a callable ``p -> (p + 1,)``, a sequence of arrays, or a flat array of
        p_i + 1 numbers for each bag. -inf makes a number impossible.
    bags
        `Bags`, or the n + 1 offsets of the bags in the flat scores.
    """
    return decide_log_odds(as_log_odds(values, scores), as_loss(loss), counts, bags)


def decide_log_odds(
    array: Array, loss: Loss, counts: Counts, bags: Bags | ArrayLike | None, *, among_prefixes: bool = False
) -> Decision:
    """`decide`; of more sets than can be compared, the best of those of the k largest scores if `among_prefixes`."""
    layout = Layout.of(array.shape, bags)
    parts = [
        _decide_sets_of_one_size(part, potentials, loss, counts is None, among_prefixes)
        for part, potentials in zip(layout.split(array), potentials_of(counts, layout), strict=True)
    ]
    return Decision(
        layout.join([part.sets for part in parts]) if parts else np.zeros(layout.shape, dtype=bool),
        layout.join_rows([part.expected_loss for part in parts]),
        layout.join_rows([part.sizes for part in parts]).astype(np.intp),
    )


def expected_losses(scores: ArrayLike, loss: Loss | str, *, counts: Counts = None) -> Array:
    """The expected loss (n, p + 1) of choosing the k largest log-odds, for every k; these are (n, p) in any order."""
    loss = as_loss(loss)
    array = as_log_odds(scores, "log-odds")
    layout = Layout.of(array.shape, None)
    potentials = potentials_of(counts, layout)[0]
    spec = loss_spec(loss, layout.shape[1], potentials.shape[1])
    if spec is None:
        raise ValueError(f"{_why_not(loss, layout.shape[1], potentials.shape[1])}, so no order of elements is best")
    return _losses_of_prefixes(SetsOfOneSize(array, potentials), spec)


def expected_losses_of(
    sets: ArrayLike,
    scores: ArrayLike,
    loss: Loss | str,
    *,
    counts: Counts = None,
    bags: Bags | ArrayLike | None = None,
) -> Array:
    """The expected loss of given sets, in the shape of the log-odds `scores`; the rest is as in `decide`."""
    loss = as_loss(loss)
    array, chosen = as_log_odds(scores, "log-odds"), as_labels(sets, "sets")
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
        rows = SetsOfOneSize(chosen_first, potentials)
        parts.append(_losses_of_firsts(rows, said.sum(axis=1), spec, counts is None))
    return layout.join_rows(parts)


def _decide_sets_of_one_size(
    scores: Array, potentials: Array, loss: Loss, independent: bool, among_prefixes: bool
) -> Decision:
    p, width = scores.shape[1], potentials.shape[1]
    if descent(loss, p, width) is not None:
        if among_prefixes and p > MAX_ENUMERATED:
            costs = expected_losses(scores, loss, counts=potentials)
            sizes = np.argmin(costs, axis=1)
            return Decision(largest(scores, sizes), costs.min(axis=1), sizes)
        return _enumerate(scores, potentials, loss)
    spec = loss_spec(loss, p, width)
    assert spec is not None
    rows = SetsOfOneSize(scores, potentials)
    if spec.kind == LINEAR:
        return _decide_one_by_one(rows, spec, independent)
    found, safe = _search(rows, spec, independent)
    if not np.all(safe):
        some = np.flatnonzero(~safe)
        again = _search_in_scale(rows.take(some), spec)
        found.sets[some], found.expected_loss[some], found.sizes[some] = again.sets, again.expected_loss, again.sizes
    return found


def _decide_one_by_one(rows: SetsOfOneSize, spec: LossSpec, independent: bool) -> Decision:
    """Hamming: element i costs P(y_i = 1) times the weight of a miss, or P(y_i = 0) times that of a false alarm."""
    chances = expit(rows.scores) if independent else rows.sums.marginals
    order = np.argsort(-rows.scores, axis=1, kind="stable")
    misses, alarms = spec.numbers[0] * chances, spec.numbers[1] * (1 - chances)
    steps = np.take_along_axis(alarms - misses, order, axis=1)
    costs = misses.sum(axis=1, keepdims=True) + np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))
    least = costs.min(axis=1, keepdims=True)
    sizes = np.argmax(costs <= least + TIE * np.maximum(np.abs(least), np.abs(costs[:, :1])), axis=1)
    sets = largest(rows.scores, sizes)
    return Decision(sets, np.where(sets, alarms, misses).sum(axis=1), sizes)


def _falling(scores: Array) -> Array:
    """The scores of every row, from the largest on."""
    found = -scores
    found.sort(axis=1)
    return np.negative(found, out=found)


def largest(scores: Array, k: int | NDArray[np.intp], falling: Array | None = None) -> Flags:
    """The k largest scores of every row, k one number or one per row; of equal scores the first."""
    sizes = np.broadcast_to(k, len(scores))
    falling = _falling(scores) if falling is None else falling
    last = np.where(sizes > 0, falling[np.arange(len(scores)), np.maximum(sizes - 1, 0)], np.inf)
    chosen = np.asarray(scores >= last[:, None])
    for i in np.flatnonzero(chosen.sum(axis=1) > sizes):
        chosen[i, np.argsort(-scores[i], kind="stable")[sizes[i] :]] = False
    return chosen


def _search(
    rows: SetsOfOneSize, spec: LossSpec, independent: bool = False, exact: bool = False, costs: Array | None = None
) -> tuple[Decision, Flags]:
    """Decisions, and which can be trusted; `exact` never subtracts, and then costs (n, p + 1) take those of all k."""
    from setloss.decisions.f_measure_kernel import best_by_hits, best_by_misses
    from setloss.decisions.search import best_prefixes

    (n, p), width = rows.scores.shape, rows.potentials.shape[1]
    scores = _falling(rows.scores)
    expected, sizes, safe = np.empty(n), np.zeros(n, dtype=np.intp), np.ones(n, dtype=np.bool_)
    if not exact and spec.linear_in_hits:
        best_by_hits(scores, rows.potentials, tuple(spec.numbers), expected, sizes, safe)
    elif not exact and spec.linear_in_misses and independent:
        best_by_misses(scores, tuple(spec.numbers), _floor(True), expected, sizes)
    else:
        refuse_large_tables(p, width)
        every = np.empty((n, 0)) if costs is None else costs
        best_prefixes(scores, rows.potentials, spec.arguments, _floor(independent), every, expected, sizes, safe)
    return Decision(largest(rows.scores, sizes, scores), expected, sizes), safe


def _search_in_scale(rows: SetsOfOneSize, spec: LossSpec) -> Decision:
    """Decisions for rows that are not safe as they stand."""
    found, _ = _search(rows.in_scale, spec, exact=True)
    for i, mixture in rows.mixtures.items():
        losses = mixture.chances @ _losses_of_prefixes(rows.of_mixture(mixture), spec)
        size = int(np.argmax(losses <= losses.min() + TIE * max(abs(losses.min()), abs(losses[0]))))
        found.sizes[i], found.expected_loss[i] = size, losses[size]
        found.sets[i] = largest(rows.scores[i : i + 1], size)[0]
    return found


def _losses_of_prefixes(rows: SetsOfOneSize, spec: LossSpec) -> Array:
    """Expected losses (n, p + 1) of the k largest scores."""
    n, p = rows.scores.shape
    found = np.empty((n, p + 1))
    _search(rows.in_scale, spec, exact=True, costs=found)
    for i, mixture in rows.mixtures.items():
        found[i] = mixture.chances @ _losses_of_prefixes(rows.of_mixture(mixture), spec)
    return found


def _losses_of_firsts(rows: SetsOfOneSize, sizes: NDArray[np.intp], spec: LossSpec, independent: bool) -> Array:
    """Expected losses (n,) of the first elements, sizes[i] of them in row i."""
    from setloss.decisions.search import losses_of_firsts

    found = np.empty(len(rows.scores))
    safe = rows if independent else rows.in_scale  # independent chances add up to 1 and cannot underflow
    losses_of_firsts(safe.scores, sizes, safe.potentials, spec.arguments, _floor(independent), found)
    for i, mixture in ({} if independent else rows.mixtures).items():
        parts = rows.of_mixture(mixture)
        found[i] = mixture.chances @ _losses_of_firsts(parts, np.full(len(parts.scores), sizes[i]), spec, False)
    return found


def _floor(independent: bool) -> float:
    """Chances that are dropped: the sum Z is 1 for independent elements, and at least 1e-250 otherwise."""
    return 1e-20 if independent else 1e-270


def _why_not(loss: Loss, p: int, width: int) -> str:
    return f"the loss falls with more mistakes, or needs more than their numbers: {descent(loss, p, width)}"


def _enumerate(scores: Array, potentials: Array, loss: Loss) -> Decision:
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
        equal = np.flatnonzero(losses <= losses.min() + TIE * max(abs(losses.min()), abs(losses[0])))
        best = equal[np.argmin(sizes[equal])]
        sets[i], expected[i] = masks[best], losses[best]
    return Decision(sets, expected, sets.sum(axis=1))


def _losses_of_all_sets(
    scores: Array, potentials: Array, loss: Loss, masks: NDArray[np.bool_], sizes: NDArray[np.intp]
) -> Array:
    """The expected loss of each of the 2^p sets, for one example."""
    from setloss.decisions.search import losses_by_transform, losses_of_subsets

    if isinstance(loss, FixedSetLoss):
        logs = np.where(sizes < len(potentials), potentials[np.minimum(sizes, len(potentials) - 1)], -np.inf)
        return losses_by_transform(softmax(masks @ scores + logs), np.asarray(loss.function(masks)))
    assert isinstance(loss, CountLoss)
    row = SetsOfOneSize(scores[None], potentials[None])
    chances, row = (
        (row.mixtures[0].chances, row.of_mixture(row.mixtures[0])) if row.mixtures else ([1.0], row.in_scale)
    )
    parts = zip(chances, row.scores, row.potentials, strict=True)
    return np.asarray(sum(chance * losses_of_subsets(s, u, loss, sizes) for chance, s, u in parts))
