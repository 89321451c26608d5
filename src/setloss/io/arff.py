"""Mulan's multi-label data: a dense or sparse ARFF file, and an XML file that names the labels among its attributes.

The file is parsed by liac-arff. Attributes are numeric (real, integer) or nominal. A nominal feature declared {0, 1}
is a number; any other becomes one 0/1 column per declared value, named ``attribute=value``. Labels are nominal or
numeric in {0, 1} or {-1, +1}, in the order of the ARFF file. A ``?`` is a missing label or feature (NaN).

A sparse row ``{2 0.5, 7 1}`` leaves out zeros. As in Weka, that is the *first declared* value of a nominal
attribute: an omitted label declared {1, 0} is a 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from setloss.io.data import (
    DatasetError,
    Features,
    LabelSets,
    as_zero_one,
    existing_file,
    listed,
    reason,
    refuse_repeats,
    require_no_infinity,
    shown,
    with_small_indices,
)

_SPARSE_DATA = re.compile(r"^\s*@data[^\n]*\n(?:\s*%[^\n]*\n|\s*\n)*\s*\{", re.IGNORECASE | re.MULTILINE)
_SPLIT = re.compile(r"[-_.](train|test)$", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """An ARFF file: its attributes with their declared values (None for numbers), and one column of codes each.

    Columns are a dense array, or CSC of a sparse file; a nominal value stands for its place among the declared ones.
    """

    file: Path
    names: tuple[str, ...]
    values: tuple[tuple[str, ...] | None, ...]
    columns: Any

    def numbers(self, j: int) -> NDArray[Any]:
        """A column (n, 1) as numbers, also of nominal values that are numbers."""
        codes = self.codes(j)
        if self.values[j] is None:
            return codes
        declared = np.array([float(value) for value in self.values[j] or ()])
        return np.where(np.isnan(codes), np.nan, declared[np.nan_to_num(codes).astype(np.intp)])

    def features(self, j: int) -> tuple[tuple[str, ...], NDArray[Any]]:
        """The features that an attribute becomes, and their names."""
        name, declared = self.names[j], self.values[j]
        if declared is None or set(declared) <= {"0", "1"}:
            return (name,), self.numbers(j)
        codes = self.codes(j)
        columns = np.where(np.isnan(codes), np.nan, codes == np.arange(len(declared)))
        return tuple(f"{name}={value}" for value in declared), columns

    def codes(self, j: int) -> NDArray[Any]:
        """A column (n, 1) as it is, dense."""
        column = self.columns[:, [j]]
        return column if isinstance(column, np.ndarray) else np.asarray(column.toarray())


def read_arff(file: Path, *, labels: str | os.PathLike[str] | int | None = None) -> LabelSets:
    """Label sets from an ARFF file; X is dense or CSR as the file is, and `io.read` says the rest."""
    table = _read(file)
    chosen = _label_columns(table, labels)
    names = tuple(table.names[j] for j in chosen)
    Y = np.hstack([table.numbers(j) for j in chosen])
    Y = as_zero_one(Y, lambda row, j: f"row {row + 1}, label {shown(names[j])} of {file}", missing=True)
    X, features = _features(table, [j for j in range(len(table.names)) if j not in set(chosen)])
    return LabelSets(X, Y, features, names)


def read_arff_features(file: Path, names: Sequence[str] | None, not_features: Sequence[str] = ()) -> Features:
    """The features of an ARFF file whose labels may be missing; all that `names`, a model's features, could need."""
    table = _read(file)
    wanted = None if names is None else {*names, *(name.rpartition("=")[0] for name in names)}
    kept = [j for j, name in enumerate(table.names) if name not in not_features]
    kept = [j for j in kept if wanted is None or table.names[j] in wanted]
    if not kept:
        raise DatasetError(f"{file} has none of the model's features; its attributes are {listed(table.names)}")
    X, found = _features(table, kept)
    return Features(X, None, found)


def _read(file: Path) -> Table:
    try:
        import arff
    except ImportError:
        raise DatasetError(f"reading {file} needs liac-arff; install it with pip install 'setloss[io]'") from None
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{file} is not text in UTF-8 ({reason(error)}); convert or unpack it first") from None
    sparse = _SPARSE_DATA.search(text) is not None
    text = re.sub(r"(?im)^([ \t]*@\w+)[ \t]+", r"\1 ", text)  # liac-arff wants a blank there, and no tab
    try:
        content = arff.loads(text, encode_nominal=True, return_type=arff.LOD if sparse else arff.DENSE)
        attributes = content["attributes"]
        columns = _sparse(content["data"], len(attributes)) if sparse else np.array(content["data"], dtype=np.float64)
    except (arff.ArffException, ValueError, LookupError, TypeError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as ARFF: {reason(error)}; correct it there") from None
    if columns.shape[0] == 0:
        raise DatasetError(f"{file} has no rows after @data; it may be an unfinished download")
    for name, kind in attributes:
        if kind == "STRING":
            raise DatasetError(f"attribute {shown(name)} of {file} is text; declare its values, or remove it")
    values = tuple(tuple(map(str, kind)) if isinstance(kind, list) else None for _, kind in attributes)
    names = tuple(re.sub(r"\\(.)", r"\1", name) for name, _ in attributes)  # liac-arff leaves escapes in names
    return Table(file, names, values, columns)


def _sparse(rows: list[dict[int, Any]], width: int) -> Any:
    from scipy.sparse import csc_array

    places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    columns = np.array([j for row in rows for j in row], dtype=np.int64)
    data = np.array([value for row in rows for value in row.values()], dtype=np.float64)
    return csc_array((data, (places, columns)), shape=(len(rows), width))


def _features(table: Table, kept: Sequence[int]) -> tuple[Any, tuple[str, ...]]:
    """The features of the attributes `kept`, side by side, and their names."""
    from scipy.sparse import csr_array

    if all(table.values[j] in (None, ("0", "1")) for j in kept):
        X, names = table.columns[:, kept], tuple(table.names[j] for j in kept)
    else:
        found = [table.features(j) for j in kept]
        names, X = tuple(name for some, _ in found for name in some), np.hstack([columns for _, columns in found])
    if not isinstance(table.columns, np.ndarray):
        X = with_small_indices(csr_array(X))
        X.eliminate_zeros()
        X.sort_indices()
    require_no_infinity(X, lambda row, j: f"row {row + 1}, attribute {shown(names[j])} of {table.file}")
    return X, names


# ------------------------------------------------------------------ which attributes are labels


def _label_columns(table: Table, labels: str | os.PathLike[str] | int | None) -> list[int]:
    """The label attributes, in the order of the ARFF file."""
    file, count = table.file, len(table.names)
    if isinstance(labels, int):
        if not 0 < labels < count:
            raise DatasetError(f"{file} has {count} attributes; labels={labels} leaves no label or no feature")
        chosen = list(range(count - labels, count))
    else:
        xml = _beside(file) if labels is None else Path(labels)
        named = set(read_label_names(xml))
        absent = sorted(named.difference(table.names))
        if absent:
            raise DatasetError(
                f"{xml} names labels that are no attributes of {file}: {listed(absent)}; "
                "check that the two files belong together"
            )
        chosen = [j for j, name in enumerate(table.names) if name in named]
        if len(chosen) == count:
            raise DatasetError(f"every attribute of {file} is a label in {xml}; features are missing")
    for j in chosen:
        if not set(table.values[j] or ()) <= {"0", "1", "-1", "+1"}:
            raise DatasetError(
                f"{file} declares the label {shown(table.names[j])} with the values {listed(table.values[j] or ())}; "
                "labels are {0,1} or {-1,+1}"
            )
    return chosen


def _beside(arff: Path) -> Path:
    """The XML file of the same stem, or of the stem without -train or -test."""
    candidates = [arff.with_suffix(".xml"), arff.with_name(f"{_SPLIT.sub('', arff.stem)}.xml")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise DatasetError(
        f"{arff} needs its label file and there is no {candidates[-1].name} beside it; "
        "give labels= the path of the XML file, or the number of labels if they are the last attributes"
    )


class _NoDocumentType(ElementTree.TreeBuilder):
    """Refuses a document type, and with it every entity but the five of XML itself: nothing is expanded."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise ElementTree.ParseError("it has a document type (<!DOCTYPE ...>), which label files need not have")


def read_label_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of the labels in a Mulan XML file, in its order; of a hierarchy all labels, the inner ones too."""
    file = existing_file(path)
    try:
        root = ElementTree.parse(file, ElementTree.XMLParser(target=_NoDocumentType())).getroot()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise DatasetError(f"{file} is not a label file in XML: {reason(error)}") from None
    elements = [element for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    names = tuple(element.get("name", "") for element in elements)
    if not names or not all(names):
        raise DatasetError(f"{file} names no labels, or has one without a name; it needs <label name='sports'/>")
    refuse_repeats(file, names, "labels")
    return names
