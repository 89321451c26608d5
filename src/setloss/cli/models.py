"""Model files of the commands: an estimator, alone or behind the encoding of a table, and what it was trained on."""

import inspect
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from setloss.cli.commands import InputError


@dataclass(frozen=True)
class Source:
    """What a model was trained on: columns by name, None where the file had no names."""

    of_label_sets: bool
    width: int
    label_count: int
    features: list[str] | None = None
    labels: list[str] | None = None
    group: str | None = None
    label: str | None = None
    id: str | None = None

    @classmethod
    def of(cls, model: Any) -> "Source":
        """What the model knows; one that was trained elsewhere knows the names of its features at most."""
        noted = getattr(model, "source_", None)
        if noted is not None:
            return cls(**noted)
        names = getattr(model, "feature_names_in_", None)
        sets = "groups" not in inspect.signature(last_step(model).predict).parameters
        labels = getattr(last_step(model), "label_names_", None)
        width = int(getattr(model, "n_features_in_", 0))
        classes = getattr(last_step(model), "coef_", None)
        count = len(labels) if labels is not None else 1 if classes is None else len(classes)
        return cls(
            sets, width, count, None if names is None else list(names), None if labels is None else list(labels)
        )

    def note_on(self, model: Any) -> None:
        """Let a model file know it."""
        model.source_ = asdict(self)


def last_step(model: Any) -> Any:
    """The estimator behind the encoding of columns."""
    return model[-1] if hasattr(model, "steps") else model


def prepared(model: Any, X: Any) -> Any:
    """Features as the estimator takes them."""
    return model[:-1].transform(X) if hasattr(model, "steps") and len(model) > 1 else X


def read_model(path: Path, trusted: str | None = None) -> Any:
    """The estimator in a file, or an `InputError`."""
    from setloss.io import ModelFileError, load

    try:
        return load(path, trusted=() if trusted is None else trusted.split(","))
    except ModelFileError as error:
        raise InputError(re_option(str(error))) from None


def re_option(sentence: str) -> str:
    """``trusted=['xgboost']`` as the option that it is here."""
    return sentence.replace("trusted=['", "--trusted ").replace("']", "")


def write_model(model: Any, path: Path) -> None:
    """Save a fitted estimator."""
    from setloss.io import ModelFileError, save

    try:
        save(model, path)
    except ModelFileError as error:
        raise InputError(str(error)) from None


def scores_of(model: Any, X: Any) -> Any:
    """Scores (n, p) of prepared features; one column for frames."""
    estimator = last_step(model)
    scores = estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator._scores(X)
    return scores.reshape(len(scores), -1)


def decides(model: Any) -> bool:
    """Whether a model decides for the whole set; others go by the signs of their scores."""
    return hasattr(last_step(model), "decision_")


def with_bags(source: Source, groups: Any) -> tuple[Any, ...]:
    """What methods take beside X: nothing for label sets, the bags for tracks."""
    if source.of_label_sets:
        return ()
    if groups is None:
        raise InputError(
            f"the model decides for whole bags, and no column {source.group or 'group'!r} names them; name one with "
            "--group"
        )
    return (groups,)
