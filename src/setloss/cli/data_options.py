"""The data file of a command and how to read it: to train on, to evaluate a model on, or to predict on."""

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from setloss.cli.commands import names_in
from setloss.cli.errors import InputError
from setloss.cli.models import (
    ModelColumns,
    check_feature_count,
    check_kind,
    label_count,
    say_what_differs,
    with_features_of,
)
from setloss.files import not_a_file

if TYPE_CHECKING:
    from setloss.io import Features, LabelSets, Tracks

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
TABLES = (".csv", ".tsv", ".parquet")
STANDARD_INPUT = "-"
PANEL = "Reading DATA"


@dataclass(frozen=True)
class DataOptions:
    """A data file and how to read it, as given."""

    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Label sets or tracks: .svm (.svmlight, .libsvm, .txt), .arff, .npz, .csv, .tsv or .parquet; - is "
            "CSV on standard input.",
        ),
    ]
    labels: Annotated[
        str | None,
        typer.Option(
            help="Label sets. csv, parquet: prefix of the label columns, or their names with commas between; "
            "arff: the XML file, or the number of labels; svm: the number of labels.",
            rich_help_panel=PANEL,
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(help="Tracks in csv, parquet: column of the bag.", show_default="group", rich_help_panel=PANEL),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Tracks in csv, parquet: column of the label.", show_default="label", rich_help_panel=PANEL
        ),
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            help="csv, parquet: columns that are no features, as id,date.",
            metavar="NAME,...",
            rich_help_panel=PANEL,
        ),
    ] = None
    features: Annotated[int | None, typer.Option(help="svm: the number of features.", rich_help_panel=PANEL)] = None
    first_label: Annotated[
        int | None, typer.Option(help="svm: label ids start with 0 or 1.", rich_help_panel=PANEL)
    ] = None
    first_feature: Annotated[
        int | None, typer.Option(help="svm: feature indices start with 0 or 1.", rich_help_panel=PANEL)
    ] = None

    def read(self) -> "LabelSets | Tracks":
        """What the file holds, or an `InputError`."""
        with self._file() as file:
            return self._load(file, {})

    def read_for(self, model: Any, model_path: Path) -> "LabelSets | Tracks":
        """The same with the features and labels of a model, which may know the names of its columns."""
        columns = ModelColumns.of(model)
        known: dict[str, Any] = {}
        if self._suffix in SVMLIGHT:
            known = {"features": model.n_features_in_, "labels": label_count(model)}
        with self._file() as file:
            if self._suffix in TABLES:
                known = self._known_columns(file, columns)
            examples = self._load(file, known)
        check_kind(examples, self.data, model, model_path)
        return with_features_of(model, model_path, examples, self.data)

    def read_features(self, model: Any, model_path: Path) -> "Features":
        """The features of a model, from a file whose labels are ignored and may be missing."""
        from setloss.io import Features

        with self._file() as file:
            if self._suffix in SVMLIGHT:
                # One more label id from 0 has room for both ways to number labels, and for files without any.
                room = {"features": model.n_features_in_, "labels": label_count(model) + 1, "first_label": 0}
                told = self.labels is not None or self.first_label is not None
                examples = self._load(file, {"features": model.n_features_in_} if told else room)
                found = Features(examples.X, None, None)
            else:
                found = self._load_features(file, ModelColumns.of(model))
        check_feature_count(found, self.data, model, model_path)
        say_what_differs(found, self.data)
        return found

    def _known_columns(self, file: Path, model: ModelColumns) -> dict[str, Any]:
        """How to read a table for a model: its labels and bags by name, and what is neither is ignored."""
        columns = self._column_names(file)
        named = self.labels is not None or self.group is not None or self.label is not None
        model.check_table(self.data, columns, named)
        known: dict[str, Any] = {}
        if not named:
            known = {"labels": model.labels} if model.of_label_sets else {"group": model.group, "label": model.label}
        chosen = self._labels() if named else model.labels
        if isinstance(chosen, str):  # a prefix
            chosen = [name for name in columns if name.startswith(chosen)]
        labels = set(chosen or ())
        bags = {self.group or model.group or "group", self.label or model.label or "label"}
        targets = labels if labels else bags
        strangers = [name for name in columns if name not in targets and not model.is_feature(name)]
        return known | {"ignore": [*strangers, *(name for name in self.ignored if name not in strangers)]}

    def _column_names(self, file: Path) -> list[str]:
        from setloss.io import DatasetError, read_table

        try:
            return [str(name) for name in read_table(file).columns]
        except DatasetError as error:
            raise InputError(self.in_options(str(error))) from None

    def _load_features(self, file: Path, model: ModelColumns) -> "Features":
        from setloss.io import DatasetError, read_features

        for option in ("labels", "group", "label", "ignore"):
            if self._suffix == ".npz" and getattr(self, option) is not None:
                raise InputError(f"--{option} has no meaning for a .npz file ({self.data}); leave it out")
        try:
            return read_features(
                file,
                model.features,
                tracks=not model.of_label_sets,
                group=self.bag_column(model, file),
                not_features=self.not_features(model),
            )
        except DatasetError as error:
            raise InputError(self.in_options(str(error))) from None

    def bag_column(self, model: ModelColumns, file: Path) -> str | None:
        """The column of the bag: as named now, or in training where the table has such a column."""
        if self.group is not None or model.group is None or self._suffix not in TABLES:
            return self.group
        return model.group if model.group in self._column_names(file) else None

    def not_features(self, model: ModelColumns) -> list[str]:
        """Columns of data to predict on that are labels, or to be ignored."""
        chosen = self.labels.split(",") if self.labels is not None else list(model.labels or ())
        return [*chosen, *([] if model.of_label_sets else [self.label or model.label or "label"]), *self.ignored]

    # ------------------------------------------------------------ the file

    @property
    def _suffix(self) -> str:
        return ".csv" if str(self.data) == STANDARD_INPUT else self.data.suffix.lower()

    @contextmanager
    def _file(self) -> Iterator[Path]:
        """The data file; standard input is copied into one first, for it is read more than once."""
        if str(self.data) != STANDARD_INPUT:
            yield self.data
            return
        with TemporaryDirectory() as folder:
            file = Path(folder) / "standard input.csv"
            with file.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            try:
                yield file
            except InputError as error:
                raise InputError(str(error).replace(str(file), "standard input")) from None

    def _load(self, file: Path, known: dict[str, Any]) -> "LabelSets | Tracks":
        from setloss.io import DatasetError, read

        if not_a_file(file) == "a folder":
            raise InputError(f"{file} is a folder; give one file (setloss.dask trains on folders of Parquet files)")
        given = {
            "labels": self._labels(),
            "group": self.group,
            "label": self.label,
            "ignore": self.ignored or None,
            "features": self.features,
            "first_label": self.first_label,
            "first_feature": self.first_feature,
        }
        options = known | {name: value for name, value in given.items() if value is not None}
        try:
            return read(file, **{name: value for name, value in options.items() if value is not None})
        except DatasetError as error:
            raise InputError(self.in_options(str(error))) from None

    @property
    def ignored(self) -> list[str]:
        """The columns that are no features."""
        return [] if self.ignore is None else names_in(self.ignore)

    def _labels(self) -> Any:
        """A number, a path, a prefix or names, as the kind of file takes it."""
        text, suffix = self.labels, self._suffix
        if text is None:
            return None
        if suffix in TABLES:
            return text.split(",") if "," in text else text
        if text.isdecimal():
            return int(text)
        if suffix in SVMLIGHT:
            raise InputError(f"--labels is the number of labels for a {suffix} file; got {text!r}")
        return text

    def in_options(self, sentence: str) -> str:
        """The readers speak of ``first_label=``, the command line of --first-label; paths stay as they are."""

        def option(match: re.Match[str]) -> str:
            return f"--{match[1].replace('_', '-')}{' ' if match[2] else ''}{match[2]}"

        path = str(self.data)
        pieces = sentence.split(path)
        pattern = r"\b(labels|group|label|ignore|features|first_label|first_feature)=(\w?)"
        return path.join(re.sub(pattern, option, piece) for piece in pieces)
