"""The data file of a command and how to read it: to train on, to evaluate a model on, or to predict on."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import InputError, names_in, panel_option, say
from setloss.cli.model_file import TrainedModel
from setloss.io import SVMLIGHT, DatasetError, LabelSets, Tracks, read, read_table
from setloss.io.data import listed, require_names
from setloss.io.tables import SUFFIXES as TABLES
from setloss.io.tables import bag_ids

_option = partial(panel_option, "Reading DATA: more")


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[Path, typer.Argument(metavar="DATA", help="A .csv, .tsv, .parquet, .arff, .npz or .svm file.")]
    labels: Annotated[
        str | None,
        panel_option(
            "Options",
            "Column with all labels of a row, or prefix or names of label columns; arff: the XML file, or how many.",
        ),
    ] = None
    separator: Annotated[str | None, _option("Sign between labels in one cell.", show_default="found: ; | or ,")] = (
        None
    )
    group: Annotated[str | None, _option("Tracks in csv, parquet: column of the bag.", show_default="group")] = None
    label: Annotated[str | None, _option("Tracks in csv, parquet: column of the label.", show_default="label")] = None
    ignore: Annotated[str | None, _option("csv, parquet: columns to leave out.", metavar="NAME,...")] = None

    def read(self) -> LabelSets | Tracks:
        """Examples to train on; X is a DataFrame where the file is a table."""
        with _in_options():
            found = self._read({})
        if not has_labels(found):
            raise InputError(f"{self.data} has no labels; --labels says which they are")
        return found

    def read_for(self, model: TrainedModel, *, labels: bool) -> LabelSets | Tracks:
        """Rows for a model, whose columns are found by the names that it knows; with `labels`, also those it has."""
        if self.is_table != model.takes_tables:
            kind, files = ("table", ", ".join(TABLES)) if model.takes_tables else ("array", ".npz, .arff, .svm")
            raise InputError(f"the model was trained on a {kind} of features, and {self.data} is none; give {files}")
        with _in_options():
            found = self._read_table_for(model, labels) if self.is_table else self._read_array_for(model, labels)
            if isinstance(found, LabelSets) != model.of_label_sets and (has_labels(found) or self.is_table):
                kinds = ("label sets", "tracks") if isinstance(found, LabelSets) else ("tracks", "label sets")
                raise InputError(f"{self.data} holds {kinds[0]} and the model was trained on {kinds[1]}")
            names, wanted = found.feature_names, model.source.features
            if wanted is None or names is None:
                return found
            require_names(self.data, names, wanted, "the features of the model")
            if self.is_table:
                return replace(found, X=found.X[wanted])
            return replace(found, X=found.X[:, [names.index(name) for name in wanted]])

    def _read_array_for(self, model: TrainedModel, labels: bool) -> LabelSets | Tracks:
        if self._suffix in SVMLIGHT:
            width = getattr(model.model, "n_features_in_", None)
            return self._read({"features": width, "labels": model.source.labels if labels else None})
        return self._read({"labels": 0} if self._suffix == ".arff" and not labels else {})

    def _read_table_for(self, model: TrainedModel, labels: bool) -> LabelSets | Tracks:
        source = model.source
        group, label = self.group or source.group, self.label or source.label
        if not model.of_label_sets:
            known, wanted = dict[str, Any](group=group, label=label), [label]
        elif source.cell is not None:
            known, wanted = dict(zip(("labels", "separator"), source.cell, strict=True)), source.cell[:1]
        else:
            known, wanted = {"labels": source.labels}, source.labels or []
        frame = read_table(self.data, text=[name for name in (getattr(model.encoder, "id_", None), group) if name])
        if labels and (self.labels or self.label or not set(wanted).isdisjoint(frame.columns)):
            found = self._read(known if self.labels is None else {})
            return self._with_labels_of(source.labels or [], found) if isinstance(found, LabelSets) else found
        if model.of_label_sets:
            return LabelSets(frame, np.empty((len(frame), 0)), tuple(frame.columns), ())
        groups = bag_ids(frame[group], self.data) if group in frame else None
        return Tracks(frame, None, groups, tuple(frame.columns))

    def _with_labels_of(self, names: list[str], found: LabelSets) -> LabelSets:
        """Labels in the order of the model; those that it does not know are named and left out."""
        from pandas import DataFrame

        there = list(found.label_names)
        strange = [name for name in there if name not in names]
        if len(strange) == len(there) and (names or found.cell is not None):
            known = f"which knows {listed(names)}" if names else "which knows its labels by number only"
            raise InputError(f"{self.data} has no label of the model, {known}; the file has {listed(strange)}")
        if not names:
            return found
        if found.cell is None:
            require_names(self.data, there, names, "the labels of the model")
        if strange:
            say(f"{self.data} has labels that the model does not know, which do not count: {listed(strange)}")
        dense = found.Y.toarray() if hasattr(found.Y, "toarray") else found.Y
        Y = DataFrame(dense, columns=there).reindex(columns=names, fill_value=0).to_numpy()
        return replace(found, Y=Y, label_names=tuple(names))

    @property
    def is_table(self) -> bool:
        """Whether the file has named columns."""
        return self._suffix in TABLES

    @property
    def _suffix(self) -> str:
        return self.data.suffix.lower()

    def _read(self, known: dict[str, Any]) -> LabelSets | Tracks:
        given: dict[str, Any] = {"group": self.group, "label": self.label, "separator": self.separator}
        given |= {"labels": self._labels(), "ignore": None if self.ignore is None else names_in(self.ignore)}
        return read(self.data, **(known | {name: value for name, value in given.items() if value is not None}))

    def _labels(self) -> Any:
        """A number, a path, a prefix or names, as the kind of file takes it."""
        if self.labels is None or (self.is_table and "," not in self.labels):
            return self.labels
        if self.is_table or self._suffix in SVMLIGHT:
            return names_in(self.labels)
        return int(self.labels) if self.labels.isdecimal() else self.labels


@contextmanager
def _in_options() -> Iterator[None]:
    """Errors of readers as bad input: they speak of ``labels=``, the command line of --labels."""
    try:
        yield
    except DatasetError as error:
        raise InputError(
            re.sub(r"\b(labels|group|label|ignore|features|separator)=(?!\w)", r"--\1", str(error))
        ) from None


def has_labels(found: LabelSets | Tracks) -> bool:
    """Whether a file had labels."""
    return found.Y.shape[1] > 0 if isinstance(found, LabelSets) else found.y is not None
