"""Mulan's multi-label data: a dense or sparse ARFF file, and an XML file that names the labels among its attributes.

The file is parsed by liac-arff. Attributes are numeric (real, integer) or nominal. A nominal feature declared {0, 1}
is a number; any other becomes one 0/1 column per declared value, named ``attribute=value``, after the numbers.
Labels are nominal or numeric in {0, 1} or {-1, +1}, in the order of the ARFF file. A ``?`` is missing (NaN).

A sparse row ``{2 0.5, 7 1}`` leaves out zeros. As in Weka, that is the *first declared* value of a nominal
attribute: an omitted label declared {1, 0} is a 1.
"""

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
    LARGEST,
    DatasetError,
    LabelSets,
    as_zero_one,
    existing_file,
    listed,
    place_of,
    reason,
    require_names,
    shown,
)


class Attribute(NamedTuple):
    """The name of an attribute, and its declared values, None for numbers."""

    name: str
    values: tuple[str, ...] | None


def read_arff(file: Path, labels: Any) -> LabelSets:
    """Label sets from an ARFF file; X is dense or CSR as the file is, and `io.read` says the rest."""
    attributes, codes, is_sparse = _read(file)
    chosen = _label_columns(file, [attribute.name for attribute in attributes], labels)
    rest = np.setdiff1d(np.arange(len(attributes)), chosen)
    X, features = _features([attributes[j] for j in rest], codes[:, rest])
    rows, columns = (abs(X) > LARGEST).nonzero()
    if len(rows):
        place, value = place_of(file, rows[0], features[columns[0]]), X[rows[0], columns[0]]
        raise DatasetError(f"{place} is {value:g}, beyond {LARGEST:g}; correct it, or leave it empty")
    Y = _label_values(file, [attributes[j] for j in chosen], codes[:, chosen].toarray())
    names = [attributes[j].name for j in chosen]
    labels = as_zero_one(file, Y, names, missing=True)
    return LabelSets(X if is_sparse else X.toarray(), labels, tuple(features), tuple(names))


def _read(file: Path) -> tuple[list[Attribute], Any, bool]:
    """The attributes, a CSR matrix with a column for each, and whether the file is sparse.

    It holds numbers, and places of values among the declared ones.
    """
    from scipy.sparse import csr_array

    try:
        import arff
    except ImportError:
        raise DatasetError(f"reading {file} needs liac-arff; install it with pip install 'setloss[io]'") from None
    try:
        text = file.read_text(encoding="utf-8-sig")
        text = re.sub(r"(?im)^([ \t]*@\w+)[ \t]+", r"\1 ", text)  # liac-arff wants a blank there, and no tab
        try:
            content = arff.loads(text, encode_nominal=True, return_type=arff.LOD)
        except arff.BadLayout:
            content = arff.loads(text, encode_nominal=True)
        attributes, rows = [], content["data"]
        for name, kind in content["attributes"]:
            plain = re.sub(r"\\(.)", r"\1", name)  # liac-arff leaves escapes there
            if kind == "STRING":
                raise ValueError(f"attribute {shown(plain)} is text, which is read from CSV and Parquet only")
            attributes.append(Attribute(plain, tuple(kind) if isinstance(kind, list) else None))
        if not rows:
            raise ValueError("it has no rows after @data")
        if isinstance(rows[0], list):
            return attributes, csr_array(np.array(rows, dtype=np.float64)), False
        data = np.array([value for row in rows for value in row.values()], dtype=np.float64)
        places, ends = [j for row in rows for j in row], np.cumsum([0, *map(len, rows)], dtype=np.int32)
        codes = csr_array((data, np.array(places, dtype=np.int32), ends), shape=(len(rows), len(attributes)))
        return attributes, codes, True  # int32 as liblinear wants them
    except (arff.ArffException, csv.Error, ValueError, LookupError, TypeError, OverflowError) as error:
        raise DatasetError(f"{file} cannot be read as ARFF: {reason(error)}; correct it there") from None


def _features(attributes: Sequence[Attribute], codes: Any) -> tuple[Any, list[str]]:
    """Numbers, then a 0/1 column for each value of a nominal attribute; {1, 0} is one column as {0, 1} is."""
    from scipy.sparse import csr_array, hstack

    numbers = [j for j, attribute in enumerate(attributes) if attribute.values in (None, ("0", "1"))]
    blocks, names = [codes[:, numbers]], [attributes[j].name for j in numbers]
    for j, (name, values) in enumerate(attributes):
        if j not in numbers:
            marked = ("1",) if values == ("1", "0") else values or ()
            code = codes[:, [j]].toarray()
            blocks.append(np.where(np.isnan(code), np.nan, code == np.arange(len(marked))))
            names += [name] if values == ("1", "0") else [f"{name}={value}" for value in marked]
    X = csr_array(hstack(blocks, format="csr"))
    X.eliminate_zeros()
    X.sort_indices()
    return X, names


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


# ------------------------------------------------------------------ which attributes are labels


def _label_columns(file: Path, names: Sequence[str], labels: Any) -> list[int]:
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
    stem = re.sub(r"[-_.](train|test)$", "", arff.stem, flags=re.IGNORECASE)
    candidates = [arff.with_suffix(".xml"), arff.with_name(f"{stem}.xml")]
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
