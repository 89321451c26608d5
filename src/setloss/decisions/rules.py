"""How scores become sets, and how each rule learns what it needs from scores of held-out examples.

    "counts"      the set of least expected loss under a count model fitted to the scores
    "plug-in"     the same for independent labels: only scale and biases are fitted
    "threshold"   one threshold for all labels and examples, of least held-out loss
    "top-k"       the same number of labels for every example, of least held-out loss (label sets only)
    "vote"        every bag takes the label of most of its frames (bags only)
    "sign"        positive scores, one by one (linear models only, which learn nothing then)
    "auto"        "counts", unless another one has a held-out loss lower by more than two standard errors

For "auto" the folds take turns: a rule learns on all but one of them and is judged on that one. Linear models learn
from `ENOUGH_TO_LEARN` sets of several elements on; before that, and for losses that are not of counts, "auto" is
"sign".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.decisions import decide, expected_losses
from setloss.decisions.calibration import Calibration, Widths, calibrate, chosen_widths
from setloss.decisions.enumeration import MAX_ENUMERATED
from setloss.decisions.held_out import HeldOut
from setloss.decisions.potentials import Potentials
from setloss.decisions.specs import descent
from setloss.decisions.thresholds import best_size, threshold_of_sets
from setloss.losses import CountLoss, Loss
from setloss.typing import Array

MOST_WORK = 50_000_000
"""Count models are fitted to sets with at most this many pairs of an element and a count: half a minute."""

FEWEST_STUDIED = 50
"""Sets that a count model is fitted to at least; where they take more than `MOST_WORK`, there is none."""

LABEL_RULES = ("counts", "plug-in", "threshold", "top-k")
BAG_RULES = ("counts", "vote", "threshold")
COUNT_RULES = ("counts", "plug-in")
"""Rules that need a model of the chances."""

Sets = NDArray[np.bool_]


class Rule(Protocol):
    """What turns scores into sets."""

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        """The chosen elements, in the shape of the scores."""
        ...


@dataclass(frozen=True, eq=False)
class LeastExpectedLoss:
    """The set of least expected loss under a count model of the scores."""

    calibration: Calibration

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        return best_sets(self.calibration.scores(scores), loss, self.calibration.counts(bags), bags)


@dataclass(frozen=True)
class Threshold:
    """Elements of score above one threshold."""

    value: float

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        return np.asarray(scores > self.value)


@dataclass(frozen=True)
class TopK:
    """The k labels of largest score; of equal ones the first."""

    k: int

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        return _largest(scores, self.k)


@dataclass(frozen=True)
class Vote:
    """Every bag takes the label of most of its frames; a tie is negative."""

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Sets:
        assert bags is not None
        return bags.scatter(np.repeat(bags.means(scores > 0) > 0.5, bags.sizes))


def best_sets(scores: Array, loss: Loss, counts: Any, bags: Bags | None) -> Sets:
    """`decide`; where it would have to compare too many sets, the best of those of the k largest scores."""
    sizes = [scores.shape[1]] if bags is None else np.unique(bags.sizes).tolist()
    if all(p <= MAX_ENUMERATED or descent(loss, int(p), int(p) + 1) is None for p in sizes):
        return decide(scores, loss, counts=counts, bags=bags).sets
    if bags is None:
        return _largest(scores, np.argmin(expected_losses(scores, loss, counts=counts), axis=1))
    chosen = np.empty(len(scores), dtype=bool)
    starts = np.concatenate(([0], np.cumsum(bags.sizes + 1)))
    for some, places in bags.by_size:
        part, width = scores[places], places.shape[1] + 1
        potentials = None if counts is None else counts[starts[some][:, None] + np.arange(width)]
        chosen[places] = _largest(part, np.argmin(expected_losses(part, loss, counts=potentials), axis=1))
    return chosen


def _largest(scores: Array, k: int | NDArray[np.intp]) -> Sets:
    """The k largest scores of every row, k one number or one per row; of equal scores the first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < np.reshape(k, (-1, 1)), axis=1)
    return chosen


@dataclass(frozen=True, eq=False)
class RuleLearner:
    """Held-out scores, and what every rule learns from them; models are fitted once for all losses."""

    data: HeldOut
    family: Potentials
    given: Widths | None = None

    @cached_property
    def studied(self) -> HeldOut:
        """The sets that count models are fitted to: all, or as many as take no more than `MOST_WORK`, at random."""
        order = np.random.default_rng(0).permutation(len(self.data.weights))
        within = np.cumsum(self.family.work(self.data.sizes)[order]) <= MOST_WORK
        if within.all():
            return self.data
        kept = np.zeros(len(order), dtype=bool)
        kept[order[: max(within.sum(), FEWEST_STUDIED)]] = True
        return self.data.part(kept)

    @property
    def is_affordable(self) -> bool:
        """Whether count models can be fitted to enough of the sets."""
        return int(self.family.work(self.studied.sizes).sum()) <= MOST_WORK

    @cached_property
    def widths(self) -> Widths:
        """How strongly the count model is shrunk."""
        return self.given or chosen_widths(self.studied, self.family)

    @cached_property
    def counts(self) -> Calibration:
        """The count model."""
        return calibrate(self.studied, self.family, self.widths)

    @cached_property
    def independent(self) -> Calibration:
        """The model of independent labels."""
        return calibrate(self.studied, None, self.widths)

    @property
    def log_likelihood(self) -> float:
        """That of the held-out sets, by the count model; by independent labels where that is too much work."""
        model = self.counts if self.is_affordable else self.independent
        return model.log_likelihood(self.studied)

    @cached_property
    def folds(self) -> list[tuple[RuleLearner, HeldOut, Sets]]:
        """For every fold: a learner on the others, its own sets, and which those are."""
        widths = self.widths if self.is_affordable else Widths()
        return [(RuleLearner(train, self.family, widths), test, here) for train, test, here in self.data.splits()]

    def rule(self, name: str, loss: Loss) -> Rule:
        """The rule of that name, learned on all held-out scores."""
        if name == "auto":
            return self.rule(self.chosen(loss)[0], loss)
        if name in COUNT_RULES:
            return LeastExpectedLoss(self.counts if name == "counts" else self.independent)
        if name == "threshold":
            return Threshold(threshold_of_sets(self.data, count_loss(loss)))
        return TopK(best_size(self.data, count_loss(loss))) if name == "top-k" else Vote()

    def losses(self, name: str, loss: Loss) -> Array:
        """The loss of every set by a rule that has not learned on its fold."""
        found = np.empty(len(self.data.weights))
        for learner, test, here in self.folds:
            found[here] = losses_of_sets(test, learner.rule(name, loss).sets(test.scores, loss, test.bags), loss)
        return found

    def chosen(self, loss: Loss) -> tuple[str, dict[str, tuple[float, float]]]:
        """The name of the rule to use, and the held-out loss of each one with its standard error."""
        rules = LABEL_RULES if self.data.bags is None else BAG_RULES
        names = [name for name in rules if self.is_affordable or name not in COUNT_RULES]
        if len(np.unique(self.data.folds)) < 2:
            return names[0], {}
        losses = {name: self.losses(name, loss) for name in names}
        return choose(losses, self.data.weights), {
            name: (float(np.average(values, weights=self.data.weights)), standard_error(values, self.data.weights))
            for name, values in losses.items()
        }


def choose(losses: dict[str, Array], weights: Array) -> str:
    """The first name, unless the one of least mean is better by more than two standard errors of the difference.

    With one standard error, one of several equally good rules would win by chance about every third time.
    """
    first = next(iter(losses))
    best = min(losses, key=lambda name: float(weights @ losses[name]))
    gains = losses[first] - losses[best]
    return best if float(np.average(gains, weights=weights)) > 2 * standard_error(gains, weights) else first


def standard_error(values: Array, weights: Array) -> float:
    """Of the weighted mean."""
    deviations = weights * (values - np.average(values, weights=weights))
    return float(np.sqrt(deviations @ deviations) / weights.sum())


def losses_of_sets(data: HeldOut, chosen: Sets, loss: Loss) -> Array:
    """The loss of every set on its known labels."""
    truth = data.truth & data.known
    flags = [truth & ~chosen, data.known & ~data.truth & chosen, truth, data.known & ~data.truth]
    tallies = [flag.sum(axis=1) if data.bags is None else data.bags.totals(flag.astype(np.intp)) for flag in flags]
    return np.asarray(count_loss(loss).value(*tallies), dtype=np.float64)


def count_loss(loss: Loss) -> CountLoss:
    """The loss, if it depends on numbers of false negatives and false positives only."""
    if not isinstance(loss, CountLoss):
        raise TypeError(
            f"a {type(loss).__name__} depends on which elements are wrong; decisions for sets need a loss of the "
            "numbers of false negatives and false positives, such as Dice() or from_counts(...)"
        )
    return loss


def check_rule(rule: Any, names: Sequence[str]) -> str:
    """The name of a rule."""
    if rule not in (*names, "auto"):
        raise ValueError(f"there is no rule {rule!r}; the names are {', '.join((*names, 'auto'))}")
    return str(rule)
