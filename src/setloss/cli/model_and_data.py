"""The files of a command: a model, and data that are found in a file by the names that the model knows."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import InputError, LossOptions, names_in, panel_option, refusing, say
from setloss.io import DatasetError, LabelSets, Tracks, is_table_file, read, read_table
from setloss.io.data import listed, require_names
from setloss.io.models import ModelFileError, load
from setloss.io.tables import TABLES, bag_ids

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")]
TrustedOption = Annotated[str | None, typer.Option(help="Packages that the model may hold, as xgboost,lightgbm.")]

_option = partial(panel_option, "Reading DATA: more")


# ------------------------------------------------------------------ the model


@dataclass(frozen=True)
class Source:
    """Names in the data that a model was trained on, beside those that its encoder knows; None where there are none.

    `columns` hold the labels: one for each of `labels`, all of them with the `separator` between, or that of tracks.
    """

    features: list[str] | None = None
    labels: list[str] | None = None
    columns: list[str] | None = None
    separator: str | None = None
    group: str = "group"

    @classmethod
    def of(cls, examples: LabelSets | Tracks, options: "DataOptions") -> "Source":
        """The names in the data of a training."""
        features = None if hasattr(examples.X, "columns") else list(examples.feature_names or ())
        if isinstance(examples, Tracks):
            return cls(features, columns=[options.label or "label"], group=options.group or "group")
        names = list(examples.label_names)
        column, separator = (None, None) if examples.cell is None else examples.cell
        return cls(features, names, names if column is None else [column], separator)


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
    of_label_sets: bool

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
            steps = [step for _, step in getattr(model, "steps", [("", model)])]
            estimator, encoder = steps[-1], steps[0] if len(steps) > 1 else None
            features, labels = (
                list(getattr(part, name)) if hasattr(part, name) else None
                for part, name in ((model, "feature_names_in_"), (estimator, "label_names_"))
            )
            source = Source(**getattr(model, "source_", {"features": features, "labels": labels, "columns": labels}))
            decides, known = hasattr(estimator, "decision_"), getattr(estimator, "_labels", None)
            trained = cls(model, estimator, encoder, source, decides, known is None or not known.flat)
        if not trained.decides and not hasattr(estimator, "loss"):
            raise InputError(f"{path} gives scores and decides nothing; save SetDecisionCV around the classifier")
        if not trained.decides and loss != LossOptions():
            raise InputError("--loss is for models that decide for the set; this one goes by the signs of its scores")
        if loss != LossOptions():
            estimator.set_params(loss=loss.read())
        return trained

    def prepared(self, rows: Any) -> tuple[Any, dict[str, Any]]:
        """Features as the estimator takes them, and what its methods take beside: of tracks, the groups."""
        X = rows.X if self.encoder is None else self.model[:-1].transform(rows.X)
        if self.of_label_sets:
            return X, {}
        if rows.groups is None:
            raise InputError(
                f"the model decides for whole bags, and no column {self.source.group!r} names them; give --group"
            )
        return X, {"groups": rows.groups}


@contextmanager
def in_use(model: Path, data: Path) -> Iterator[None]:
    """Errors of a model at work, in words: bad values are the data's, parts that do not fit are the model's."""
    misfit = f"{model} does not fit together, or not with {data}; train the model anew: "
    with refusing(misfit, AttributeError, LookupError, ArithmeticError), refusing(f"{data}: ", ValueError, TypeError):
        yield


# ------------------------------------------------------------------ the data


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[Path, typer.Argument(metavar="DATA", help="A .csv, .tsv, .parquet or .arff file.")]
    labels: Annotated[
        str | None,
        typer.Option(
            help="Column with all labels of a row, prefix or names of columns; arff: XML file, or how many."
        ),
    ] = None
    separator: Annotated[str | None, _option("Sign between labels in one cell.", show_default="; | or ,")] = None
    group: Annotated[str | None, _option("Tracks: column of the bag.", show_default="group")] = None
    label: Annotated[str | None, _option("Tracks: column of the label.", show_default="label")] = None
    ignore: Annotated[str | None, _option("Columns to leave out.", metavar="NAME,...")] = None

    def read(self) -> LabelSets | Tracks:
        """Examples to train on; X is a DataFrame where the file is a table."""
        with _in_options():
            data = self._read({})
        if not has_labels(data):
            raise InputError(f"{self.data} has no labels; --labels says which they are")
        return data

    def read_for(self, model: TrainedModel, *, labels: bool) -> LabelSets | Tracks:
        """Rows for a model, whose columns are found by the names that it knows; with `labels`, also those it has."""
        with _in_options():
            is_table, was_table = is_table_file(self.data), hasattr(model.model, "feature_names_in_")
            if is_table != was_table:
                kind, suffixes = ("a table", ", ".join(TABLES)) if was_table else ("arrays", ".arff")
                raise InputError(f"the model was trained on {kind}, and {self.data} is none; give {suffixes}")
            data = self._table_for(model, labels) if is_table else self._read({} if labels else {"labels": 0})
            if isinstance(data, LabelSets) != model.of_label_sets:
                kinds = ("tracks", "label sets") if model.of_label_sets else ("label sets", "tracks")
                raise InputError(f"{self.data} holds {kinds[0]} and the model was trained on {kinds[1]}")
            if labels and isinstance(data, LabelSets) and has_labels(data):
                data = self._with_labels_of(model.source.labels or [], data)
            names, wanted = data.feature_names or (), model.source.features
            if wanted is None:
                return data
            require_names(self.data, names, wanted, "the features of the model")
            X = data.X[wanted] if is_table else data.X[:, [names.index(name) for name in wanted]]
            return replace(data, X=X)

    def _table_for(self, model: TrainedModel, labels: bool) -> LabelSets | Tracks:
        source, group = model.source, self.group or model.source.group
        wanted = [self.label] if self.label is not None else source.columns or ["label"]
        frame = read_table(self.data, text=[name for name in (getattr(model.encoder, "id_", None), group) if name])
        if labels and (self.labels is not None or not set(wanted).isdisjoint(frame.columns)):
            known = {"labels": wanted, "separator": source.separator}
            if not model.of_label_sets:
                known = {"group": group, "label": wanted[0]}
            return self._read(known if self.labels is None else {})
        if model.of_label_sets:
            return LabelSets(frame, np.empty((len(frame), 0)), tuple(frame.columns), ())
        groups = bag_ids(frame[group], self.data) if group in frame else None
        return Tracks(frame, None, groups, tuple(frame.columns))

    def _with_labels_of(self, names: list[str], data: LabelSets) -> LabelSets:
        """Labels in the order of the model; those that it does not know are named and left out."""
        from pandas import DataFrame

        there = list(data.label_names)
        strange = [name for name in there if name not in names]
        if len(strange) == len(there) and (names or data.cell is not None):
            known = f"which knows {listed(names)}" if names else "which knows its labels by number only"
            raise InputError(f"{self.data} has no label of the model, {known}; the file has {listed(strange)}")
        if not names:
            return data
        if data.cell is None:
            require_names(self.data, there, names, "the labels of the model")
        if strange:
            say(f"{self.data} has labels that the model does not know, which do not count: {listed(strange)}")
        dense = data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y
        Y = DataFrame(dense, columns=there).reindex(columns=names, fill_value=0).to_numpy()
        return replace(data, Y=Y, label_names=tuple(names))

    def _read(self, known: dict[str, Any]) -> LabelSets | Tracks:
        """The file by the options, and by what is `known` where they say nothing."""
        labels: Any = self.labels
        if labels is not None and is_table_file(self.data):
            labels = names_in(labels) if "," in labels else labels
        elif labels is not None and labels.isdecimal():
            labels = int(labels)
        ignore = None if self.ignore is None else names_in(self.ignore)
        given = {"labels": labels, "group": self.group, "label": self.label, "ignore": ignore}
        given["separator"] = self.separator
        return read(self.data, **(known | {name: value for name, value in given.items() if value is not None}))


@contextmanager
def _in_options() -> Iterator[None]:
    """Errors of readers as bad input: they speak of ``labels=``, the command line of --labels."""
    try:
        yield
    except DatasetError as error:
        raise InputError(re.sub(r"\b(labels|group|label|ignore|separator)=(?!\w)", r"--\1", str(error))) from None


def has_labels(data: LabelSets | Tracks) -> bool:
    """Whether a file had labels."""
    return data.Y.shape[1] > 0 if isinstance(data, LabelSets) else data.y is not None
