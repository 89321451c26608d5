"""Columns of CSV and Parquet tables: which one is what, and where an entry stands in the file, for messages."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from setloss.datasets.checks import Place, is_number, listed, not_utf8, reason, refuse_repeats, shown
from setloss.datasets.data import DatasetError

ROWS_OF_A_LOOK = 100
"""Rows that are looked at to tell how numbers are written."""

MAX_CELL = 131_072
"""Most characters of a cell of a CSV file."""


@dataclass(frozen=True)
class Roles:
    """All columns, and those with a use; `group` is None in label sets, and tracks have one label."""

    names: tuple[str, ...]
    features: tuple[str, ...]
    labels: tuple[str, ...]
    group: str | None

    @property
    def used(self) -> frozenset[str]:
        """The columns that have a role."""
        return frozenset((*self.features, *self.labels, *(() if self.group is None else (self.group,))))


def roles_of(
    path: Path,
    names: Sequence[str],
    labels: str | Sequence[str] | None,
    group: str | None,
    label: str | None,
    ignore: Sequence[str] = (),
) -> Roles:
    """Tracks with a group and a label column, or label sets with label columns; the others are features.

    Columns in `ignore` are read past: they have no role.
    """
    refuse_repeats(path, names, "columns")
    every, names = names, _without(path, names, ignore)
    if labels is None:
        roles = _track_roles(path, names, group or "group", label or "label")
    elif group is not None or label is not None:
        raise DatasetError("labels= is for label sets, group= and label= are for tracks; give one or the other")
    else:
        chosen = _label_columns(path, names, labels)
        taken = set(chosen)
        roles = Roles(tuple(names), tuple(name for name in names if name not in taken), chosen, None)
    roles = replace(roles, names=tuple(every))
    if not roles.features:
        raise DatasetError(f"{path} has no columns of features; its columns are {listed(names)}")
    return roles


def _without(path: Path, names: Sequence[str], ignore: Sequence[str]) -> list[str]:
    absent = [name for name in ignore if name not in names]
    if absent:
        raise DatasetError(
            f"{path} has no column {shown(absent[0])} to ignore; its columns are {listed(names, like=absent[0])}"
        )
    return [name for name in names if name not in ignore]


def feature_roles(
    path: Path, names: Sequence[str], features: Sequence[str], group: str | None, *, tracks: bool
) -> Roles:
    """The features of a model, and for tracks the bag where there is a column for it; nothing else has a role."""
    refuse_repeats(path, names, "columns")
    absent = [name for name in features if name not in names]
    if absent:
        count = f"{len(absent)} columns" if len(absent) > 1 else "a column"
        raise DatasetError(
            f"{path} lacks {count} that the model was trained on: {listed(absent)}; its columns are "
            f"{listed(names, like=absent[0])}"
        )
    if group is not None and group not in names:
        raise DatasetError(
            f"{path} has no column {shown(group)} for the bag; its columns are {listed(names, like=group)}"
        )
    if group is None and tracks and "group" in names and "group" not in features:
        group = "group"
    return Roles(tuple(names), tuple(features), (), group)


def _track_roles(path: Path, names: Sequence[str], group: str, label: str) -> Roles:
    for column, option, what in ((group, "group", "bag"), (label, "label", "label")):
        if column not in names:
            raise DatasetError(
                f"{path} has no column {shown(column)}; name the column with the {what} of a frame with {option}=, "
                f"or, for label sets, the columns of labels with labels=; its columns are "
                f"{listed(names, like=column)}"
            )
    if group == label:
        raise DatasetError(f"group and label are both {shown(group)}; they are two columns of {path}")
    return Roles(tuple(names), tuple(n for n in names if n not in (group, label)), (label,), group)


def _label_columns(path: Path, names: Sequence[str], labels: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(labels, str):
        chosen = tuple(name for name in names if name.startswith(labels))
        if not (labels and chosen):
            raise DatasetError(f"no column of {path} starts with {shown(labels)}; its columns are {listed(names)}")
        return chosen
    if isinstance(labels, int):
        raise DatasetError(f"labels={labels} does not name columns of {path}; give their prefix or their names")
    there = set(names)
    absent = [name for name in labels if name not in there]
    if absent or not labels:
        raise DatasetError(
            f"{path} has no columns {listed(absent)} for labels; its columns are "
            f"{listed(names, like=absent[0] if absent else '')}"
        )
    refuse_repeats(path, labels, "labels in labels=")
    return tuple(labels)


@dataclass(frozen=True)
class Places:
    """Words for an entry: the row, from 1, and the name of the column."""

    path: Path
    roles: Roles

    def row(self, row: int) -> str:
        return f"row {row + 1}"

    def texts(self, column: str) -> Iterator[str]:
        """The cells of a column as they stand in the file, if it is a text file."""
        yield from ()

    def explain(self) -> None:
        """Raise for a fault of the file as a whole that explains a bad entry, if there is one."""

    def of(self, columns: Sequence[str]) -> Place:
        return lambda row, column=0: f"{self.row(row)}, column {shown(columns[column])} of {self.path}"


class CsvPlaces(Places):
    """Lines of a CSV file, found by reading it again: only for messages."""

    def row(self, row: int) -> str:
        for index, (line, _) in enumerate(csv_records(self.path)):
            if index == row + 1:  # after the names
                return f"line {line}"
        return super().row(row)

    def texts(self, column: str) -> Iterator[str]:
        place = self.roles.names.index(column)
        records = csv_records(self.path)
        next(records)
        for _, cells in records:
            yield cells[place]

    def explain(self) -> None:
        for line, cells in csv_records(self.path):
            if len(cells) != len(self.roles.names):
                raise DatasetError(
                    f"line {line} of {self.path} has {len(cells)} cells and the first row names "
                    f"{len(self.roles.names)} columns; every row has one cell per column, separated by commas"
                )


def delimiter_of(path: Path) -> str:
    """What separates cells: tabs in a .tsv file, else what the first row has most of, commas before semicolons."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline(MAX_CELL)
    except (OSError, UnicodeDecodeError):
        return ","  # the reader says what is wrong
    return max((",", ";", "\t"), key=first.count)


def decimal_of(path: Path) -> str:
    """A comma, if cells are separated by something else and one of the first rows has a number like 0,5 in it."""
    if delimiter_of(path) == ",":
        return "."
    cells = (cell for _, row in islice(csv_records(path), 1, ROWS_OF_A_LOOK) for cell in row)
    return "," if any(cell.count(",") == 1 and is_number(cell.replace(",", ".")) for cell in cells) else "."


def csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of every row of a CSV file but blank ones."""
    csv.field_size_limit(MAX_CELL)  # one for the whole process, which other readers change
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, delimiter=delimiter_of(path), strict=True)
            for cells in reader:
                if any(cell.strip() for cell in cells) or len(cells) > 1:
                    yield reader.line_num, cells
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table separated by commas: {reason(error)}") from None
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or reason(error)}") from None
