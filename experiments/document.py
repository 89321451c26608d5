"""Tables and figures as data: what an experiment returns, and what markdown, JSON and a report are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Cell = str | int | float | Estimate | None


def cell_text(cell: Cell) -> str:
    """A cell as people read it: nothing for None, four digits for a float."""
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def lowest(rows: Sequence[Sequence[Cell]]) -> frozenset[tuple[int, int]]:
    """The places of the estimates of least mean in their columns, to be set in bold."""
    best: set[tuple[int, int]] = set()
    for j in range(len(rows[0]) if rows else 0):
        means = {i: cell.mean for i, row in enumerate(rows) if isinstance(cell := row[j], Estimate)}
        best |= {(i, j) for i, mean in means.items() if mean == min(means.values())}
    return frozenset(best)


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
        lines = [" | ".join(self.columns), " | ".join(["---"] + ["---:"] * (len(self.columns) - 1))]
        for i, row in enumerate(self.rows):
            texts = [cell_text(cell) for cell in row]
            lines.append(" | ".join(f"**{t}**" if (i, j) in self.best else t for j, t in enumerate(texts)))
        body = "\n".join(f"| {line} |" for line in lines)
        return f"**{self.title}**\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")

    def as_dict(self) -> dict[str, Any]:
        rows = [[cell.as_dict() if isinstance(cell, Estimate) else cell for cell in row] for row in self.rows]
        best = [list(place) for place in sorted(self.best)]
        return {"title": self.title, "columns": list(self.columns), "rows": rows, "note": self.note, "best": best}


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

    def markdown(self, level: int = 1) -> str:
        """The title as a heading of that level, the figures and the tables."""
        images = [f"![{figure.caption}]({figure.name}.png)\n" for figure in self.figures]
        return "\n".join([f"{'#' * level} {self.title}\n", *images, *(table.markdown() for table in self.tables)])

    def write(self, folder: Path, dots_per_inch: int = 200) -> None:
        """NAME.json with everything, NAME.md to read, a PNG for each figure."""
        (folder / f"{self.name}.json").write_text(json.dumps(self.as_dict(), indent=1, allow_nan=False), "utf-8")
        (folder / f"{self.name}.md").write_text(self.markdown(), "utf-8")
        for figure in self.figures:
            figure.draw().savefig(folder / f"{figure.name}.png", dpi=dots_per_inch)

    def as_dict(self) -> dict[str, Any]:
        tables = [table.as_dict() for table in self.tables]
        return {"name": self.name, "title": self.title, "tables": tables, "numbers": self.numbers}
