"""The XML file beside a Mulan ARFF file: which attributes are labels, flat or as a hierarchy.

    <labels xmlns="http://mulan.sourceforge.net/labels"> <label name="sports"> <label name="tennis"/> ...

Of a hierarchy only the names are used: its inner labels are attributes of the ARFF file like the others.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from setloss.datasets.checks import existing_file, reason, refuse_repeats
from setloss.datasets.data import DatasetError

MAX_BYTES = 2**24

_SPLIT = re.compile(r"[-_.](train|test)$", re.IGNORECASE)


def beside(arff: Path) -> Path:
    """The XML file of the same stem, or of the stem without -train or -test."""
    candidates = [arff.with_suffix(".xml"), arff.with_name(f"{_SPLIT.sub('', arff.stem)}.xml")]
    for candidate in dict.fromkeys(candidates):
        if candidate.is_file():
            return candidate
    names = " or ".join(dict.fromkeys(candidate.name for candidate in candidates))
    raise DatasetError(
        f"{arff} needs its label file and there is no {names} beside it; "
        "give labels= the path of the XML file, or the number of labels if they are the last attributes"
    )


def read_label_names(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The names of the labels in the order of the file.

    A document type is refused, and with it every entity but the five of XML itself: nothing is expanded.
    """
    file = existing_file(path)
    try:
        data = file.read_bytes() if file.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise DatasetError(f"{file} cannot be read: {error.strerror or reason(error)}") from None
    if data is None:
        raise DatasetError(f"{file} is larger than {MAX_BYTES} bytes; this is not a list of label names")
    try:
        _refuse_document_type(file, data)
        root = ElementTree.fromstring(data)
    except (expat.ExpatError, ElementTree.ParseError, LookupError) as error:
        raise DatasetError(f"{file} is not well-formed XML: {reason(error)}") from None
    except ValueError as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"{file} is not well-formed XML: {reason(error)}") from None
    if _local(root.tag) != "labels":
        raise DatasetError(f"{file} starts with <{_local(root.tag)[:40]}>; a Mulan label file starts with <labels>")
    names = tuple(element.get("name", "") for element in root.iter() if _local(element.tag) == "label")
    if not names:
        raise DatasetError(f"{file} names no labels; it needs elements like <label name='sports'/>")
    if not all(names):
        raise DatasetError(f"{file} has a label without a name (number {names.index('') + 1}); add name='...'")
    refuse_repeats(file, names, "labels")
    return names


def _refuse_document_type(path: Path, data: bytes) -> None:
    def refuse(*_: object) -> None:
        raise DatasetError(f"{path} has a <!DOCTYPE ...>; remove it, label files need none")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
