"""Mulan's multi-label data: a dense or sparse ARFF file, and an XML file that names the labels among its attributes.

The file is parsed by liac-arff. Attributes are numeric (real, integer) or nominal. A nominal feature declared {0, 1}
is a number; any other becomes one 0/1 column per declared value, named ``attribute=value``. Labels are nominal or
numeric in {0, 1} or {-1, +1}, in the order of the ARFF file. A ``?`` is a missing label or feature (NaN).

A sparse row ``{2 0.5, 7 1}`` leaves out zeros. As in Weka, that is the *first declared* value of a nominal
attribute: an omitted label declared {1, 0} is a 1.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
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
    reason,
    require_names,
    shown,
)

_SPARSE_DATA = re.compile(r"^[ \t]*@data[^\n]*\n(?:[^\S\n]*(?:%[^\n]*)?\n)*[^\S\n]*\{", re.IGNORECASE | re.MULTILINE)
"""A first row in braces; no part of it matches two ways, so that the search takes one pass."""

_SPLIT = re.compile(r"[-_.](train|test)$", re.IGNORECASE)


class Attribute(NamedTuple):
    """The name of an attribute, and its declared values, None for numbers."""

    name: str
    values: tuple[str, ...] | None

    def features(self) -> list[tuple[str, float]]:
        """What it becomes: names of features, and the code that each marks with a 1 (NaN: the number itself)."""
        if self.values in (None, ("0", "1")):
            return [(self.name, np.nan)]
        if self.values == ("1", "0"):
            return [(self.name, 0)]
        return [(f"{self.name}={value}", code) for code, value in enumerate(self.values or ())]


def read_arff(file: Path, *, labels: str | os.PathLike[str] | int | None = None) -> LabelSets:
    """Label sets from an ARFF file; X is dense or CSR as the file is, and `io.read` says the rest."""
    attributes, codes = _read(file)
    chosen = _label_columns(file, [attribute.name for attribute in attributes], labels)
    parts = [
        (j, *part) for j, attribute in enumerate(attributes) if j not in set(chosen) for part in attribute.features()
    ]
    X = _marked(codes[:, [j for j, *_ in parts]], np.array([code for *_, code in parts]))
    Y = _label_values(file, [attributes[j] for j in chosen], _dense(codes[:, chosen]))
    names = [attributes[j].name for j in chosen]
    return LabelSets(X, as_zero_one(file, Y, names, missing=True), tuple(name for _, name, _ in parts), tuple(names))


def _read(file: Path) -> tuple[list[Attribute], Any]:
    """The attributes, and a matrix with a column for each: numbers, and places of values among the declared ones."""
    try:
        import arff
    except ImportError:
        raise DatasetError(f"reading {file} needs liac-arff; install it with pip install 'setloss[io]'") from None
    try:
        text = file.read_text(encoding="utf-8-sig")
        sparse = _SPARSE_DATA.search(text) is not None
        text = re.sub(r"(?im)^([ \t]*@\w+)[ \t]+", r"\1 ", text)  # liac-arff wants a blank there, and no tab
        content = arff.loads(text, encode_nominal=True, return_type=arff.LOD if sparse else arff.DENSE)
        attributes, rows = [], content["data"]
        for name, kind in content["attributes"]:
            plain = re.sub(r"\\(.)", r"\1", name)  # liac-arff leaves escapes there
            if kind == "STRING":
                raise ValueError(f"attribute {shown(plain)} is text, not declared values")
            attributes.append(Attribute(plain, tuple(kind) if isinstance(kind, list) else None))
        if not rows:
            raise ValueError("it has no rows after @data")
        if not sparse:
            return attributes, np.array(rows, dtype=np.float64)
        data = np.array([value for row in rows for value in row.values()], dtype=np.float64)
        places = [j for row in rows for j in row], np.cumsum([0, *map(len, rows)])
        return attributes, csr(data, *places, (len(rows), len(attributes)))
    except (arff.ArffException, csv.Error, ValueError, LookupError, TypeError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as ARFF: {reason(error)}; correct it there") from None


def _marked(X: Any, code: NDArray[np.float64]) -> Any:
    """Features with a 1 where a nominal one has its code; NaN stays."""
    nominal = np.flatnonzero(~np.isnan(code))
    if nominal.size:
        X = X if isinstance(X, np.ndarray) else X.tolil()
        found = _dense(X[:, nominal])
        X[:, nominal] = np.where(np.isnan(found), np.nan, found == code[nominal])
    if not isinstance(X, np.ndarray):
        X = X.tocsr()
        X.eliminate_zeros()
        X.sort_indices()
    return X


def _label_values(file: Path, labels: Sequence[Attribute], codes: NDArray[Any]) -> NDArray[Any]:
    """The declared values of labels instead of their codes."""
    for column, label in zip(codes.T, labels, strict=True):
        if label.values is not None and not set(label.values) <= {"0", "1", "-1", "+1"}:
            raise DatasetError(
                f"{file} declares the label {shown(label.name)} with the values {listed(label.values)}; labels are "
                "{0,1} or {-1,+1}"
            )
        known = ~np.isnan(column)
        if label.values is not None:
            column[known] = np.array(label.values, dtype=np.float64)[column[known].astype(np.intp)]
    return codes


def _dense(columns: Any) -> NDArray[Any]:
    return columns if isinstance(columns, np.ndarray) else columns.toarray()


# ------------------------------------------------------------------ which attributes are labels


def _label_columns(file: Path, names: Sequence[str], labels: str | os.PathLike[str] | int | None) -> list[int]:
    """The label attributes, in the order of the ARFF file."""
    if isinstance(labels, int):
        chosen = list(range(len(names)))[max(len(names) - labels, 0) :]
    else:
        xml = _beside(file) if labels is None else Path(labels)
        named = read_label_names(xml)
        require_names(file, names, named, f"the labels of {xml} (do the files belong together?)")
        chosen = [j for j, name in enumerate(names) if name in named]
    if len(chosen) == len(names):
        raise DatasetError(f"all attributes of {file} are labels, by labels= or its XML; it needs features")
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
