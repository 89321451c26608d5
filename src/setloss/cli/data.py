"""The data file of a command and how to read it: to train on, to evaluate a model on, or to predict on."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from setloss.cli.commands import InputError, names_in, panel_option
from setloss.cli.models import Source
from setloss.io import SVMLIGHT, DatasetError, LabelSets, Tracks, read, read_table
from setloss.io.data import Features, require_names
from setloss.io.npz import read_npz_features
from setloss.io.tables import SUFFIXES as TABLES
from setloss.io.tables import bag_ids

STANDARD_INPUT = "-"
OPTIONS = ("labels", "group", "label", "ignore", "features", "first_label", "first_feature")

_option = partial(panel_option, "Reading DATA")


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Label sets or tracks: .csv, .tsv, .parquet, .arff, .npz or .svm (.svmlight, .libsvm, .txt); - is "
            "CSV on standard input.",
        ),
    ]
    labels: Annotated[
        str | None,
        _option(
            "Label sets. csv, parquet: prefix of the label columns, or their names with commas between; arff: the "
            "XML file, or the number of labels; svm: the number of labels."
        ),
    ] = None
    group: Annotated[str | None, _option("Tracks in csv, parquet: column of the bag.", show_default="group")] = None
    label: Annotated[str | None, _option("Tracks in csv, parquet: column of the label.", show_default="label")] = None
    ignore: Annotated[str | None, _option("csv, parquet: columns to leave out.", metavar="NAME,...")] = None
    features: Annotated[int | None, _option("svm: the number of features.")] = None
    first_label: Annotated[int | None, _option("svm: label ids start with 0 or 1.")] = None
    first_feature: Annotated[int | None, _option("svm: feature indices start with 0 or 1.")] = None

    def read(self) -> LabelSets | Tracks:
        """Examples to train on; X is a DataFrame where the file is a table."""
        found = self._read({})
        if isinstance(found, LabelSets) and found.Y.shape[1] == 0:
            raise InputError(f"{self.data} has no labels; --labels says which they are")
        return found

    def read_for(self, source: Source) -> LabelSets | Tracks:
        """Examples with labels for a model, whose columns are found by the names that it knows."""
        known: dict[str, Any] = {}
        if self.is_table and self.labels is self.group is self.label is None:
            known = {"labels": source.labels, "group": source.group, "label": source.label}
        elif self._suffix in SVMLIGHT:
            known = {"features": source.width, "labels": source.label_count}
        found = self._read(known)
        self._require_kind("label sets" if hasattr(found, "Y") else "tracks", source)
        return found if self.is_table else replace(found, X=self._matched(found, source).X)

    def read_rows(self, source: Source) -> Features:
        """Rows to predict on, whose labels are ignored and may be missing; X of a table is a DataFrame."""
        if self.is_table:
            with self._file() as file:
                group = self.group or source.group or "group"
                frame = read_table(file, text=[name for name in (source.id, group) if name is not None])
                bags = not source.of_label_sets and group in frame
                return Features(frame, bag_ids(frame[group], file) if bags else None, None)
        if self._suffix == ".npz":
            with self._file() as file:
                found, kind = read_npz_features(file)
            self._require_kind(kind, source)
            return self._matched(found, source)
        if self._suffix in SVMLIGHT:
            # One more label id from 0 has room for both ways to number labels, and for files without any.
            room = {"labels": source.label_count + 1, "first_label": 0}
            told = self.labels is not None or self.first_label is not None
            return Features(self._read({"features": source.width} | ({} if told else room)).X, None, None)
        return self._matched(self._read({"labels": 0}), source)

    def has_labels(self, source: Source) -> bool:
        """Whether a table or an archive has labels, or some option names them."""
        if self.labels is not None or self.label is not None:
            return True
        with self._file() as file:
            if self.is_table:
                wanted = source.labels if source.of_label_sets else (source.label or "label",)
                return not set(wanted or ()).isdisjoint(read_table(file).columns)
            return self._suffix != ".npz" or read_npz_features(file)[1] != "features"

    def _require_kind(self, kind: str, source: Source) -> None:
        model = "label sets" if source.of_label_sets else "tracks"
        if kind not in ("features", model):
            raise InputError(f"{self.data} holds {kind} and the model was trained on {model}")

    def _matched(self, found: Any, source: Source) -> Features:
        """The columns that the model knows by name, in its order; all where either side has no names."""
        X, present, wanted = found.X, found.feature_names, source.features
        if present is not None and wanted is not None:
            with self._in_options():
                require_names(self.data, present, wanted, "the features of the model")
            X = X[:, [present.index(name) for name in wanted]]
        return Features(X, getattr(found, "groups", None), None)

    @property
    def is_table(self) -> bool:
        """Whether the file has named columns."""
        return self._suffix in TABLES

    @property
    def _suffix(self) -> str:
        return ".csv" if str(self.data) == STANDARD_INPUT else self.data.suffix.lower()

    def _read(self, known: dict[str, Any]) -> LabelSets | Tracks:
        given = {name: getattr(self, name) for name in OPTIONS}
        given |= {"labels": self._labels(), "ignore": None if self.ignore is None else names_in(self.ignore)}
        options = known | {name: value for name, value in given.items() if value is not None}
        options = {name: value for name, value in options.items() if value is not None}
        with self._file() as file:
            return read(file, **options)

    def _labels(self) -> Any:
        """A number, a path, a prefix or names, as the kind of file takes it."""
        if self.labels is None or (self.is_table and "," not in self.labels):
            return self.labels
        if self.is_table:
            return names_in(self.labels)
        if not self.labels.isdecimal() and self._suffix in SVMLIGHT:
            raise InputError(f"--labels is the number of labels for a {self._suffix} file; got {self.labels!r}")
        return int(self.labels) if self.labels.isdecimal() else self.labels

    @cached_property
    def _standard_input(self) -> bytes:
        return sys.stdin.buffer.read()

    @contextmanager
    def _file(self) -> Iterator[Path]:
        """The data file, or a copy of standard input; errors of readers are bad input."""
        with self._in_options():
            if str(self.data) != STANDARD_INPUT:
                yield self.data
                return
            with TemporaryDirectory() as folder:
                file = Path(folder) / "standard input.csv"
                file.write_bytes(self._standard_input)
                yield file

    @contextmanager
    def _in_options(self) -> Iterator[None]:
        """Errors of readers as bad input: they speak of ``first_label=``, the command line of --first-label."""
        try:
            yield
        except DatasetError as error:
            said = re.sub(r"\S*/(standard input)\.csv", r"\1", str(error))
            raise InputError(re.sub(rf"\b({'|'.join(OPTIONS)})=(\w?)", _as_option, said)) from None


def _as_option(match: re.Match[str]) -> str:
    return f"--{match[1].replace('_', '-')}{' ' if match[2] else ''}{match[2]}"
