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
    """A model from a file, and the names that it knows."""

    path: Path
    model: Any
    source: Source

    @classmethod
    def read(cls, path: Path, trusted: str | None, loss: LossOptions) -> "TrainedModel":
        """The model in a file, to decide for the loss of the options if they name one; or an `InputError`."""
        try:
            model = load(path, trusted=() if trusted is None else names_in(trusted))
        except ModelFileError as error:
            words, _, missing = str(error).partition("trusted=['")
            wanted = "--trusted " + missing[:-2].replace("', '", ",") if missing else ""
            raise InputError(words + wanted) from None
        with in_use(path, path):
            names = ("features", model, "feature_names_in_"), ("labels", last_step(model), "label_names_")
            known = {key: list(getattr(part, name)) for key, part, name in names if hasattr(part, name)}
            source = Source(**getattr(model, "source_", known))
        trained = cls(path, model, source)
        if not trained.decides and not hasattr(trained.estimator, "loss"):
            raise InputError(f"{path} gives scores and decides nothing; save SetDecisionCV around the classifier")
        if not trained.decides and loss != LossOptions():
            raise InputError("--loss is for models that decide for the set; this one goes by the signs of its scores")
        if loss != LossOptions():
            trained.estimator.set_params(loss=loss.read())
        return trained

    @property
    def estimator(self) -> Any:
        """The estimator behind the encoding of columns."""
        return last_step(self.model)

    @property
    def decides(self) -> bool:
        """Whether it decides for the whole set; linear models as in the paper go by the signs of their scores."""
        return hasattr(self.estimator, "decision_")

    @property
    def encoder(self) -> Any:
        """The step that prepares features, as the encoder of a table, or None."""
        return self.model[0] if len(getattr(self.model, "steps", ())) > 1 else None

    @property
    def takes_tables(self) -> bool:
        """Whether it knows columns by their names."""
        return hasattr(self.model, "feature_names_in_")

    @property
    def of_label_sets(self) -> bool:
        """Whether rows of labels are its sets, not groups of them."""
        from setloss.estimators.set_layout import rows_are_sets

        return rows_are_sets(self.estimator)

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


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline, or the model itself."""
    return model[-1] if hasattr(model, "steps") else model


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
