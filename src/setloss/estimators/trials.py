"""The choice of a classifier by its held-out scores.

Classifiers of the same kind, which differ in C or in how features are prepared, are compared by the likelihood of the
labels under a count model: it is less noisy than a loss. Kinds, such as logistic regression and trees, are compared
by the held-out loss of what is decided, for that is what is asked for, and a likelier kind can decide worse.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from setloss.decisions.held_out import HeldOut
from setloss.decisions.rules import RuleLearner, standard_error
from setloss.estimators.candidates import Kind
from setloss.estimators.fit_log import Fits, in_words, say
from setloss.estimators.label_scores import Outputs, Rows, Scorer, accepted, fit_scorer, gathered, out_of_fold
from setloss.estimators.labels import LabelMatrix
from setloss.estimators.set_layout import SetLayout, Split
from setloss.typing import Array, Flags

ENOUGH_TO_PREPARE, ENOUGH_HELD_OUT = 200, 500
"""Preparations are compared on as many folds as hold out the first number of sets; kinds, and values of C where that
leaves a doubt, on as many as hold out the second."""

SURE = 2.0
"""Standard errors of a difference that leave no doubt which of two values of C is likelier."""

COMPARED_LABELS = 80
"""Labels that preparations and values of C are compared on where there are more: rare and common ones. On 40 of the
159 labels of bibtex another C is likelier than on all."""


@dataclass(frozen=True, eq=False)
class Examples:
    """What candidates are trained on: features, labels, splits (None for classifiers that are fitted already).

    `folds` numbers the fold that holds out each row, and `needed` marks those whose held-out scores are wanted.
    """

    X: Any
    labels: LabelMatrix
    layout: SetLayout
    weights: Array
    splits: list[Split] | None
    folds: Rows
    needed: Flags
    params: dict[str, Any] = field(default_factory=dict)
    offered: dict[str, Any] = field(default_factory=dict)
    n_jobs: int | None = None
    verbose: bool = False
    fits: Fits = field(default_factory=Fits)

    def say(self, line: str, *numbers: Any) -> None:
        """A line of progress, with the share of the fits that are done."""
        if self.verbose:
            say(line, *numbers, share=self.fits.share)

    def held_out(self, rows: Rows, scores: Array) -> HeldOut:
        """Data to learn from of the scores of some rows."""
        flags = self.labels.positive[rows], self.labels.known[rows]
        return self.layout.part(rows).held_out(scores, *flags, self.weights[rows], self.folds[rows])

    def to_compare(self) -> Self:
        """The same with fewer labels, where there are many, spread evenly over their frequencies."""
        count = self.labels.positive.shape[1]
        if count <= COMPARED_LABELS:
            return self
        by_frequency = np.argsort(self.labels.positive.sum(axis=0), kind="stable")
        some = np.sort(by_frequency[np.linspace(0, count - 1, COMPARED_LABELS).astype(np.intp)])
        return replace(self, labels=self.labels.part(slice(None), some))

    def folds_with(self, enough: int, fewest: int = 1) -> int:
        """The number of folds that hold out as many sets; classifiers that are fitted already have one."""
        most = len(self.splits or [None])
        return min(most, max(fewest, -(-enough * most // len(self.layout))))

    def fits_of(self, kind: Kind) -> int:
        """The number of fits that choosing one of a kind takes, about: a climb goes up once."""
        start = self.folds_with(ENOUGH_TO_PREPARE) * len(kind) if len(kind) > 1 else 0
        return start + 3 * self.folds_with(ENOUGH_HELD_OUT) if len(kind[0].estimators) > 1 else start


@dataclass(eq=False)
class Trial:
    """A candidate with what it said on the first folds, and what is learned from that."""

    estimator: Any
    examples: Examples
    outputs: list[Outputs] = field(default_factory=list)
    learner: RuleLearner | None = None
    certainty: float = 0.0
    likelihoods: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def params(self) -> dict[str, Any]:
        """What `fit` gets beside X and y."""
        return self.examples.params | accepted(self.estimator, self.examples.offered)

    def run(self, folds: int) -> RuleLearner:
        """Hold out as many folds, those that were not yet, and learn from all."""
        if self.learner is None or len(self.outputs) < folds:
            self.outputs += self._outputs(len(self.outputs), folds)
            rows, scores, self.certainty = gathered(self.outputs)
            self.learner = RuleLearner.of(self.examples.held_out(rows, scores))
        return self.learner

    def _outputs(self, done: int, folds: int) -> Iterator[Outputs]:
        """What the candidate says of the folds from `done` on; if it is fitted already, of everything."""
        examples = self.examples
        if examples.splits is None:
            rows, p = np.flatnonzero(examples.needed), examples.labels.positive.shape[1]
            scorer = Scorer(self.estimator, np.arange(p), np.zeros(p))
            yield rows, scorer, scorer.outputs(_safe_indexing(examples.X, rows))
            return
        rest = [(train, test[examples.needed[test]]) for train, test in examples.splits[done:folds]]
        said = out_of_fold(self.estimator, examples.X, examples.labels, rest, self.params, examples.n_jobs)
        examples.fits.to_come(len(examples.splits) - done + 1)
        for fold in range(done + 1, folds + 1):
            examples.say("%s: fold %d of %d", in_words(self.estimator), fold, folds)
            yield next(said)
            examples.fits.done += 1

    def log_likelihoods(self, folds: int) -> tuple[Array, Array]:
        """Of the labels of the sets of these folds, and the weights of the sets; asked for more folds each time."""
        if folds not in self.likelihoods:
            values, weights = self.likelihoods[folds] = self.run(folds).log_likelihoods()
            words = "%s: held-out log-likelihood %.3f for each set"
            self.examples.say(words, in_words(self.estimator), np.average(values, weights=weights))
        return self.likelihoods[folds]

    def gain(self, other: Self, folds: int) -> tuple[float, float]:
        """How much likelier labels of these folds are than by another trial, and the standard error of that."""
        values, weights = self.log_likelihoods(folds)
        differences = values - other.log_likelihoods(folds)[0]
        return float(np.average(differences, weights=weights)), standard_error(differences, weights)

    def is_likelier(self, other: Self) -> bool:
        """Whether labels are likelier than by another trial, by a few folds where these leave no doubt."""
        gain, error = self.gain(other, self.examples.folds_with(ENOUGH_TO_PREPARE))
        if abs(gain) < SURE * error:
            gain, _ = self.gain(other, self.examples.folds_with(ENOUGH_HELD_OUT))
        return gain > 0

    def finished(self) -> tuple[Scorer, RuleLearner]:
        """A scorer that is trained on everything, and the learner of all folds."""
        examples = self.examples
        learner = self.run(examples.folds_with(len(examples.layout)))
        scorer = self.outputs[0][1]
        self.outputs.clear()  # the learner has the scores
        if examples.splits is not None:
            examples.say("%s: final fit on all %d sets", in_words(self.estimator), len(examples.layout))
            scorer = fit_scorer(self.estimator, examples.X, examples.labels, None, self.params)
            examples.fits.done += 1
        return replace(scorer, certainty=self.certainty), learner


def fit_best(
    kinds: Sequence[Kind], examples: Examples, judge: Callable[[RuleLearner], float]
) -> tuple[Scorer, RuleLearner]:
    """Train the likeliest classifier of the kind of least held-out loss; `judge` gives that loss."""
    examples.fits.to_come(sum(map(examples.fits_of, kinds)) + examples.folds_with(len(examples.layout)) + 1)
    trials = [_likeliest(kind, examples) for kind in kinds]
    if len(trials) == 1:
        return trials[0].finished()
    folds = examples.folds_with(ENOUGH_HELD_OUT, fewest=2)  # a rule is judged on a fold that it has not learned on
    losses = [judge(trial.run(folds)) for trial in trials]
    for trial, loss in zip(trials, losses, strict=True):
        examples.say("%s: held-out loss %.4f of what is decided", in_words(trial.estimator), loss)
    return trials[int(np.argmin(losses))].finished()


def _likeliest(kind: Kind, examples: Examples) -> Trial:
    """The likeliest of one kind: the path that is likeliest at its start, climbed from there."""
    some = examples.to_compare()
    paths = [[Trial(one, some) for one in path.estimators] for path in kind]
    best = 0
    if len(kind) > 1:
        folds = some.folds_with(ENOUGH_TO_PREPARE if any(len(path) > 1 for path in paths) else ENOUGH_HELD_OUT)
        starts = [trials[path.start].log_likelihoods(folds) for trials, path in zip(paths, kind, strict=True)]
        best = int(np.argmax([np.average(values, weights=weights) for values, weights in starts]))
    trials, place = paths[best], kind[best].start
    if len(trials) > 1:
        place = _climb(lambda i, j: trials[i].is_likelier(trials[j]), place, len(trials))
    return trials[place] if some is examples else Trial(trials[place].estimator, examples)


def _climb(is_higher: Callable[[int, int], bool], start: int, length: int) -> int:
    """The highest of a row of values that rise and then fall, from the start on and as far as it goes up."""
    best = start
    for step in (-1, 1):
        while 0 <= best + step < length and is_higher(best + step, best):
            best += step
        if best != start:
            break
    return best
