"""Mulan's multi-label data: a dense or sparse ARFF file, and an XML file that names the labels among its attributes.

Attributes are numeric (real, integer) or nominal. A nominal feature declared {0, 1} is a number; any other
becomes one 0/1 column per declared value, named ``attribute=value``. Labels are nominal or numeric in {0, 1} or
{-1, +1}, in the order of the ARFF file. A ``?`` is a missing label, and an error in a feature.

A sparse row ``{2 0.5, 7 1}`` leaves out zeros. As in Weka, that is the *first declared* value of a nominal
attribute: an omitted label declared {1, 0} is a 1.

Why the parser is our own: scipy.io.arff cannot read sparse files; liac-arff can, but its errors name the line and
never the column, it gives rows as lists of Python objects, and it is one more dependency for a hundred lines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from setloss.datasets.arff_table import ArffTable, Attribute, read_header, read_rows
from setloss.datasets.checks import (
    as_zero_one,
    existing_file,
    listed,
    numbered_lines,
    require_finite,
    require_room,
    shown,
)
from setloss.datasets.data import DatasetError, Features, LabelSets
from setloss.datasets.label_xml import beside, read_label_names

MAX_EXPANDED = 2**27
"""Most cells of the 0/1 columns that nominal features become."""


def read_arff(path: str | os.PathLike[str], *, labels: str | os.PathLike[str] | int | None = None) -> LabelSets:
    """Label sets from an ARFF file; X is dense or CSR as the file is.

    Parameters
    ----------
    path : path
        The ARFF file.
    labels : path or int, optional
        The XML file that names the labels, or their number if they are the last attributes. By default the XML
        file of the same stem, or of the stem without -train or -test, in the same folder.
    """
    file = existing_file(path)
    lines = numbered_lines(file)
    attributes = read_header(file, lines)
    chosen = _label_columns(file, attributes, labels)
    table = read_rows(file, lines, attributes, chosen)
    names = [attributes[j].name for j in chosen]
    require_room(file, len(table.lines), len(names), itemsize=8)
    codes = table.dense_columns(chosen)
    Y = np.column_stack([attributes[j].numbers(codes[:, k]) for k, j in enumerate(chosen)])
    Y = as_zero_one(Y, lambda row, j: table.place(row, names[j]), missing=True)
    X, feature_names = _features(table, frozenset(chosen))
    require_finite(X, lambda row, j: table.place(row, feature_names[j]))
    return LabelSets(X, Y, feature_names, tuple(names))


def read_arff_features(file: Path, names: Sequence[str] | None, not_features: Sequence[str] = ()) -> Features:
    """The features of an ARFF file whose labels may be missing, in the order of `names` where a model knows them."""
    lines = numbered_lines(file)
    attributes = read_header(file, lines)
    known = None if names is None else set(names)
    kept = [
        j
        for j, attribute in enumerate(attributes)
        if attribute.name not in not_features and (known is None or known & set(_feature_names(attribute)))
    ]
    others = [j for j in range(len(attributes)) if j not in kept]
    absent = [] if known is None else sorted(known - {n for j in kept for n in _feature_names(attributes[j])})
    if absent:
        raise DatasetError(f"{file} lacks attributes that the model was trained on: {listed(absent)}")
    table = read_rows(file, lines, attributes, others)
    X, found = _features(table, frozenset(others))
    require_finite(X, lambda row, j: table.place(row, found[j]))
    unused = tuple(attributes[j].name for j in others if attributes[j].name not in not_features)
    if names is None or tuple(names) == found:
        return Features(X, None, found, unused)
    place = {name: j for j, name in enumerate(found)}
    columns = [place[name] for name in names]
    return Features(X[:, columns], None, tuple(names), unused, reordered=sorted(columns) != columns)


def _label_columns(
    path: Path, attributes: Sequence[Attribute], labels: str | os.PathLike[str] | int | None
) -> list[int]:
    """The label attributes, in the order of the ARFF file."""
    if isinstance(labels, int):
        if not 0 < labels < len(attributes):
            raise DatasetError(
                f"{path} has {len(attributes)} attributes, so labels={labels} is impossible; "
                "it must leave at least one label and one feature"
            )
        chosen = list(range(len(attributes) - labels, len(attributes)))
    else:
        xml = beside(path) if labels is None else Path(labels)
        names = read_label_names(xml)
        absent = sorted(set(names) - {a.name for a in attributes})
        if absent:
            raise DatasetError(
                f"{xml} names labels that are no attributes of {path}: {listed(absent)}; "
                "check that the two files belong together"
            )
        wanted = set(names)
        chosen = [j for j, attribute in enumerate(attributes) if attribute.name in wanted]
        if len(chosen) == len(attributes):
            raise DatasetError(f"every attribute of {path} is a label in {xml}; features are missing")
    for attribute in (attributes[j] for j in chosen):
        if attribute.values is not None and not set(attribute.values) <= {"0", "1", "-1", "+1"}:
            raise DatasetError(
                f"{path} declares the label {shown(attribute.name)} with the values {listed(attribute.values)}; "
                "labels are {0,1} or {-1,+1}"
            )
    return chosen


def _features(table: ArffTable, labels: frozenset[int]) -> tuple[Any, tuple[str, ...]]:
    kept = [j for j in range(len(table.attributes)) if j not in labels]
    _require_room_for_values(table, [table.attributes[j] for j in kept])
    names = tuple(name for j in kept for name in _feature_names(table.attributes[j]))
    if all(table.attributes[j].is_number for j in kept):
        X = table.columns(kept)
    else:
        X = _stacked([_feature_columns(table, j) for j in kept], table.sparse)
    if table.sparse:
        X = X.tocsr()
        X.eliminate_zeros()
        X.sort_indices()
    return X, names


def _feature_names(attribute: Attribute) -> tuple[str, ...]:
    if attribute.values is None or set(attribute.values) <= {"0", "1"}:
        return (attribute.name,)
    return tuple(f"{attribute.name}={value}" for value in attribute.values)


def _feature_columns(table: ArffTable, j: int) -> Any:
    attribute = table.attributes[j]
    if attribute.values is None or attribute.is_number:
        return table.columns([j])
    codes = table.dense_columns([j])
    if set(attribute.values) <= {"0", "1"}:
        return attribute.numbers(codes)
    return codes == np.arange(len(attribute.values))


def _require_room_for_values(table: ArffTable, features: Sequence[Attribute]) -> None:
    """Refuse nominal attributes whose 0/1 columns, one per declared value, would not fit beside each other."""
    nominal = [a for a in features if a.values is not None and not set(a.values) <= {"0", "1"}]
    columns = sum(len(a.values or ()) for a in nominal)
    if len(table.lines) * columns > MAX_EXPANDED:
        widest = max(nominal, key=lambda a: len(a.values or ()))
        raise DatasetError(
            f"{table.path} declares nominal features with {columns} values in all, too many for one column each in "
            f"{len(table.lines)} rows; remove {shown(widest.name)}, which has {len(widest.values or ())}"
        )


def _stacked(blocks: Sequence[Any], sparse: bool) -> Any:
    if not sparse:
        return np.hstack(blocks)
    from scipy.sparse import csc_array, hstack

    return hstack([csc_array(block, dtype=np.float64) for block in blocks], format="csr")
