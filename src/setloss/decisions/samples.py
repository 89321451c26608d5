"""Decisions from samples: label sets drawn from a joint model, or several answers of a language model.

    E l(y, A)  =  1/D sum_d l(y_d, A),        y_1, ..., y_D the draws of one example

F-beta needs only P(y_i = 1, |y| = s), which are frequencies among the draws: a set of k elements scores the sum of
g_i(k) = 1/D sum_d y_di / (a k + b |y_d|) over its elements, so the best one has the k largest g_i(k), and k + 1 sizes
compete (the F rule of Dembczynski et al. 2011). With linear costs the elements of largest frequency are best.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from setloss.arguments import as_labels
from setloss.decisions.decision import Decision, smallest_of_least
from setloss.decisions.specs import LINEAR, LossSpec, loss_spec
from setloss.losses import CountLoss, Loss, as_loss
from setloss.typing import Array, Flags


@dataclass(frozen=True, eq=False)
class SampleDecision(Decision):
    """Chosen sets (n, p), the mean loss of each over its draws, and their sizes.

    `exact` says whether no set has a lower mean loss; `names` are those of the columns if draws were sets of names.

    Examples
    --------
    >>> decision = decide_samples([[[1, 0], [1, 1], [1, 1]]], "dice")
    >>> decision.sets.astype(int), decision.named_sets, decision.exact
    (array([[1, 1]]), [{0, 1}], True)
    """

    exact: bool
    names: tuple[Any, ...] | None = None

    @property
    def named_sets(self) -> list[set[Any]]:
        """The chosen sets as sets of names, or of column numbers."""
        names = self.names or range(self.sets.shape[1])
        return [{names[j] for j in np.flatnonzero(row)} for row in self.sets]


def decide_samples(samples: Any, loss: Loss | str) -> SampleDecision:
    """The set of least mean loss over the draws of every example.

    Exact for F-beta (Dice, F1) and Hamming; for other losses the best of the sampled sets and of the most frequent
    elements, k for every k. Of equal sets (to 1e-12) the smallest is chosen. `SetDecision` does not take samples: it
    calibrates scores, and draws have none.

    Parameters
    ----------
    samples
        Label sets (n, draws, p) of 0 and 1 or bool; or for every example a list of sets of names (a list of strings
        is such a set too), as many as there are. A draw that counts twice is given twice.
    loss
        A loss, or the name of one.

    Examples
    --------
    >>> answers = [[{"cat"}, {"cat", "dog"}, {"cat", "dog"}, {"bird"}]]
    >>> decision = decide_samples(answers, "f1")
    >>> sorted(decision.named_sets[0]), round(float(decision.expected_loss[0]), 3), decision.exact
    (['cat', 'dog'], 0.333, True)
    """
    chosen, (draws, p, names) = as_loss(loss), _drawn(samples)
    spec = loss_spec(chosen, p, p + 1) if p else None
    rows = [_decide(one, chosen, spec) for one in draws]
    sets = np.array([chosen for chosen, _ in rows], dtype=np.bool_).reshape(len(rows), p)
    exact = p == 0 or (spec is not None and (spec.linear_in_hits or spec.kind == LINEAR))
    return SampleDecision(sets, np.array([cost for _, cost in rows]), sets.sum(axis=1), exact, names)


def _drawn(samples: Any) -> tuple[list[Flags], int, tuple[Any, ...] | None]:
    """The draws (draws, p) of every example, the number of columns, and their names."""
    if not hasattr(samples, "shape") and any(_is_named(draw) for example in samples for draw in example):
        named = [[_as_set(draw) for draw in example] for example in samples]
        names = tuple(sorted(set().union(*(draw for example in named for draw in example)), key=str))
        draws = [np.array([[name in draw for name in names] for draw in one], dtype=bool) for one in named]
        p = len(names)
    else:
        array = as_labels(samples, "samples", ndim=(3,))
        names, draws, p = None, list(array), array.shape[2]
    for i, one in enumerate(draws):
        if not len(one):
            raise ValueError(f"example {i} has no draws; leave it out, or draw at least one set")
    return draws, p, names


def _is_named(draw: Any) -> bool:
    is_list_of_names = isinstance(draw, list | tuple) and any(isinstance(name, str) for name in draw)
    return is_list_of_names or isinstance(draw, set | frozenset | str)


def _as_set(draw: Any) -> set[Any]:
    if isinstance(draw, str):
        raise ValueError(f"a draw is a set or list of names; got the string {draw!r}, give {{{draw!r}}} for one name")
    return set(draw)


def _decide(draws: Flags, loss: Loss, spec: LossSpec | None) -> tuple[Flags, float]:
    """The set for one example and its mean loss."""
    if spec is not None and spec.linear_in_hits:
        return _best_by_hits(draws, spec)
    frequent = np.argsort(-draws.sum(axis=0), kind="stable")
    p = len(frequent)
    prefixes = np.zeros((p + 1, p), dtype=bool)
    prefixes[:, frequent] = np.tri(p + 1, p, -1, dtype=bool)
    candidates = np.unique(np.concatenate([draws, prefixes]), axis=0)
    candidates = candidates[np.argsort(candidates.sum(axis=1), kind="stable")]
    (best,), (cost,) = smallest_of_least(_mean_losses(candidates, draws, loss)[None])
    return candidates[best], float(cost)


def _best_by_hits(draws: Flags, spec: LossSpec) -> tuple[Flags, float]:
    """The exact set for a loss 1 - hits / (a k + b t); elements that were never drawn cannot help."""
    b, a, nothing = spec.numbers
    seen = np.flatnonzero(draws.any(axis=0))
    positives, sizes = draws.sum(axis=1), np.arange(1, len(seen) + 1)
    gains = draws[:, seen].T @ (1 / (a * sizes + b * positives[:, None])) / len(draws)
    order = np.argsort(-gains, axis=0, kind="stable")
    sums = np.cumsum(np.take_along_axis(gains, order, axis=0), axis=0)
    empty = 1 - (1 - nothing) * float(np.mean(positives == 0))
    (best,), (cost,) = smallest_of_least(np.append(empty, 1 - np.diagonal(sums))[None])
    chosen = np.zeros(draws.shape[1], dtype=bool)
    if best:
        chosen[seen[order[:best, best - 1]]] = True
    return chosen, float(cost)


def _mean_losses(sets: Flags, draws: Flags, loss: Loss) -> Array:
    """The mean loss of every set over the draws."""
    if isinstance(loss, CountLoss):
        hits = sets.astype(np.float64) @ draws.T
        positives = draws.sum(axis=1)[None, :] + 0 * hits
        values = loss.value(positives - hits, sets.sum(axis=1)[:, None] - hits, positives, draws.shape[1] - positives)
    else:
        values = np.stack([loss(draws, np.broadcast_to(one, draws.shape)) for one in sets])
    return np.asarray(values.mean(axis=1))
