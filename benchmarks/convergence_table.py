"""The fits of `benchmarks.convergence` that are kept, and the table of `docs/training.md` that is made of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.document import ResultTable

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FITS, TABLE = RESULTS / "convergence_fits.json", RESULTS / "convergence.json"

Fit = dict[str, Any]


@dataclass(frozen=True)
class Summary:
    """Of some fits: how many, those unconverged or above ten times LinearSVC, ratios and CPU seconds."""

    count: int
    unconverged: int
    slow: int
    mean: float
    worst: float
    longest: float


def summary(fits: Sequence[Fit]) -> Summary:
    ratios = np.array([fit["seconds"] / fit["reference"] for fit in fits])
    unconverged = sum(not fit["converged"] for fit in fits)
    mean = float(np.exp(np.mean(np.log(ratios))))
    longest = max(fit["seconds"] for fit in fits)
    return Summary(len(fits), unconverged, int(np.sum(ratios > 10)), mean, float(ratios.max()), longest)


def table(fits: Sequence[Fit]) -> ResultTable:
    """One line per operator, per C and per kind of data."""
    names = {
        **{operator: ("operator", operator) for operator in dict.fromkeys(fit["operator"] for fit in fits)},
        **{f"C = {C:g}": ("C", C) for C in sorted({fit["C"] for fit in fits})},
        **{f"{n} labels" if n else "bags": ("labels", n) for n in sorted({fit["labels"] for fit in fits})},
    }
    parts = {name: [fit for fit in fits if fit[key] == value] for name, (key, value) in names.items()}
    lines = [_line(name, part) for name, part in {"all": fits, **parts}.items()]
    columns = ("fits", "count", "unconverged", "ratio, geometric mean", "worst ratio", "above 10", "longest, CPU s")
    wrong = [f"{fit['what']} (gap {fit['gap']:.1e})" for fit in fits if not fit["converged"]]
    stopped = sum(not fit["reference_arrived"] for fit in fits)
    note = f"In {stopped} of the fits LinearSVC was stopped before it arrived: their ratios are upper bounds. "
    note += f"Unconverged: {'; '.join(wrong)}." if wrong else "None is unconverged."
    return ResultTable("Training at the defaults against LinearSVC", columns, tuple(lines), note)


def _line(what: str, fits: Sequence[Fit]) -> tuple[str, ...]:
    numbers = summary(fits)
    counts = str(numbers.count), str(numbers.unconverged)
    ratios = f"{numbers.mean:.2f}", f"{numbers.worst:.1f}", str(numbers.slow)
    return what, *counts, *ratios, f"{numbers.longest:.1f}"


def read_fits() -> list[Fit]:
    """The fits that are kept."""
    found: list[Fit] = json.loads(FITS.read_text(encoding="utf-8")) if FITS.exists() else []
    return found


def add_fit(fit: Fit) -> None:
    """Keep a fit, and make the table again."""
    fits = [*read_fits(), fit]
    FITS.write_text(json.dumps(fits, indent=0) + "\n", encoding="utf-8")
    TABLE.write_text(json.dumps(table(fits).as_dict(), indent=1) + "\n", encoding="utf-8")
