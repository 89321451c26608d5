"""A count model on top of the scores of any classifier.

    P(y | s) ~ exp( sum_j y_j (a s_j + b_j) + u_|y| )

Scores s become log-odds by a scale a and a bias b_j for each label. Log-potentials u of the number of positives are
linear in some numbers theta. For label sets these are u_0, ..., u_K themselves; for bags of frames of any size p,
u(k, p) is a sum of atoms at k = 0 and k = p and of a smooth part in the share r = k / p. All are fitted to held-out
scores (`setloss.decisions.fitting`), theta with a normal prior: second differences of u_k are small, so that without
data the potentials are a straight line, which is the independent model with one more bias; u_0, the empty set, may
stand apart.

A bag of more than `LONGEST` frames is read through that many of them, spread evenly over its sorted scores, when the
model is fitted and when it decides: its cost is then that of a sort.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from setloss.bags import Bags
from setloss.decisions.count_model import CountModel
from setloss.decisions.decision import Decision, decide_log_odds, expected_losses_of
from setloss.decisions.held_out import HeldOut, falling, thinned
from setloss.losses import Loss
from setloss.typing import Array, Flags

EMPTY_STANDS_APART = 4.0
"""How much wider the prior of the second difference at the empty set is than that of the others."""

SLOPE_WIDTH = 3.0
"""Standard deviation of the slope of the straight line, a bias of all labels, in log-odds."""

LONGEST = 200
"""Frames of a bag that the count model sees."""

CHUNK = 2**17
"""Scores that are decided at a time, and that a model is fitted to: this bounds the memory beside the scores."""


@dataclass(frozen=True)
class LabelPotentials:
    """u_0, ..., u_K, the same for all examples; more than K positives are impossible.

    A prior of equal width leaves potentials equal freedom over the `spread` of the counts, their standard deviation:
    second differences of size e add up to e spread^1.5 over that range.
    """

    most: int
    spread: float = 1.0

    @classmethod
    def seen(cls, counts: NDArray[np.intp], labels: int) -> Self:
        """For numbers of positives as they were seen; somewhat larger ones are possible, up to all `labels`."""
        most = int(counts.max(initial=0))
        return cls(min(labels, most + max(2, most // 4)), max(1.0, float(counts.std())))

    def precision(self, width: float) -> Array:
        """The precision of the prior of theta, whose width is a standard deviation."""
        unit = np.eye(self.most + 1)
        rows = np.diff(unit, 2, axis=0) / (width / self.spread**1.5)
        rows[:1] /= EMPTY_STANDS_APART
        slope = (unit[-1] - unit[0]) / (SLOPE_WIDTH * self.most)
        return np.asarray(rows.T @ rows + np.outer(slope, slope) + 1e-6 * unit)

    def statistics(self, p: int) -> Array:
        """A row of numbers for each k: potentials are these times theta."""
        return np.eye(self.most + 1)


@dataclass(frozen=True)
class BagPotentials:
    """u(k, p) = theta . ([k = 0], [k = p], r, r (1 - r), p r (1 - r)) with r = k / p, for bags of any size p."""

    most = LONGEST

    def precision(self, width: float) -> Array:
        return np.diag([1 / (10 * width) ** 2] * 2 + [1 / (3 * width) ** 2] * 2 + [1 / width**2])

    def statistics(self, p: int) -> Array:
        """A row of numbers for each k = 0, ..., p: potentials are these times theta."""
        k = np.arange(p + 1)
        share = k / p
        mixed = share * (1 - share)
        return np.column_stack([k == 0, k == p, share, mixed, p * mixed]).astype(np.float64)


Potentials = LabelPotentials | BagPotentials


@dataclass(frozen=True, eq=False)
class Calibration:
    """A count model on top of scores: log-odds are ``scale * scores + bias``; independent without potentials."""

    scale: float
    bias: Array
    theta: Array = field(default_factory=lambda: np.zeros(0))
    potentials: Potentials | None = None

    def log_odds(self, scores: Array) -> Array:
        """Log-odds, but for the potentials."""
        return np.asarray(self.scale * scores + self.bias)

    def counts(self, bags: Bags | None = None) -> Array | None:
        """Log-potentials of the number of positives, as `decide` takes them."""
        if self.potentials is None:
            return None
        sizes = [len(self.bias)] if bags is None else bags.sizes.tolist()
        known = {p: self.potentials.statistics(p) @ self.theta for p in set(sizes)}
        return np.concatenate([known[p] for p in sizes])

    def model(self, scores: Array, bags: Bags | None = None) -> CountModel:
        """The count model of sets with these scores."""
        return CountModel(self.log_odds(scores), self.counts(bags), bags)

    def log_likelihoods(self, data: HeldOut) -> Array:
        """The log-likelihood of the known labels of every set."""
        if self.potentials is not None:
            return self.model(data.scores, data.bags).log_likelihood(data.truth, data.known)
        log_odds = self.log_odds(data.scores)
        return data.totals(data.known * log_expit(np.where(data.truth, log_odds, -log_odds)))

    # All below take bags that lie one after the other, of any length, and arrays (n, p) of any number of rows.

    def sets(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Flags:
        """The sets of least expected loss, in the shape of the scores."""
        return self.decide(scores, loss, bags).sets

    def decide(self, scores: Array, loss: Loss, bags: Bags | None = None) -> Decision:
        """The sets of least expected loss, with these losses and their sizes."""
        if bags is None:
            parts = [self._decide(scores[rows], loss, None) for rows in chunks(*scores.shape)]
            fields = ("sets", "expected_loss", "sizes")
            return Decision(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))
        elements, short = thinned(scores, bags, LONGEST)
        decision = self._decide(scores[elements], loss, short)
        sizes = (2 * decision.sizes * bags.sizes + short.sizes) // (2 * short.sizes)
        return Decision(_largest_of_bags(scores, bags, sizes), decision.expected_loss, sizes)

    def marginals(self, scores: Array, bags: Bags | None = None) -> Array:
        """P(y_i = 1), in the shape of the scores."""
        if self.potentials is None:
            return np.asarray(expit(self.log_odds(scores)))
        if bags is None:
            return np.concatenate([self.model(scores[rows]).marginals for rows in chunks(*scores.shape)])
        elements, short = thinned(scores, bags, LONGEST)
        log_odds, chances_of_all = self.log_odds(scores), np.empty(len(scores))
        chances_of_all[elements] = chances = np.clip(self.model(scores[elements], short).marginals, 1e-15, 1 - 1e-15)
        moved = logit(chances) - log_odds[elements]  # by the potentials; this varies little with the score
        for i in np.flatnonzero(bags.sizes > LONGEST):
            here, seen = (slice(*each.offsets[i : i + 2]) for each in (bags, short))
            between = np.interp(scores[here], scores[elements[seen]][::-1], moved[seen][::-1])
            chances_of_all[here] = expit(log_odds[here] + between)
        return chances_of_all

    def expected_losses(self, sets: Flags, scores: Array, loss: Loss, bags: Bags | None = None) -> Array:
        """The expected loss of given sets."""
        if bags is None:
            parts = [self._expected(sets[rows], scores[rows], loss, None) for rows in chunks(*scores.shape)]
            return np.concatenate(parts)
        elements, short = thinned(scores, bags, LONGEST)
        return self._expected(sets[elements], scores[elements], loss, short)

    def _expected(self, sets: Flags, scores: Array, loss: Loss, bags: Bags | None) -> Array:
        return expected_losses_of(sets, self.log_odds(scores), loss, counts=self.counts(bags), bags=bags)

    def _decide(self, scores: Array, loss: Loss, bags: Bags | None) -> Decision:
        return decide_log_odds(self.log_odds(scores), loss, self.counts(bags), bags, among_prefixes=True)


def chunks(n: int, p: int) -> list[slice]:
    """Rows with at most `CHUNK` scores at a time; at least one part."""
    step = max(1, CHUNK // max(1, p))
    return [slice(start, start + step) for start in range(0, max(n, 1), step)]


def _largest_of_bags(scores: Array, bags: Bags, sizes: NDArray[np.intp]) -> Flags:
    order = falling(scores, bags)
    ranks = np.arange(len(scores)) - np.repeat(bags.offsets[:-1], bags.sizes)
    chosen = np.empty(len(scores), dtype=bool)
    chosen[order] = ranks < np.repeat(sizes, bags.sizes)
    return chosen
