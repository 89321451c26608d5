"""Model files of the commands: an estimator, alone or behind the encoding of a table, and what it was trained on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from setloss.cli.commands import InputError
from setloss.io.models import ModelFileError, load


@dataclass(frozen=True)
class Source:
    """What a model was trained on: columns by name, None where the file had no names.

    `of_table` says that the model takes a DataFrame, and finds the columns of features in it by itself.
    """

    of_label_sets: bool
    width: int
    of_table: bool = False
    features: list[str] | None = None
    labels: list[str] | None = None
    group: str | None = None
    label: str | None = None
    id: str | None = None
    cell: list[str] | None = None
    """The column with all labels of a row, and the sign between them."""

    @classmethod
    def from_data(cls, examples: Any, options: Any, id_column: str | None) -> "Source":
        """Of data that a model has just been trained on; columns of tables are known to their encoder."""
        width, names = int(examples.X.shape[1]), examples.feature_names
        features = None if names is None or options.is_table else list(names)
        if hasattr(examples, "Y"):
            cell = None if examples.cell is None else list(examples.cell)
            return cls(True, width, options.is_table, features, list(examples.label_names), id=id_column, cell=cell)
        bags = options.group or "group", options.label or "label"
        return cls(False, width, options.is_table, features, None, *bags, id_column)

    @classmethod
    def of(cls, model: Any) -> "Source":
        """What the model knows; one that was trained elsewhere knows the names of its features at most."""
        noted = getattr(model, "source_", None)
        if noted is not None:
            return cls(**noted)
        from setloss.estimators.set_layout import rows_are_sets

        estimator = last_step(model)
        sets = rows_are_sets(estimator)
        names, labels = getattr(model, "feature_names_in_", None), getattr(estimator, "label_names_", None)
        features, columns = (None if found is None else list(found) for found in (names, labels))
        return cls(sets, int(getattr(model, "n_features_in_", 0)), features is not None, features, columns)

    def note_on(self, model: Any) -> None:
        """Let a model file know it."""
        model.source_ = asdict(self)

    def beside(self, rows: Any) -> dict[str, Any]:
        """What methods take beside X: nothing for label sets, the bags for tracks."""
        groups = getattr(rows, "groups", None)
        if not self.of_label_sets and groups is None:
            name = self.group or "group"
            raise InputError(f"the model decides for whole bags, and no column {name!r} names them; give --group")
        return {} if self.of_label_sets else {"groups": groups}


def last_step(model: Any) -> Any:
    """The estimator behind the encoding of columns."""
    return model[-1] if hasattr(model, "steps") else model


def prepared(model: Any, X: Any) -> Any:
    """Features as the estimator takes them."""
    return model[:-1].transform(X) if hasattr(model, "steps") and len(model) > 1 else X


def scores_of(model: Any, X: Any) -> Any:
    """Scores (n, p) of prepared features; one column for frames."""
    estimator = last_step(model)
    scores = estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator._scores(X)
    return scores.reshape(len(scores), -1)


def decides(model: Any) -> bool:
    """Whether a model decides for the whole set; others go by the signs of their scores."""
    return hasattr(last_step(model), "decision_")


def read_model(path: Path, trusted: str | None = None) -> Any:
    """The estimator in a file, or an `InputError`."""
    try:
        return load(path, trusted=() if trusted is None else trusted.split(","))
    except ModelFileError as error:
        words, _, names = str(error).partition("trusted=['")
        wanted = "--trusted " + names[:-2].replace("', '", ",") if names else ""
        raise InputError(words + wanted) from None


@contextmanager
def in_use(model: Path, data: Path) -> Iterator[None]:
    """Errors of a model at work, in words: bad values are the data's, parts that do not fit are the model's."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise InputError(f"{data}: {error}") from None
    except (AttributeError, LookupError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(
            f"{model} does not fit together, or not with {data} ({what}); train the model anew"
        ) from None
