"""The set of least expected loss under a count model.

    A* = argmin_A  E l(y, A),        P(y) ~ exp( sum_i y_i s_i + u_{|y|} ).

**The best set of k elements is the k largest scores**, for every loss that does not fall with more false negatives
or false positives: swap a chosen j for an i with s_i > s_j. Labels with y_i = 1, y_j = 0 are at least as likely as
the same labels with i and j exchanged, because the number of positives and so the potential is the same, and they now
cost no more. So p + 1 sets compete. `docs/reading-the-paper.md` has the argument in full.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fftn, ifftn
from scipy.special import expit, softmax

from setloss.arguments import as_labels
from setloss.bags import Bags
from setloss.decisions.count_model import CountModel, SetsOfOneSize, join, refuse_large_tables, split
from setloss.decisions.scores import Counts, as_log_odds
from setloss.decisions.specs import LINEAR, MAX_ENUMERATED, TIE, LossSpec, descent, loss_spec
from setloss.losses import Loss, as_loss
from setloss.typing import Array, Flags


@dataclass(frozen=True, eq=False)
class Decision:
    """Chosen sets in the shape of the scores, the expected loss of each, and how many elements each has.

    Examples
    --------
    >>> decide([[0.3, -0.2, -3.0]], "hamming").sizes
    array([1])
    """

    sets: Flags
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
    values : array of float
        Log-odds or probabilities (n, p), or flat with `bags`. Log-odds may be infinite.
    loss : Loss, str or callable
        A loss, or the name of one.
    scores : {"auto", "log-odds", "probabilities"}
        What `values` are: "log-odds", "probabilities", or "auto", log-odds unless all of them lie in [0, 1], which is
        refused.
    counts : array, optional
        None for independent elements, or log-potentials of the number of positives: (K + 1,) or (n, K + 1), larger
        numbers being impossible; with bags a flat array of p_i + 1 numbers for each bag. -inf makes a number
        impossible.
    bags : Bags or array of int, optional
        `Bags`, or the n + 1 offsets of the bags in the flat scores.

    Examples
    --------
    >>> decision = decide([[0.3, -0.2, -0.4, -3.0]], "f1")
    >>> decision.sets, decision.expected_loss.round(3)
    (array([[ True,  True,  True, False]]), array([0.415]))
    """
    return decide_log_odds(as_log_odds(values, scores), as_loss(loss), counts, bags)


def decide_log_odds(
    array: Array, loss: Loss, counts: Counts, bags: Bags | ArrayLike | None, *, among_prefixes: bool = False
) -> Decision:
    """`decide`; of more sets than can be compared, the best of those of the k largest scores if `among_prefixes`."""
    model = CountModel(array, counts, bags)
    parts = [_decide(part, loss, among_prefixes) for part in model.parts]
    return Decision(
        join([part.sets for part in parts], model.bags).astype(np.bool_, copy=False),
        join([part.expected_loss for part in parts], model.bags, rows=True),
        join([part.sizes for part in parts], model.bags, rows=True).astype(np.intp, copy=False),
    )


def expected_losses(scores: ArrayLike, loss: Loss | str, *, counts: Counts = None) -> Array:
    """The expected loss (n, p + 1) of choosing the k largest log-odds, for every k; these are (n, p) in any order.

    Examples
    --------
    >>> expected_losses([[0.3, -0.2, -0.4, -3.0]], "f1").round(3)
    array([[0.867, 0.577, 0.463, 0.415, 0.501]])
    """
    (rows,) = CountModel(scores, counts).parts
    return _losses_of_prefixes(rows, _spec(as_loss(loss), rows))


def expected_losses_of(
    sets: ArrayLike,
    scores: ArrayLike,
    loss: Loss | str,
    *,
    counts: Counts = None,
    bags: Bags | ArrayLike | None = None,
) -> Array:
    """The expected loss of given sets, in the shape of the log-odds `scores`; the rest is as in `decide`.

    Examples
    --------
    >>> expected_losses_of([[1, 0, 1, 0]], [[0.3, -0.2, -0.4, -3.0]], "f1").round(3)
    array([0.491])
    """
    loss, model, chosen = as_loss(loss), CountModel(scores, counts, bags), as_labels(sets, "sets")
    if chosen.shape != model.shape:
        raise ValueError(f"sets have shape {chosen.shape}, the scores have shape {model.shape}")
    each = zip(split(chosen, model.bags), model.parts, strict=True)
    return join([_losses_of(said, part, _spec(loss, part)) for said, part in each], model.bags, rows=True)


def _largest(scores: Array, sizes: NDArray[np.intp], falling: Array) -> Flags:
    """The sizes[i] largest scores of every row; of equal scores the first."""
    last = np.where(sizes > 0, falling[np.arange(len(scores)), np.maximum(sizes - 1, 0)], np.inf)
    chosen = np.asarray(scores >= last[:, None])
    for i in np.flatnonzero(chosen.sum(axis=1) > sizes):
        chosen[i, np.argsort(-scores[i], kind="stable")[sizes[i] :]] = False
    return chosen


# ---------------------------------------------------------------- the best of the k largest scores


def _decide(rows: SetsOfOneSize, loss: Loss, among_prefixes: bool) -> Decision:
    (_, p), width = rows.scores.shape, rows.potentials.shape[1]
    falls = descent(loss, p, width) is not None
    if falls and not (among_prefixes and p > MAX_ENUMERATED):
        return _compare_all_sets(rows, loss)
    return _best_prefix(rows, _spec(loss, rows), every=falls)


def _best_prefix(rows: SetsOfOneSize, spec: LossSpec, every: bool) -> Decision:
    """The best of the k largest scores; rows that a fast kernel cannot be trusted with take the general one."""
    from setloss.decisions.f_measure_kernel import best_by_hits, best_by_misses

    n, falling = len(rows.scores), rows.falling
    expected, sizes, safe = np.empty(n), np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.bool_)
    if spec.linear_in_hits:
        best_by_hits(falling.scores, rows.potentials, tuple(spec.numbers), expected, sizes, safe)
    elif spec.linear_in_misses and rows.independent:
        best_by_misses(falling.scores, tuple(spec.numbers), _floor(rows), expected, sizes, safe)
    if not safe.all() and spec.linear_in_hits and not (rows.independent or rows.is_tilted):
        again = _best_prefix(falling.tilted(~safe), spec, every)
        sizes[~safe], expected[~safe] = again.sizes, again.expected_loss
    elif not safe.all():
        sizes[~safe], expected[~safe] = smallest_of_least(_losses_of_prefixes(falling.take(~safe), spec, every))
    return Decision(_largest(rows.scores, sizes, falling.scores), expected, sizes)


def smallest_of_least(costs: Array) -> tuple[NDArray[np.intp], Array]:
    """The first column of every row that is as good as the least, and what it costs; the first costs no choice."""
    least = costs.min(axis=1, keepdims=True)
    first = np.argmax(costs <= least + TIE * np.maximum(np.abs(least), np.abs(costs[:, :1])), axis=1)
    return first, costs[np.arange(len(costs)), first]


def _losses_of_prefixes(rows: SetsOfOneSize, spec: LossSpec, every: bool = True) -> Array:
    """Expected losses (n, p + 1) of the k largest scores; unless of `every` k, inf for those that cannot be best."""
    from setloss.decisions.prefix_search import losses_of_prefixes

    (n, p), rows = rows.scores.shape, rows.falling
    if spec.kind == LINEAR:
        misses, alarms = _costs_of_elements(rows, spec)
        steps = np.cumsum(alarms - misses, axis=1)
        return np.asarray(misses.sum(axis=1, keepdims=True) + np.pad(steps, ((0, 0), (1, 0))))
    refuse_large_tables(p, rows.potentials.shape[1])
    losses, safe = np.full((n, p + 1), np.inf), np.empty(n, dtype=np.bool_)
    of_loss = tuple(spec), spec.linear_in_misses
    losses_of_prefixes(rows.scores, rows.potentials, *of_loss, _floor(rows), every, losses, safe)
    if not safe.all():
        losses[~safe] = _losses_of_prefixes(rows.tilted(~safe), spec, every)
    return losses


# ---------------------------------------------------------------- given sets, and all sets


def _losses_of(chosen: Flags, rows: SetsOfOneSize, spec: LossSpec) -> Array:
    """Expected losses (n,) of one set for every example."""
    from setloss.decisions.prefix_search import losses_of_firsts

    n = len(chosen)
    if spec.kind == LINEAR:
        misses, alarms = _costs_of_elements(rows, spec)
        return np.asarray(np.where(chosen, alarms, misses).sum(axis=1))
    chosen_first = np.take_along_axis(rows.scores, np.argsort(~chosen, axis=1, kind="stable"), axis=1)
    losses, safe = np.empty(n), np.empty(n, dtype=np.bool_)
    losses_of_firsts(chosen_first, chosen.sum(axis=1), rows.potentials, tuple(spec), _floor(rows), losses, safe)
    if not safe.all():
        losses[~safe] = _losses_of(chosen[~safe], rows.tilted(~safe), spec)
    return losses


def _costs_of_elements(rows: SetsOfOneSize, spec: LossSpec) -> tuple[Array, Array]:
    """Hamming: what each element is expected to cost if it is not chosen, and if it is."""
    chances = expit(rows.scores) if rows.independent else rows.sums.marginals
    return spec.numbers[0] * chances, spec.numbers[1] * (1 - chances)


def _compare_all_sets(rows: SetsOfOneSize, loss: Loss) -> Decision:
    """The best of all sets, for losses whose best set of k elements need not be the k largest scores."""
    (n, p), width = rows.scores.shape, rows.potentials.shape[1]
    if p > MAX_ENUMERATED:
        raise ValueError(
            f"{_why_not(loss, p, width)}. The best set is then found by comparing all sets, for up to "
            f"{MAX_ENUMERATED} elements; there are {p}. Use a loss that never falls, such as its monotone closure."
        )
    spec = loss_spec(loss, p, width)
    masks = ((np.arange(2**p)[:, None] >> np.arange(p)) & 1).astype(bool)
    by_size = np.argsort(masks.sum(axis=1), kind="stable")
    sets, expected = np.empty((n, p), dtype=np.bool_), np.empty(n)
    for i in range(n):
        row = rows.take(np.array([i]))
        if spec is None:
            losses = _losses_by_transform(row, masks, loss)
        else:
            losses = _losses_of(masks, SetsOfOneSize(np.repeat(row.scores, len(masks), axis=0), row.potentials), spec)
        best, expected[i : i + 1] = smallest_of_least(losses[None, by_size])
        sets[i] = masks[by_size[best[0]]]
    return Decision(sets, expected, sets.sum(axis=1))


def _losses_by_transform(row: SetsOfOneSize, masks: Flags, loss: Loss) -> Array:
    """sum_y P(y) l(A xor y) for all A, for one example: a convolution over the group of the sets."""
    sizes, potentials = masks.sum(axis=1), np.full(masks.shape[1] + 1, -np.inf)
    potentials[: row.potentials.shape[1]] = row.potentials[0]
    chances = softmax(masks @ row.scores[0] + potentials[sizes])
    values = loss.on_counts(masks.shape[1], 0)(masks)
    cube = (2,) * masks.shape[1]
    return np.ravel(ifftn(fftn(chances.reshape(cube)) * fftn(values.reshape(cube))).real)


def _spec(loss: Loss, rows: SetsOfOneSize) -> LossSpec:
    """The loss as kernels read it, if it is one of counts."""
    p, width = rows.scores.shape[1], rows.potentials.shape[1]
    spec = loss_spec(loss, p, width)
    if spec is None:
        raise ValueError(_why_not(loss, p, width))
    return spec


def _floor(rows: SetsOfOneSize) -> float:
    """Chances that are dropped: the sum Z is 1 for independent elements, and at least 1e-250 otherwise."""
    return 1e-20 if rows.independent else 1e-270


def _why_not(loss: Loss, p: int, width: int) -> str:
    return f"the loss falls with more mistakes, or needs more than their numbers: {descent(loss, p, width)}"
