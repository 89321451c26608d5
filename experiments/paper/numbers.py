"""The paper's own numbers, as printed in its tables; `numbers.toml` beside this file holds them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Printed:
    """A mean and its standard error as the paper prints them, to its own number of decimals."""

    mean: float
    error: float
    decimals: int

    def __str__(self) -> str:
        return f"{self.mean:.{self.decimals}f} ± {self.error:.{self.decimals}f}"


DECIMALS = {"table1": 4, "table2": 3, "table3": 3}


@cache
def paper_table(name: str) -> dict[str, dict[str, Printed]]:
    """Row -> column -> number of "table1", "table2" or "table3"."""
    if name not in DECIMALS:
        raise ValueError(f"the paper has no table {name!r}; its tables are {', '.join(DECIMALS)}")
    content = tomllib.loads((files("experiments.paper") / "numbers.toml").read_text(encoding="utf-8"))
    rows = content[name]["rows"]
    digits = DECIMALS[name]
    return {
        row: {column: Printed(mean, error, digits) for column, (mean, error) in cells.items()}
        for row, cells in rows.items()
    }


def printed(table: str, row: str, column: str) -> str:
    """One cell as text, "" where the paper has none."""
    cell = paper_table(table).get(row, {}).get(column)
    return "" if cell is None else str(cell)
