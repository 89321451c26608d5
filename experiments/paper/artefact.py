"""An artefact is one table or figure of the paper: settings in, a document out, files in a folder.

Artefacts are known by name, in the paper's order; a module is imported when its artefact is asked for. The JSON files
are the source of the report and of the claims, so that artefacts made one at a time add up to one report.
"""

from __future__ import annotations

import json
import platform
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.document import Document, ResultTable
from experiments.protocol import named


@dataclass(frozen=True)
class Settings:
    """How an artefact is made.

    `full` asks for all folds and repeats of the paper, and for its sizes; without it every artefact fits in minutes
    on two cores. `data` is the folder of real data; None is what SETLOSS_DATA names.
    """

    seed: int = 0
    full: bool = False
    data: Path | None = None


MODULES = {
    "figure1": "figures",
    "figure2": "toy",
    "table1": "toy",
    "figure3": "figures",
    "table2": "tracks",
    "figure5": "figure5",
    "table3": "table3",
}
"""The module of each artefact."""

ARTEFACTS = tuple(MODULES)
"""Every table and figure with content of its own; Figure 4 shows photographs of faces."""


def maker(name: str) -> Callable[[Settings], Document]:
    """The function that makes an artefact: ``experiments.paper.<module>.make_<name>``."""
    module = import_module(f"experiments.paper.{MODULES[name]}")
    return getattr(module, f"make_{name}")  # type: ignore[no-any-return]


def in_order(names: Sequence[str] | None) -> tuple[str, ...]:
    """The names asked for, each once, in the paper's order; None stands for every artefact."""
    wanted = named("artefact", names, ARTEFACTS)
    return tuple(name for name in ARTEFACTS if name in wanted)


# ---------------------------------------------------------------- files

Entry = Mapping[str, Any]
"""One artefact as its JSON file says it: name, title, tables, figures, numbers, settings, versions, seconds."""

PACKAGES = ("setloss", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")


def write(document: Document, settings: Settings, seconds: float, folder: Path) -> None:
    """Write all files of a document: JSON, markdown, a PNG per figure."""
    asked = {"seed": settings.seed, "full": settings.full}
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    document.write(folder, settings=asked, versions=versions, seconds=round(seconds, 2))


def read(folder: Path) -> dict[str, Entry]:
    """The artefacts that a folder holds, in the paper's order; a `ValueError` names a file that is not one."""
    paths = {name: folder / f"{name}.json" for name in ARTEFACTS}
    return {name: _read(path) for name, path in paths.items() if path.is_file()}


def tables(entry: Entry) -> tuple[ResultTable, ...]:
    """The tables of an artefact, as its document had them."""
    return tuple(map(ResultTable.from_dict, entry["tables"]))


def _read(path: Path) -> Entry:
    try:
        entry: Entry = json.loads(path.read_text(encoding="utf-8"))
        tables(entry)
        if (
            not path.with_suffix(".md").is_file()
            or not {"numbers", "settings", "versions", "seconds"} <= entry.keys()
        ):
            raise KeyError("a part is missing")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not what `reproduce` wrote, or a file of it is gone; delete it") from error
    return entry


# ---------------------------------------------------------------- the paper's own numbers

DECIMALS = {"table1": 4, "table2": 3, "table3": 3}


@cache
def paper_table(name: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Row -> column -> mean and standard error of "table1", "table2" or "table3", from `numbers.toml`."""
    content = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text(encoding="utf-8"))
    rows = content[name]["rows"].items()
    return {row: {column: (mean, error) for column, (mean, error) in cells.items()} for row, cells in rows}


def printed(table: str, row: str, column: str) -> str:
    """One cell as the paper prints it, "" where the paper has none."""
    cell = paper_table(table).get(row, {}).get(column)
    digits = DECIMALS[table]
    return "" if cell is None else f"{cell[0]:.{digits}f} ± {cell[1]:.{digits}f}"
