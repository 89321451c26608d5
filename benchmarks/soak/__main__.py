"""Random problems until the counts or the minutes are reached: ``python -m benchmarks.soak [--minutes 10]``.

One line of figures per part. A failure prints the command that repeats its case alone; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.soak import cuts, decompositions, solves
from benchmarks.soak.judge import Outcome

Check = Callable[[np.random.Generator], Outcome]


@dataclass
class Part:
    """A kind of random problem, how many are wanted, its share of the time, and what was found."""

    name: str
    check: Check
    wanted: int
    share: float
    cases: int = 0
    judged: int = 0
    seconds: float = 0.0
    largest: dict[str, float] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def run(self, seed: int, budget: float, only: int | None) -> None:
        """Cases 0, 1, 2... until enough are judged or the time is over; or one case alone."""
        began = time.perf_counter()
        while self.judged < self.wanted and self.seconds < budget:
            self._one(seed, self.cases if only is None else only)
            self.cases += 1
            self.seconds = time.perf_counter() - began
            if only is not None:
                break

    def _one(self, seed: int, case: int) -> None:
        generator = np.random.default_rng([seed, sum(map(ord, self.name)), case])
        try:
            outcome = self.check(generator)
        except Exception as error:
            self.failures.append(f"{type(error).__name__}: {error}")
            print(f"FAILED {self.name}, case {case}: {error}")
            print(f"  again: python -m benchmarks.soak --only {self.name} --seed {seed} --case {case}", flush=True)
            return
        self.judged += outcome.judged
        for name, value in outcome.largest.items():
            self.largest[name] = max(self.largest.get(name, 0.0), value)
        for name, number in outcome.counted.items():
            self.counted[name] = self.counted.get(name, 0) + number

    def line(self) -> str:
        told = [f"{name} <= {value:.1e}" for name, value in self.largest.items()]
        told += [f"{number} {name}" for name, number in self.counted.items()]
        state = f"{len(self.failures)} failed" if self.failures else "none failed"
        return (
            f"{self.name:15} {self.judged:7d} of {self.wanted} in {self.seconds:4.0f} s, {state}; {', '.join(told)}"
        )

    def as_dict(self) -> dict[str, object]:
        names = ("name", "wanted", "cases", "judged", "seconds", "largest", "counted", "failures")
        return {name: getattr(self, name) for name in names}


def main() -> None:
    parts = [
        Part("cuts", cuts.check, 100_000, 0.15),
        Part("decompositions", decompositions.check, 10_000, 0.3),
        Part("solves", solves.check, 10_000, 0.55),
    ]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="the whole run takes no longer than about this")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other problems")
    parser.add_argument("--only", choices=[part.name for part in parts], help="one part, with all of the time")
    parser.add_argument("--case", type=int, help="one case of that part, as a failure names it")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    options = parser.parse_args()
    if options.case is not None and options.only is None:
        parser.error("--case is a case of one part; name it with --only")
    chosen = [part for part in parts if options.only in (None, part.name)]
    left = 60 * options.minutes
    for part in chosen:
        rest = sum(other.share for other in chosen[chosen.index(part) :])
        part.run(options.seed, left * part.share / rest, options.case)
        left -= part.seconds
        print(part.line(), flush=True)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        document = {"seed": options.seed, "minutes": options.minutes, "parts": [part.as_dict() for part in chosen]}
        options.json.write_text(json.dumps(document, indent=1))
    raise SystemExit(any(part.failures for part in chosen))


if __name__ == "__main__":
    main()
