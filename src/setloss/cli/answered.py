"""Promises on the command line: rows kept to learn one, which sets it answers, and what is then kept of it."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from setloss.cli.commands import InputError, panel_option

KEPT = 0.25
"""Share of the sets that are kept to learn a promise."""

CONFIDENCE = 0.9
"""Probability that a promise is true, unless another is given."""

FEWEST = 20
"""Fewest sets of a curve: the mean score of fewer says little."""

_option = partial(panel_option, "A promise")


@dataclass(frozen=True)
class PromiseOptions:
    """The mean score to promise on what is answered, and how surely."""

    promise: Annotated[
        float | None,
        _option(
            f"Mean score (1 - loss) to promise on the sets that are answered, as 0.8. {100 * KEPT:.0f} % of the sets "
            "are kept to learn it, and nothing else is trained on them."
        ),
    ] = None
    confidence: Annotated[
        float | None, _option("Probability that the promise is true.", show_default=f"{CONFIDENCE:g}")
    ] = None

    def check(self, training: Any) -> None:
        """Refuse what cannot be promised, before any data are read."""
        if self.promise is None:
            if self.confidence is not None:
                raise InputError("--confidence is that of --promise; give both, or leave it out")
            return
        if training.rule == "sign":
            raise InputError("--promise is for models that decide for the set; leave out --rule sign")
        if training.average != "samples":
            raise InputError("--promise is about the mean loss of decided sets; leave out --average")
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise InputError(f"--confidence is between 0 and 1, as 0.9; got {self.confidence:g}")
        if self.promise >= 1:
            raise InputError(f"--promise is a mean score below 1, as 0.8; got {self.promise:g}")

    def split(self, examples: Any) -> tuple[Any, Any]:
        """The examples to train on, and those kept for the promise (None if there is none to make)."""
        if self.promise is None:
            return examples, None
        names = np.arange(examples.X.shape[0]) if hasattr(examples, "Y") else examples.groups
        sets, places = np.unique(names, return_inverse=True)
        kept = np.random.default_rng(0).permutation(len(sets)) < round(KEPT * len(sets))
        return _rows(examples, ~kept[places]), _rows(examples, kept[places])

    def make(self, estimator: Any, X: Any, targets: dict[str, Any]) -> Any:
        """Let a fitted estimator promise, by the features and labels of what was kept."""
        confidence = CONFIDENCE if self.confidence is None else self.confidence
        try:
            return estimator.promise(X, at_most=1 - (self.promise or 0), confidence=confidence, **targets)
        except ValueError as error:
            raise InputError(f"--promise: {error}") from None


def _rows(examples: Any, kept: Any) -> Any:
    """Some rows of label sets or tracks."""
    rows = np.flatnonzero(kept)
    X = examples.X.iloc[rows] if hasattr(examples.X, "iloc") else examples.X[rows]
    if hasattr(examples, "Y"):
        return replace(examples, X=X, Y=examples.Y[rows])
    return replace(examples, X=X, y=examples.y[rows], groups=examples.groups[rows])


def answered_rows(estimator: Any, X: Any, beside: dict[str, Any]) -> Any:
    """Whether the set of each row is answered; None where nothing is promised for the loss of the estimator."""
    if not hasattr(estimator, "promise_"):
        return None
    answered = estimator.promise_.answers(X, **beside)
    return answered[np.unique(beside["groups"], return_inverse=True)[1]] if beside else answered


@dataclass(frozen=True)
class Curve:
    """Sets from the surest on: observed scores, and which are answered (None without a promise)."""

    scores: Any
    answered: Any
    promise: Any

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, beside: dict[str, Any]) -> "Curve":
        """The curve of an estimator that decides, on labelled sets."""
        expected, losses = estimator.expected_loss(X, **beside), estimator.losses(X, y, **beside)
        promise = getattr(estimator, "promise_", None)
        answered = None if promise is None else promise.answers(X, **beside)
        judged = np.isfinite(y).any(axis=1) if y.ndim == 2 and y.dtype.kind == "f" else np.full(len(expected), True)
        order = np.argsort(expected[judged], kind="stable")
        return cls(1 - losses[order], None if answered is None else answered[judged][order], promise)

    @property
    def facts(self) -> dict[str, Any] | None:
        """The promise, and what was observed of it."""
        if self.promise is None:
            return None
        of, number = self.scores[self.answered], int(self.answered.sum())
        facts = {"words": str(self.promise), "at_least": 1 - self.promise.at_most, "share": number / len(self.scores)}
        error = float(of.std(ddof=1) / np.sqrt(number)) if number > 1 else None
        return facts | {"score": float(of.mean()) if number else None, "error": error}

    def draw(self, path: Path, score: str) -> None:
        """The mean score of what is answered against its share, with twice the standard error."""
        from matplotlib.figure import Figure

        number = np.arange(1, len(self.scores) + 1)
        means = np.cumsum(self.scores) / number
        errors = np.sqrt(np.maximum(np.cumsum(self.scores**2) / number - means**2, 0) / number)
        shown = slice(min(FEWEST, len(number)) - 1, None)
        share, means, errors = 100 * number[shown] / number[-1], means[shown], errors[shown]
        figure = Figure(layout="constrained")
        axes = figure.add_subplot(xlabel="sets answered, the surest first (%)", xlim=(0, 100))
        axes.set_ylabel(f"mean {score} of what is answered, with twice its standard error")
        axes.fill_between(share, means - 2 * errors, means + 2 * errors, alpha=0.2, linewidth=0)
        axes.plot(share, means)
        if self.promise is not None:
            axes.axhline(1 - self.promise.at_most, color="C1", linestyle="--", label="promised")
            axes.axvline(100 * self.answered.mean(), color="C1", linestyle=":", label="answered")
            axes.legend()
        figure.savefig(path, dpi=150)
