"""Model files of the commands: an estimator that decides, alone or behind the encoding of a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.commands import InputError, names_in
from setloss.cli.set_functions import LossOptions
from setloss.io.models import ModelFileError, load

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")]
TrustedOption = Annotated[
    str | None, typer.Option(help="Other packages that the model may be made of, as xgboost,lightgbm.")
]


@dataclass(frozen=True)
class Source:
    """Names in the data that a model was trained on, beside those that its encoder knows; None where there are none.

    `cell` is the column with all labels of a row, and the sign between them.
    """

    features: list[str] | None = None
    labels: list[str] | None = None
    cell: list[str] | None = None
    group: str = "group"
    label: str = "label"


@dataclass(frozen=True)
class TrainedModel:
    """A model from a file, its parts, and the names that it knows.

    `encoder` is the step that prepares features, None where there is none. `decides` is False for linear models as in
    the paper, which go by the signs of their scores. The sets are rows of labels, or groups of them.
    """

    model: Any
    estimator: Any
    encoder: Any
    source: Source
    decides: bool
    takes_tables: bool
    of_label_sets: bool

    @classmethod
    def read(cls, path: Path, trusted: str | None, loss: LossOptions) -> "TrainedModel":
        """The model in a file, to decide for the loss of the options if they name one; or an `InputError`."""
        from setloss.estimators.set_layout import rows_are_sets

        try:
            model = load(path, trusted=() if trusted is None else names_in(trusted))
        except ModelFileError as error:
            words, _, missing = str(error).partition("trusted=['")
            wanted = "--trusted " + missing[:-2].replace("', '", ",") if missing else ""
            raise InputError(words + wanted) from None
        with in_use(path, path):
            estimator = model[-1] if hasattr(model, "steps") else model
            names = ("features", model, "feature_names_in_"), ("labels", estimator, "label_names_")
            known = {key: list(getattr(part, name)) for key, part, name in names if hasattr(part, name)}
            trained = cls(
                model,
                estimator,
                model[0] if len(getattr(model, "steps", ())) > 1 else None,
                Source(**getattr(model, "source_", known)),
                hasattr(estimator, "decision_"),
                hasattr(model, "feature_names_in_"),
                rows_are_sets(estimator),
            )
        if not trained.decides and not hasattr(estimator, "loss"):
            raise InputError(f"{path} gives scores and decides nothing; save SetDecisionCV around the classifier")
        if not trained.decides and loss != LossOptions():
            raise InputError("--loss is for models that decide for the set; this one goes by the signs of its scores")
        if loss != LossOptions():
            estimator.set_params(loss=loss.read())
        return trained

    def prepared(self, X: Any) -> Any:
        """Features as the estimator takes them."""
        return X if self.encoder is None else self.model[:-1].transform(X)

    def beside(self, rows: Any) -> dict[str, Any]:
        """Arguments of methods beside X: none for label sets, the groups for tracks."""
        if self.of_label_sets:
            return {}
        groups = getattr(rows, "groups", None)
        if groups is None:
            raise InputError(
                f"the model decides for whole bags, and no column {self.source.group!r} names them; give --group"
            )
        return {"groups": groups}


def note_source(model: Any, examples: Any, options: Any) -> None:
    """Let a model that has just been trained know the names in its data."""
    features = None if options.is_table or examples.feature_names is None else list(examples.feature_names)
    if hasattr(examples, "Y"):
        cell = None if examples.cell is None else list(examples.cell)
        source = Source(features, list(examples.label_names), cell)
    else:
        source = Source(features, group=options.group or "group", label=options.label or "label")
    model.source_ = asdict(source)


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
