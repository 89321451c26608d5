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
    LabelSets,
    as_zero_one,
    csr,
    existing_file,
    listed,
    no_infinity,
    reason,
    require_names,
    shown,
)

_SPARSE_DATA = re.compile(r"^\s*@data[^\n]*\n(?:\s*%[^\n]*\n|\s*\n)*\s*\{", re.IGNORECASE | re.MULTILINE)
_SPLIT = re.compile(r"[-_.](train|test)$", re.IGNORECASE)


@dataclass(frozen=True)
class ArffTable:
    """The attributes of an ARFF file, their declared values (None for numbers), and a column of codes for each.

    `codes` is dense, or CSR of a sparse file; a nominal value stands for its place among the declared ones.
    """

    file: Path
    names: tuple[str, ...]
    values: tuple[tuple[str, ...] | None, ...]
    codes: Any

    def features(self, kept: Sequence[int]) -> tuple[Any, tuple[str, ...]]:
        """The features that some attributes become, dense or CSR, and their names."""
        parts = [(j, *part) for j in kept for part in _parts(self.names[j], self.values[j])]
        names = tuple(name for _, name, _ in parts)
        code = np.array([code for *_, code in parts], dtype=np.float64)
        X = self.codes[:, [j for j, *_ in parts]]
        nominal = np.flatnonzero(~np.isnan(code))
        if nominal.size:
            X = X if isinstance(X, np.ndarray) else X.tolil()
            found = _dense(X[:, nominal])
            X[:, nominal] = np.where(np.isnan(found), np.nan, found == code[nominal])
        if not isinstance(X, np.ndarray):
            X = X.tocsr()
            X.eliminate_zeros()
            X.sort_indices()
        no_infinity(X, lambda row, j: f"row {row + 1}, attribute {shown(names[j])} of {self.file}")
        return X, names

    def labels(self, chosen: Sequence[int]) -> NDArray[Any]:
        """The values of some attributes, which must be labels."""
        Y = _dense(self.codes[:, chosen])
        for column, j in zip(Y.T, chosen, strict=True):
            declared = self.values[j]
            if declared is None:
                continue
            if not set(declared) <= {"0", "1", "-1", "+1"}:
                raise DatasetError(
                    f"{self.file} declares the label {shown(self.names[j])} with the values {listed(declared)}; "
                    "labels are {0,1} or {-1,+1}"
                )
            known = ~np.isnan(column)
            column[known] = np.array(declared, dtype=np.float64)[column[known].astype(np.intp)]
        place = lambda row, j: f"row {row + 1}, label {shown(self.names[chosen[j]])} of {self.file}"  # noqa: E731
        return as_zero_one(Y, place, missing=True)


def _parts(name: str, declared: tuple[str, ...] | None) -> list[tuple[str, float]]:
    """The features of an attribute: their names, and the code that each marks with a 1 (NaN: as it is)."""
    if declared in (None, ("0", "1")):
        return [(name, np.nan)]
    if declared == ("1", "0"):
        return [(name, 0)]
    return [(f"{name}={value}", code) for code, value in enumerate(declared or ())]


def _dense(columns: Any) -> NDArray[Any]:
    return columns if isinstance(columns, np.ndarray) else columns.toarray()


def read_arff(file: Path, *, labels: str | os.PathLike[str] | int | None = None) -> LabelSets:
    """Label sets from an ARFF file; X is dense or CSR as the file is, and `io.read` says the rest."""
    table = _read(file)
    chosen = _label_columns(table, labels)
    Y = table.labels(chosen)
    X, features = table.features([j for j in range(len(table.names)) if j not in set(chosen)])
    return LabelSets(X, Y, features, tuple(table.names[j] for j in chosen))


def _read(file: Path) -> ArffTable:
    try:
        import arff
    except ImportError:
        raise DatasetError(f"reading {file} needs liac-arff; install it with pip install 'setloss[io]'") from None
    try:
        text = file.read_text(encoding="utf-8-sig")
        sparse = _SPARSE_DATA.search(text) is not None
        text = re.sub(r"(?im)^([ \t]*@\w+)[ \t]+", r"\1 ", text)  # liac-arff wants a blank there, and no tab
        content = arff.loads(text, encode_nominal=True, return_type=arff.LOD if sparse else arff.DENSE)
        names = tuple(re.sub(r"\\(.)", r"\1", name) for name, _ in content["attributes"])  # it leaves escapes there
        kinds = [kind for _, kind in content["attributes"]]
        if "STRING" in kinds:
            raise ValueError(f"attribute {shown(names[kinds.index('STRING')])} is text, not declared values")
        if not content["data"]:
            raise ValueError("it has no rows after @data")
        rows = content["data"]
        if sparse:
            data = np.array([value for row in rows for value in row.values()], dtype=np.float64)
            places = [j for row in rows for j in row], np.cumsum([0, *map(len, rows)])
            codes = csr(data, *places, (len(rows), len(names)))
        else:
            codes = np.array(rows, dtype=np.float64)
    except (arff.ArffException, ValueError, LookupError, TypeError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as ARFF: {reason(error)}; correct it there") from None
    return ArffTable(file, names, tuple(tuple(kind) if isinstance(kind, list) else None for kind in kinds), codes)


# ------------------------------------------------------------------ which attributes are labels


def _label_columns(table: ArffTable, labels: str | os.PathLike[str] | int | None) -> list[int]:
    """The label attributes, in the order of the ARFF file."""
    count = len(table.names)
    if isinstance(labels, int):
        chosen = list(range(max(count - labels, 0), count))
    else:
        xml = _beside(table.file) if labels is None else Path(labels)
        named = read_label_names(xml)
        require_names(table.file, table.names, named, f"the labels of {xml} (do the files belong together?)")
        chosen = [j for j, name in enumerate(table.names) if name in named]
    if len(chosen) == count:
        raise DatasetError(f"all attributes of {table.file} are labels, by labels= or its XML; it needs features")
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


def read_label_names(path: str | os.PathLike[str]) -> set[str]:
    """The names of the labels in a Mulan XML file; of a hierarchy all labels, the inner ones too."""
    file = existing_file(path)
    try:
        root = ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise DatasetError(f"{file} is not a label file in XML: {reason(error)}; write it anew") from None
    names = {element.get("name", "") for element in root.iter() if element.tag.rpartition("}")[2] == "label"}
    if not all(names) or not names:
        raise DatasetError(f"{file} names no labels, or has one without a name; it needs <label name='sports'/>")
    return names
