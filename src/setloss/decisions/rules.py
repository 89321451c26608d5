"""How scores become sets, and how each rule learns what it needs from scores of held-out examples.

    "counts"      the set of least expected loss under a count model fitted to the scores (as "plug-in" where it is
                  too much work: labels times the largest number of positives above 60,000)
    "plug-in"     the same for independent elements: only scale and biases are fitted
    "threshold"   one threshold for all elements, of least held-out loss
    "half"        threshold 1/2, where log-odds are 0: what classifiers do by themselves
    "auto"        "counts" or "threshold", whichever has the least held-out loss

The folds take turns: a rule learns on all but one of them, whose sets have weight 0, and is judged on that one. Rules
that are equally good differ by chance on held-out folds; that chance then decides costs nothing. A model has few
numbers to learn, so where there are many sets, `MOST_SETS` of them, at random, are enough for everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from setloss.bags import Bags
from setloss.decisions.calibration import BagPotentials, Calibration, LabelPotentials, Potentials
from setloss.decisions.fitting import MOST_WORK, Widths, calibrate, chosen_widths, within_work, work_of_a_set
from setloss.decisions.held_out import HeldOut, mean_loss
from setloss.decisions.threshold_scan import column_thresholds, thresholds_without
from setloss.losses import CountLoss, Loss
from setloss.typing import Array, Flags

MOST_SETS = 10_000
"""Largest number of sets that a rule is learned from and judged by. The mean loss of so many is known to .002 or so,
the p + K + 2 numbers of a count model about as well as from all."""

FEWEST_STUDIED = 200
"""Fewest sets a count model is fitted to. If even these exceed `MOST_WORK`, elements are taken as independent."""

RULES = ("auto", "counts", "plug-in", "threshold", "half")
REFERENCES = ("threshold", "half")
"""Rules whose held-out loss is always shown: what people do now."""


@dataclass(frozen=True)
class Threshold:
    """Elements of score above one threshold, or above that of their label."""

    value: float | Array

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Flags:
        """The chosen elements, in the shape of the scores."""
        return np.asarray(scores > self.value)


Rule = Calibration | Threshold
"""What has `sets(scores, loss, bags)`."""


@dataclass(frozen=True)
class Reliability:
    """Observed minus expected loss of held-out sets: its mean, the standard error of that, and its spread.

    A scorer that is trained on other examples is wrong in another direction on all of its sets at once, and there
    are as many scorers as folds. So intervals take the quantiles of Student's t with one degree of freedom less than
    folds: normal ones cover too little on real data (docs/evidence.md).
    """

    bias: float
    error: float
    spread: float
    folds: int

    def half_width(self, sets: int, level: float) -> float:
        """Half the width of the interval of the mean over so many new sets."""
        error = np.hypot(self.error, self.spread / np.sqrt(max(sets, 1)))
        return float(stdtrit(self.folds - 1, 0.5 + level / 2) * error)


class Judged(NamedTuple):
    """A rule, the same rule learned without each fold, and the loss of every set by that without its own fold.

    With a single fold there are no losses.
    """

    rule: Rule
    without: Sequence[Rule]
    losses: Array

    def summary(self, weights: Array) -> tuple[float, float]:
        """The mean held-out loss with its standard error."""
        return float(np.average(self.losses, weights=weights)), standard_error(self.losses, weights)


@dataclass(frozen=True, eq=False)
class RuleLearner:
    """Held-out scores, and what every rule learns from them; models are fitted once for all losses.

    Without a family of potentials, where sets are too large for one, elements are independent.
    """

    data: HeldOut
    family: Potentials | None

    @classmethod
    def of(cls, data: HeldOut) -> Self:
        """Sets and the family of potentials that their kind and their numbers of positives ask for."""
        data = data.sample(MOST_SETS)
        family: Potentials = BagPotentials()
        if data.bags is None:
            family = LabelPotentials.seen(data.truth.sum(axis=1), data.scores.shape[1])
        return cls(data, family if FEWEST_STUDIED * work_of_a_set(data, family) <= MOST_WORK else None)

    @cached_property
    def folds(self) -> list[int]:
        """The numbers of the folds that rules are judged on; none if there is only one."""
        folds = np.unique(self.data.folds).tolist()
        return folds if len(folds) > 1 else []

    @cached_property
    def studied(self) -> HeldOut:
        """The sets that models are fitted to."""
        return within_work(self.data, self.family, MOST_WORK)

    @cached_property
    def widths(self) -> Widths:
        """How strongly models are shrunk."""
        return chosen_widths(self.data, self.family)

    @cached_property
    def models(self) -> list[Calibration]:
        """The count model, and those learned without each fold."""
        return self._models(self.family)

    @cached_property
    def independent_models(self) -> list[Calibration]:
        """The same for independent elements."""
        return self._models(None)

    def _models(self, family: Potentials | None) -> list[Calibration]:
        whole = calibrate(self.studied, family, self.widths)
        return [whole, *(calibrate(self.studied.without(fold), family, self.widths, whole) for fold in self.folds)]

    def log_likelihoods(self) -> tuple[Array, Array]:
        """Of held-out sets by a model of usual widths, what scorers are compared by; and the weights of the sets."""
        return calibrate(self.studied, self.family, Widths()).log_likelihoods(self.studied), self.studied.weights

    @property
    def candidates(self) -> tuple[str, str]:
        """The rules that "auto" compares."""
        return "counts" if self.family else "plug-in", "threshold"

    def judged(self, rule: str, loss: CountLoss) -> dict[str, Judged]:
        """The rule of that name ("auto": both candidates) and `REFERENCES`."""
        names = self.candidates if rule == "auto" else (rule,)
        rules = {name: self._rules(name, loss) for name in (*names, *REFERENCES)}
        losses = {name: np.empty(len(self.data) if self.folds else 0) for name in rules}
        for i, fold in enumerate(self.folds, start=1):
            test = self.data.part(here := self.data.folds == fold)
            for name, values in losses.items():
                values[here] = test.losses(rules[name][i].sets(test.scores, loss, test.bags), loss)
        return {name: Judged(whole, without, losses[name]) for name, (whole, *without) in rules.items()}

    def _rules(self, name: str, loss: CountLoss) -> Sequence[Rule]:
        """The rule of that name, and the same learned without each fold."""
        if name in ("counts", "plug-in"):
            return self.models if name == "counts" else self.independent_models
        if name == "half":
            return [Threshold(0.0)] * (1 + len(self.folds))
        return [Threshold(value) for value in thresholds_without(self.data, loss, [-1, *self.folds])]

    def choose(self, judged: dict[str, Judged]) -> str:
        """The candidate of least mean held-out loss, of equal ones the first; the first where nothing is judged."""
        weights = self.data.weights
        return min(self.candidates, key=lambda name: float(weights @ judged[name].losses) if self.folds else 0.0)

    def decided_loss(self, rule: str, loss: CountLoss, average: str) -> float:
        """The mean held-out loss of what a rule decides ("auto": of the better one); 0 with a single fold."""
        if not self.folds:
            return 0.0
        if average == "samples":
            judged = self.judged(rule, loss)
            return judged[self.choose(judged) if rule == "auto" else rule].summary(self.data.weights)[0]
        chosen = np.zeros_like(self.data.truth)
        for i, fold in enumerate(self.folds, start=1):
            train = self.data.part(~(here := self.data.folds == fold))
            chances = self.independent_models[i].marginals(train.scores)
            chosen[here] = self.data.scores[here] > column_thresholds(train, chances, loss, average)
        return mean_loss(self.data, chosen, loss, average)

    def reliability(self, judged: Judged, loss: CountLoss) -> Reliability:
        """How far the losses that the model without a set's fold expects are from those observed."""
        expected, weights = np.empty(len(self.data)), self.data.weights
        for i, fold in enumerate(self.folds):
            test = self.data.part(here := self.data.folds == fold)
            sets = judged.without[i].sets(test.scores, loss, test.bags)
            expected[here] = self.models[1 + i].expected_losses(sets, test.scores, loss, test.bags)
        differences = judged.losses - expected
        mean = float(np.average(differences, weights=weights))
        spread = float(np.sqrt(np.average((differences - mean) ** 2, weights=weights)))
        return Reliability(mean, standard_error(differences, weights), spread, len(self.folds))


def standard_error(values: Array, weights: Array) -> float:
    """Of the weighted mean."""
    deviations = weights * (values - np.average(values, weights=weights))
    return float(np.sqrt(deviations @ deviations) / weights.sum())
