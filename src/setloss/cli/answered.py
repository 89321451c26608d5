"""Promises on the command line: rows kept to learn one, which sets it answers, and what is then kept of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from setloss.cli.commands import InputError, panel_option
from setloss.cli.models import last_step

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
        if training.rule == "sign" or training.average != "samples":
            raise InputError("--promise is about the mean loss of decided sets; leave out --rule sign, --average")
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

    def make(self, estimator: Any, X: Any, kept: Any) -> dict[str, Any] | None:
        """Let a fitted estimator promise; what is said of it."""
        if kept is None or self.promise is None:
            return None
        confidence = CONFIDENCE if self.confidence is None else self.confidence
        given = {"y": kept.Y} if hasattr(kept, "Y") else {"y": kept.y, "groups": kept.groups}
        try:
            made = estimator.promise(X, at_most=1 - self.promise, confidence=confidence, **given)
        except ValueError as error:
            raise InputError(f"--promise: {error}") from None
        facts = {"at_least": self.promise, "confidence": confidence, "words": str(made)}
        return facts | {"share": made.share, "sets": made.sets, "needed": made.needed}


def _rows(examples: Any, kept: Any) -> Any:
    """Some rows of label sets or tracks."""
    rows = np.flatnonzero(kept)
    X = examples.X.iloc[rows] if hasattr(examples.X, "iloc") else examples.X[rows]
    if hasattr(examples, "Y"):
        return replace(examples, X=X, Y=examples.Y[rows])
    return replace(examples, X=X, y=examples.y[rows], groups=examples.groups[rows])


def answered_rows(model: Any, X: Any, beside: dict[str, Any]) -> Any:
    """Whether the set of each row is answered; None where the model promises nothing for its loss."""
    if not hasattr(last_step(model), "promise_"):
        return None
    answered = last_step(model).promise_.answers(X, **beside)
    return answered[np.unique(beside["groups"], return_inverse=True)[1]] if beside else answered


@dataclass(frozen=True)
class Curve:
    """Sets from the surest on: observed scores, and which are answered (None without a promise)."""

    scores: Any
    answered: Any
    promise: Any

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, beside: dict[str, Any]) -> "Curve":
        """The curve of a model that decides, on labelled sets."""
        estimator = last_step(model)
        expected, losses = estimator.expected_loss(X, **beside), estimator.losses(X, y, **beside)
        expected = expected if beside else expected[~np.isnan(y).all(axis=1)] if y.dtype.kind == "f" else expected
        order, promise = np.argsort(expected, kind="stable"), getattr(estimator, "promise_", None)
        return cls(1 - losses[order], None if promise is None else expected[order] <= promise.limit, promise)

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
        few = min(FEWEST, len(number)) - 1
        share, means, errors = 100 * number[few:] / number[-1], means[few:], errors[few:]
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.add_subplot(
            xlabel="sets answered, the surest first (%)", ylabel=f"mean {score} of what is answered"
        )
        axes.fill_between(share, means - 2 * errors, means + 2 * errors, color="#0072B2", alpha=0.2, linewidth=0)
        axes.plot(share, means, color="#0072B2", label="observed, with twice its standard error")
        if self.promise is not None:
            axes.axhline(1 - self.promise.at_most, color="#D55E00", linestyle="--", label="asked for")
            axes.axvline(100 * self.answered.mean(), color="0.4", linestyle=":", label="answered by the promise")
        axes.set_xlim(0, 100)
        axes.legend(fontsize="small")
        figure.savefig(path, dpi=150)


@contextmanager
def no_curve_in_words() -> Iterator[None]:
    """Missing matplotlib and losses that are not those of single sets are bad input."""
    try:
        yield
    except (ImportError, ValueError) as error:
        raise InputError(f"--plot: {error}") from None
