"""Run all benchmarks: ``python -m benchmarks [--quick] [--only NAME] [--json FILE]``.

One table, ``what | ours | reference | ratio | target | ok``; timing never fails the build.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import (
    cold_start,
    convergence,
    cross_validation,
    decisions,
    decomposition,
    imports,
    lazy_decisions,
    operators,
    partitions,
    pixels,
    promises,
    solvers,
    text,
    torch_losses,
)

BENCHMARKS = {
    "imports": imports,
    "cold": cold_start,
    "decomposition": decomposition,
    "operators": operators,
    "decisions": decisions,
    "search": cross_validation,
    "solvers": solvers,
    "convergence": convergence,
    "text": text,
    "torch": torch_losses,
    "pixels": pixels,
    "promises": promises,
    "dask": partitions,
    "dask-decisions": lazy_decisions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer repeats")
    parser.add_argument("--only", choices=BENCHMARKS, help="one group of benchmarks")
    parser.add_argument("--json", type=Path, default=Path("results/bench.json"), help="where the rows are written")
    options = parser.parse_args()
    found = []
    print(f"{'what':60} {'ours':>10} {'reference':>10} {'ratio':>9} {'target':>9}  ok")
    for name, module in BENCHMARKS.items():
        if options.only in (None, name):
            for row in module.rows(options.quick):
                found.append(row.as_dict())
                print(row.line(), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
