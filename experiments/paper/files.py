"""What an artefact leaves in a folder: <name>.json with everything, <name>.md to read, one PNG per figure.

The JSON file is the source of the report and of the claims, so that artefacts made one at a time add up to one
report.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.document import Cell, Document, ResultTable
from experiments.estimate import Estimate
from experiments.paper.artefact import ARTEFACTS, Settings

DOTS_PER_INCH = 200
PACKAGES = ("setloss", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")

Entry = Mapping[str, Any]
"""One artefact as its JSON file says it: name, title, tables, figures, numbers, settings, versions, seconds."""


def write(document: Document, settings: Settings, seconds: float, folder: Path) -> Entry:
    """Draw the figures, write all files of a document, and return what its JSON file holds."""
    figures = []
    for figure in document.figures:
        file = f"{figure.name}.png"
        figure.draw().savefig(folder / file, dpi=DOTS_PER_INCH)
        figures.append({"name": figure.name, "caption": figure.caption, "file": file})
    entry = document.as_dict() | {
        "figures": figures,
        "settings": {"seed": settings.seed, "full": settings.full, "quick": settings.quick, "size": settings.size},
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "seconds": round(seconds, 2),
    }
    (folder / f"{document.name}.json").write_text(json.dumps(entry, indent=1, allow_nan=False), encoding="utf-8")
    (folder / f"{document.name}.md").write_text(document.markdown(), encoding="utf-8")
    return entry


def tables(entry: Entry) -> tuple[ResultTable, ...]:
    """The tables of an artefact, as its document had them."""
    return tuple(map(table_of, entry["tables"]))


def table_of(table: Mapping[str, Any]) -> ResultTable:
    """A table as `ResultTable.as_dict` wrote it."""
    return ResultTable(
        table["title"],
        tuple(table["columns"]),
        tuple(tuple(_cell(cell) for cell in row) for row in table["rows"]),
        table["note"],
        frozenset((row, column) for row, column in table["best"]),
    )


def _cell(cell: Any) -> Cell:
    if isinstance(cell, dict):
        return Estimate(cell["mean"], cell["standard_error"], cell["n"])
    known: Cell = cell
    return known


def read(folder: Path) -> dict[str, Entry]:
    """The artefacts that a folder holds, in the paper's order; a `ValueError` names a file that is not one."""
    paths = {name: folder / f"{name}.json" for name in ARTEFACTS}
    return {name: _read(path) for name, path in paths.items() if path.is_file()}


def _read(path: Path) -> Entry:
    try:
        entry: Entry = json.loads(path.read_text(encoding="utf-8"))
        tables(entry)
        missing = [figure["file"] for figure in entry["figures"] if not (path.parent / figure["file"]).is_file()]
        complete = not missing and {"numbers", "title", "settings", "versions", "seconds"} <= entry.keys()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        complete = False
    if not complete:
        raise ValueError(
            f"{path} is not what `python -m experiments reproduce` wrote, or its figure is gone; delete it and go on"
        )
    return entry
