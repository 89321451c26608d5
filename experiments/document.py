"""Tables and figures as data: what an experiment returns, and what markdown, JSON and the report are made of."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Estimate:
    """The mean of n repeats (folds, seeds, sets) and the standard error of that mean; no error for one repeat.

    `digits` are shown: no more than another processor, whose rounding differs, finds as well.
    """

    mean: float
    error: float | None
    n: int
    digits: int = 3

    @classmethod
    def of(cls, values: ArrayLike, digits: int = 3) -> Estimate:
        """The mean of `values` and their standard deviation (n - 1) over the root of n."""
        found = np.asarray(values, dtype=np.float64).ravel()
        if not found.size:
            raise ValueError("an estimate needs at least one value")
        error = float(found.std(ddof=1) / math.sqrt(found.size)) if found.size > 1 else None
        return cls(float(found.mean()), error, int(found.size), digits)

    def __str__(self) -> str:
        mean = f"{self.mean:.{self.digits}f}"
        return mean if self.error is None else f"{mean} ± {self.error:.{self.digits}f}"

    def as_dict(self) -> dict[str, float | int | None]:
        return {"mean": self.mean, "standard_error": self.error, "n": self.n, "digits": self.digits}


Cell = str | int | float | Estimate | None


def cell_text(cell: Cell) -> str:
    """A cell as people read it: nothing for None, four digits for a float."""
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def lowest(rows: Sequence[Sequence[Cell]], *, highest: bool = False) -> frozenset[tuple[int, int]]:
    """The places of the estimates of least (or largest) mean in their columns, as they are shown, for bold type."""
    best: set[tuple[int, int]] = set()
    for j in range(len(rows[0]) if rows else 0):
        cells = {i: cell for i, row in enumerate(rows) if isinstance(cell := row[j], Estimate)}
        means = {i: round(cell.mean, cell.digits) for i, cell in cells.items()}
        top = (max if highest else min)(means.values(), default=None)
        best |= {(i, j) for i, mean in means.items() if mean == top}
    return frozenset(best)


def clearly_lowest(columns: Mapping[int, Sequence[ArrayLike | None]]) -> frozenset[tuple[int, int]]:
    """The places of losses that are lower than all others of their column, for bold type.

    Each row of a column has its losses on the same repeats, or None; lower means by more than two standard errors of
    the paired differences.
    """
    found = set()
    for j, rows in columns.items():
        losses = {i: np.asarray(row) for i, row in enumerate(rows) if row is not None}
        best = min(losses, key=lambda i: float(losses[i].mean()))
        gaps = [Estimate.of(row - losses[best]) for i, row in losses.items() if i != best]
        if all(gap.mean > 2 * (gap.error or 0.0) for gap in gaps):
            found.add((best, j))
    return frozenset(found)


@dataclass(frozen=True)
class ResultTable:
    """Rows under column names; `note` says what a reader needs to trust it, `best` which cells to set in bold."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    best: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"{self.title}: {len(self.columns)} columns, but a row has {len(wrong[0])} cells")

    def markdown(self) -> str:
        """A GitHub-flavoured table, the title above and the note below it."""
        rows: list[list[str]] = [list(self.columns)]
        for i, row in enumerate(self.rows):
            texts = [cell_text(cell) for cell in row]
            rows.append([f"**{t}**" if (i, j) in self.best else t for j, t in enumerate(texts)])
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, "|---" + "|---:" * (len(self.columns) - 1) + "|")
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n" + (f"\n{self.note}\n" if self.note else "")

    def as_dict(self) -> dict[str, Any]:
        rows = [[cell.as_dict() if isinstance(cell, Estimate) else cell for cell in row] for row in self.rows]
        best = [list(place) for place in sorted(self.best)]
        return {"title": self.title, "columns": list(self.columns), "rows": rows, "note": self.note, "best": best}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> ResultTable:
        """A table as `as_dict` wrote it."""
        rows = tuple(tuple(_cell(cell) for cell in row) for row in table["rows"])
        best = frozenset((row, column) for row, column in table["best"])
        return cls(table["title"], tuple(table["columns"]), rows, table["note"], best)


def _cell(cell: Any) -> Cell:
    if isinstance(cell, dict):
        return Estimate(cell["mean"], cell["standard_error"], cell["n"], cell.get("digits", 3))
    known: Cell = cell
    return known


@dataclass(frozen=True)
class Figure:
    """A drawing that is made when it is asked for; `name` is the stem of its file."""

    name: str
    caption: str
    draw: Callable[[], Drawing] = field(repr=False)


@dataclass(frozen=True)
class Document:
    """What one experiment found: tables, figures, and the numbers behind them (JSON values only)."""

    name: str
    title: str
    tables: tuple[ResultTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)

    def markdown(self) -> str:
        """The title, the figures and the tables."""
        images = [f"![{figure.caption}]({figure.name}.png)\n" for figure in self.figures]
        return "\n".join([f"# {self.title}\n", *images, *(table.markdown() for table in self.tables)])

    def as_dict(self) -> dict[str, Any]:
        tables = [table.as_dict() for table in self.tables]
        return {"name": self.name, "title": self.title, "tables": tables, "numbers": self.numbers}

    def write(self, folder: Path, **more: Any) -> None:
        """NAME.json with everything and `more`, NAME.md to read, a PNG for each figure."""
        for figure in self.figures:
            figure.draw().savefig(folder / f"{figure.name}.png", dpi=200)
        content = json.dumps(self.as_dict() | more, indent=1, allow_nan=False)
        (folder / f"{self.name}.json").write_text(content, "utf-8")
        (folder / f"{self.name}.md").write_text(self.markdown(), "utf-8")
