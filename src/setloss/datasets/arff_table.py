"""ARFF files as tables of numbers: the declared attributes, then the rows, dense or sparse."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from setloss.datasets.checks import is_number, listed, refuse_repeats, shown, whole
from setloss.datasets.data import DatasetError
from setloss.datasets.quoting import split, unescaped, unquoted, without_comment

NUMERIC = ("numeric", "real", "integer")

_DECLARATION = re.compile(
    r"""@attribute\s++(?:'((?:[^'\\]|\\.)*+)'|"((?:[^"\\]|\\.)*+)"|([^\s{'"]\S*+))\s*+(.*)""", re.IGNORECASE
)
_WEIGHT = re.compile(r"\}\s*+,\s*+\{[^{}]*+\}$")


@dataclass(frozen=True)
class Attribute:
    """A column: its name, and its declared values if it is nominal."""

    name: str
    values: tuple[str, ...] | None

    @property
    def is_number(self) -> bool:
        """Whether the codes of the column are its values."""
        return self.values is None or self.values == ("0", "1")

    @property
    def code(self) -> Callable[[str], float]:
        """Cell -> number: its value, or its place among the declared ones."""
        if self.values is None:
            return float
        return {value: float(place) for place, value in enumerate(self.values)}.__getitem__

    def numbers(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Codes -> values, where the declared values are numbers."""
        if self.is_number or self.values is None:
            return codes
        known = ~np.isnan(codes)
        values = np.full_like(codes, np.nan)
        values[known] = np.array([float(v) for v in self.values])[codes[known].astype(np.intp)]
        return values


@dataclass(frozen=True)
class ArffTable:
    """The rows of a file as codes, dense or CSC, and the line of every row."""

    path: Path
    attributes: tuple[Attribute, ...]
    codes: Any
    lines: array[int] = field(repr=False)

    @property
    def sparse(self) -> bool:
        return not isinstance(self.codes, np.ndarray)

    def place(self, row: int, name: str) -> str:
        return f"line {self.lines[row]}, column {shown(name)} of {self.path}"

    def columns(self, which: Sequence[int]) -> Any:
        """Some of the columns, in the form of the file."""
        return self.codes[:, which]

    def dense_columns(self, which: Sequence[int]) -> NDArray[np.float64]:
        """Some of the columns, dense."""
        columns = self.columns(which)
        return np.asarray(columns.toarray() if self.sparse else columns, dtype=np.float64)


def read_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[Attribute, ...]:
    """The declared attributes; `lines` are left at the first row."""
    attributes = []
    for number, line in lines:
        word = line.split(None, 1)[0].lower() if line else "%"
        if word == "@data":
            break
        if word == "@attribute":
            attributes.append(_declared(f"line {number} of {path}", line))
        elif not (word.startswith("%") or word == "@relation"):
            raise DatasetError(
                f"line {number} of {path} is {shown(line)}, where @relation, @attribute or @data is expected; "
                "this is not the header of an ARFF file"
            )
    else:
        raise DatasetError(f"{path} has no line @data; the file may be truncated")
    if not attributes:
        raise DatasetError(f"{path} declares no attributes; it needs lines like @attribute name numeric")
    refuse_repeats(path, [a.name for a in attributes], "attributes")
    return tuple(attributes)


def _declared(place: str, line: str) -> Attribute:
    match = _DECLARATION.fullmatch(line)
    if match is None:
        raise DatasetError(f"{place} is {shown(line)}; write @attribute name type, a name with blanks in quotes")
    single, double, plain, kind = match.groups()
    name = plain if plain is not None else unescaped(single if single is not None else double)
    kind = without_comment(kind).strip()
    if kind.lower() in NUMERIC:
        return Attribute(name, None)
    if kind.startswith("{") and kind.endswith("}"):
        values = tuple(unquoted(cell) for cell in split(place, kind[1:-1]))
        if "" in values or len(set(values)) < len(values):
            raise DatasetError(
                f"{place} declares {shown(name)} with an empty or repeated value; list each value once"
            )
        return Attribute(name, values)
    raise DatasetError(
        f"{place} declares {shown(name)} as {shown(kind)}; attributes are numeric, real, integer or "
        "nominal {a, b, ...}, remove the others"
    )


def read_rows(
    path: Path, lines: Iterator[tuple[int, str]], attributes: tuple[Attribute, ...], labels: Sequence[int]
) -> ArffTable:
    """The rows after @data; a missing value is allowed in the columns `labels` only."""
    rows = _Rows(path, attributes, frozenset(labels))
    for number, line in lines:
        text = without_comment(line).strip()
        if text:
            rows.add(number, text)
    if not rows.lines:
        raise DatasetError(f"{path} has no rows after @data; the file may be truncated")
    return ArffTable(path, attributes, rows.matrix(), rows.lines)


class _Rows:
    """Rows read so far; a row converts cell by cell at once, and slowly, for the message, where that fails."""

    def __init__(self, path: Path, attributes: tuple[Attribute, ...], labels: frozenset[int]) -> None:
        self.path, self.attributes, self.labels = path, attributes, labels
        self.codes = [attribute.code for attribute in attributes]
        self.data, self.indices, self.ends = array("d"), array("q"), array("q", [0])
        self.lines = array("q")
        self.sparse = False

    def add(self, number: int, text: str) -> None:
        place = f"line {number} of {self.path}"
        sparse = text.startswith("{")
        if not self.lines:
            self.sparse = sparse
        elif sparse != self.sparse:
            now, before = ("sparse", "dense") if sparse else ("dense", "sparse")
            raise DatasetError(f"{place} is {now} and the rows before are {before}; use one form in a file")
        cells = self._sparse_cells(place, text) if sparse else self._dense_cells(place, text)
        columns = self.indices[self.ends[-1] :] if sparse else range(len(self.attributes))
        try:
            if "_" in text:
                raise ValueError
            self.data.extend([self.codes[j](cell) for j, cell in zip(columns, cells, strict=True)])
        except (ValueError, KeyError):
            self.data.extend([self._careful(number, j, cell) for j, cell in zip(columns, cells, strict=True)])
        self.ends.append(len(self.data))
        self.lines.append(number)

    def matrix(self) -> Any:
        shape = (len(self.lines), len(self.attributes))
        data = np.array(self.data, dtype=np.float64)
        if not self.sparse:
            return data.reshape(shape)
        from scipy.sparse import csr_array

        small = np.int32 if len(data) < 2**31 else np.int64
        parts = (data, np.array(self.indices, dtype=small), np.array(self.ends, dtype=small))
        return csr_array(parts, shape=shape).tocsc()

    def _dense_cells(self, place: str, text: str) -> list[str]:
        cells = split(place, text)
        if len(cells) == len(self.attributes) + 1 and cells[-1].startswith("{"):
            raise DatasetError(f"{place} ends with a weight; weights of rows are not supported, remove them")
        if len(cells) != len(self.attributes):
            raise DatasetError(
                f"{place} has {len(cells)} cells and there are {len(self.attributes)} attributes; "
                "cells are separated by commas, and the file may be truncated here"
            )
        return cells

    def _sparse_cells(self, place: str, text: str) -> list[str]:
        """The cells of a sparse row; their columns go to `indices`."""
        if _WEIGHT.search(text):
            raise DatasetError(f"{place} ends with a weight; weights of rows are not supported, remove them")
        if not text.endswith("}"):
            raise DatasetError(f"{place} starts with {{ and does not end with }}; the file may be truncated here")
        inside = text[1:-1].strip()
        cells = []
        for item in split(place, inside) if inside else ():
            index, *rest = item.split(None, 1) or [""]
            column = whole(index)
            if column is None or not rest:
                raise DatasetError(f"{place} has {shown(item)} where a column number and a value are expected")
            if not 0 <= column < len(self.attributes):
                raise DatasetError(
                    f"{place} has column {index}, out of range for {len(self.attributes)} attributes (from 0)"
                )
            self.indices.append(column)
            cells.append(rest[0])
        mine = self.indices[self.ends[-1] :]
        if len(set(mine)) < len(mine):
            twice = Counter(mine).most_common(1)[0][0]
            raise DatasetError(
                f"{place} has column {twice} ({shown(self.attributes[twice].name)}) twice; keep one of them"
            )
        return cells

    def _careful(self, line: int, j: int, cell: str) -> float:
        attribute, value = self.attributes[j], unquoted(cell)
        if cell == "?" and j in self.labels:
            return float("nan")
        if attribute.values is None and is_number(value):
            return float(value)
        if attribute.values is not None:
            with suppress(KeyError):
                return self.codes[j](value)
        self._refuse(f"line {line}, column {shown(attribute.name)} of {self.path}", cell, attribute)

    def _refuse(self, place: str, cell: str, attribute: Attribute) -> NoReturn:
        if cell == "?":
            raise DatasetError(f"{place} is missing (?); only labels may be, impute or remove the row")
        if not cell:
            raise DatasetError(f"{place} is empty; a missing label is written as ?")
        if attribute.values is None:
            raise DatasetError(f"{place} is {shown(cell)}, not a number; the attribute is declared numeric")
        raise DatasetError(f"{place} is {shown(cell)}, not one of the declared values {listed(attribute.values)}")
