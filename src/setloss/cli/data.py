"""The data file of a command and how to read it: to train on, to evaluate a model on, or to predict on."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import InputError, names_in, panel_option, say
from setloss.cli.models import Source
from setloss.io import SVMLIGHT, DatasetError, LabelSets, Tracks, read, read_table
from setloss.io.data import listed, require_names
from setloss.io.tables import SUFFIXES as TABLES
from setloss.io.tables import bag_ids, plain_numbers

OPTIONS = ("labels", "group", "label", "ignore", "features", "separator")

_option = partial(panel_option, "Reading DATA: more")


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help=".csv, .tsv, .parquet, .arff, .npz or .svm (.svmlight, .libsvm, .txt).",
        ),
    ]
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

    def read_for(self, source: Source, *, labels: bool) -> LabelSets | Tracks:
        """Rows for a model, whose columns are found by the names that it knows; with `labels`, also those it has."""
        with _in_options():
            if self.is_table:
                return self._read_table_for(source, labels=labels)
            known: dict[str, Any] = {}
            if self._suffix in SVMLIGHT:
                known = {"features": source.width, "labels": source.labels if labels else None}
            elif self._suffix == ".arff" and not labels:
                known = {"labels": 0}
            found = self._read(known)
            kind, trained = (("tracks", "label sets")[sets] for sets in (hasattr(found, "Y"), source.of_label_sets))
            if kind != trained and (kind == "tracks" or has_labels(found)):
                raise InputError(f"{self.data} holds {kind} and the model was trained on {trained}")
            return replace(found, X=self._features_for(source, found.X, found.feature_names))

    def _features_for(self, source: Source, X: Any, present: Sequence[str] | None) -> Any:
        """Features as a model takes them: a table if it was trained on one, else an array in the order it knows."""
        wanted = source.features
        if source.of_table and not hasattr(X, "columns"):
            if present is None:
                raise InputError(
                    f"{self.data} names no columns and the model knows them by name; give a .csv or .parquet"
                )
            from pandas import DataFrame

            X = DataFrame(X.toarray() if hasattr(X, "toarray") else X, columns=list(present))
        if wanted is not None and present is not None:
            require_names(self.data, present, wanted, "the features of the model")
            X = X[list(wanted)] if hasattr(X, "columns") else X[:, [present.index(name) for name in wanted]]
        return X if source.of_table or not hasattr(X, "columns") else plain_numbers(X, self.data)

    def _read_table_for(self, source: Source, *, labels: bool) -> LabelSets | Tracks:
        group, label = self.group or source.group or "group", self.label or source.label or "label"
        frame = read_table(self.data, text=[group if source.id is None else source.id, group])
        roles: dict[str, Any] = {"group": group, "label": label}
        wanted: Sequence[str] = (label,)
        if source.cell is not None:
            wanted, roles = source.cell[:1], dict(zip(("labels", "separator"), source.cell, strict=True))
        elif source.of_label_sets:
            wanted = source.labels or ()
            roles = {"labels": wanted}
        told = self.labels is not None or self.label is not None
        if labels and (told or not set(wanted).isdisjoint(frame.columns)):
            found = self._read(roles if self.labels is None else {})
            if isinstance(found, LabelSets) and (found.cell is not None or source.labels):
                found = self._with_labels_of(source, found)
            return replace(found, X=self._features_for(source, found.X, found.feature_names))
        no_features = () if source.of_table else (*wanted, group)
        rest = frame.drop(columns=[name for name in no_features if name in frame])
        X = self._features_for(source, rest, list(rest.columns))
        if source.of_label_sets:
            return LabelSets(X, np.empty((len(frame), 0)), None, ())
        return Tracks(X, None, bag_ids(frame[group], self.data) if group in frame else None, None)

    def _with_labels_of(self, source: Source, found: LabelSets) -> LabelSets:
        """Labels in the order of the model; those that it does not know are named and left out."""
        names, there = source.labels or [], {name: j for j, name in enumerate(found.label_names)}
        strange = [name for name in there if name not in names]
        if len(strange) == len(there):
            known = f"which knows {listed(names)}" if names else "which knows its labels by number only"
            raise InputError(f"{self.data} has no label of the model, {known}; the file has {listed(strange)}")
        if found.cell is None:
            require_names(self.data, found.label_names, names, "the labels of the model")
        if strange:
            say(f"{self.data} has labels that the model does not know, which do not count: {listed(strange)}")
        Y = np.zeros((found.Y.shape[0], len(names)), dtype=found.Y.dtype)
        for j, name in enumerate(names):
            if name in there:
                Y[:, j] = np.ravel(found.Y[:, [there[name]]].sum(axis=1))
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
        options = known | {name: value for name, value in given.items() if value is not None}
        options = {name: value for name, value in options.items() if value is not None}
        return read(self.data, **options)

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
        raise InputError(re.sub(rf"\b({'|'.join(OPTIONS)})=(?!\w)", r"--\1", str(error))) from None


def has_labels(found: LabelSets | Tracks) -> bool:
    """Whether a file had labels."""
    return found.Y.shape[1] > 0 if isinstance(found, LabelSets) else found.y is not None
