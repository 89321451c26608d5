"""The paper's tables under several kernels of BLAS: ``python -m benchmarks.kernels RUNS PAGES``.

Kernels for different processors round differently, which moves the place where a fit ends and sometimes C. Every
kernel runs both tables in a process of its own, into RUNS/KERNEL-THREADS (what is there is not made again); PAGES
(docs/results) gets the tables that the page shows. A mean that not all runs round alike, or that the largest change
of its column would round otherwise, is shown as both values, an error as the largest; bold is what is bold in all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.document import Cell, Estimate, ResultTable
from experiments.paper.artefact import read, tables

RUNS = (("Haswell", 1), ("SkylakeX", 1), ("Prescott", 1), ("Nehalem", 1), ("Sandybridge", 1), ("Haswell", 2))
"""Kernels (`OPENBLAS_CORETYPE`; with AVX2, AVX-512, SSE3, SSE4.2 and AVX) and threads."""

TABLES = {"table1": RUNS[:3], "table2": RUNS}
"""Fits of Table 1 end at a tenth of the gap, and kernels hardly matter."""


def run(name: str, kernel: str, threads: int, folder: Path) -> ResultTable:
    """Make a table on generated data, if the folder does not have it."""
    known = {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    environment = {name: value for name, value in os.environ.items() if name != "SETLOSS_DATA"} | known
    if not (folder / f"{name}.json").is_file():
        command = [sys.executable, "-m", "experiments", "reproduce", "--only", name, "--out", str(folder)]
        subprocess.run(command, env=environment, check=True)
    return tables(read(folder)[name])[0]


def merged(found: Sequence[ResultTable]) -> ResultTable:
    """The table that all of them bear out."""
    first = found[0]
    cells = [list(zip(*rows, strict=True)) for rows in zip(*(table.rows for table in found), strict=True)]
    changes = [max(map(largest_change, column)) for column in zip(*cells, strict=True)]
    rows = tuple(tuple(map(shown, row, changes)) for row in cells)
    told = "find the same means."
    if max(changes):
        told = (
            f"change means by at most {max(changes):.1g}; one that the largest change of its column may round "
            "otherwise is shown as both values."
        )
    note = f"{first.note} {len(found)} runs with kernels of BLAS for several processors {told}"
    return ResultTable(first.title, first.columns, rows, note, frozenset.intersection(*(one.best for one in found)))


def largest_change(runs: Sequence[Cell]) -> float:
    """The range of the means of a cell."""
    means = [one.mean for one in runs if isinstance(one, Estimate)]
    return float(np.ptp(means)) if means else 0.0


def shown(runs: Sequence[Cell], change: float) -> Cell:
    """A cell for all runs."""
    estimates = [one for one in runs if isinstance(one, Estimate) and one.error is not None]
    if not estimates:
        return runs[0]
    digits, means = estimates[0].digits, [one.mean for one in estimates]
    low, high = (f"{mean:.{digits}f}" for mean in (min(means) - change, max(means) + change))
    error = max(one.error or 0.0 for one in estimates)
    return f"{low if low == high else f'{low}–{high}'} ± {error:.{digits}f}"


def main(arguments: Sequence[str]) -> None:
    """Run what is missing, and write the tables."""
    folder, pages = map(Path, arguments)
    for name, runs in TABLES.items():
        table = merged([run(name, kernel, threads, folder / f"{kernel}-{threads}") for kernel, threads in runs])
        (pages / f"{name}.json").write_text(json.dumps(table.as_dict(), indent=1), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
