"""Model files without other packages: an .npz of arrays, one of which is the header, JSON in one text."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import numpy as np

from setloss.archives import ArchiveError, array_header, open_archive, read_array
from setloss.estimators import learner_arrays

MEMBERS = (
    *("header", "coef", "intercept", "classes", "counts", "counts_coef"),
    *("feature_names", "label_names", "target_columns"),
    *learner_arrays.MEMBERS,
)
MAX_HEADER = 2**20
"""Most characters of the header."""


def write_arrays(content: dict[str, Any], file: IO[bytes]) -> None:
    """Write the header and the arrays of a model: `numpy.savez` takes `allow_pickle` from NumPy 2.1 on only."""
    with ZipFile(file, "w") as archive:
        for name, value in content.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)


def holds_arrays(path: Path) -> bool:
    """Whether an archive is one of arrays, and not one of skops."""
    with open_archive(path) as archive:
        return "schema.json" not in archive.namelist()


def read_arrays(path: Path) -> dict[str, Any]:
    """The header and the arrays of a model, each judged by its own header before it is read."""
    with open_archive(path) as archive:
        content = {}
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if name not in MEMBERS or name == member:
                raise ArchiveError("has a member that is no part of a model")
            found = array_header(archive, member)
            if name == "header" and (found.shape != () or found.kind != "U" or found.dtype.itemsize > 4 * MAX_HEADER):
                raise ArchiveError(f"has a header that is no text of at most {MAX_HEADER} characters")
            content[name] = read_array(archive, member)
    return content
