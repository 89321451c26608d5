"""Runs that are done, one a line in a file: a command that was interrupted goes on, and pieces add up.

A run is taken from the file if version, data, folds and choices are the same; which other methods and data sets ran
beside it does not matter.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import setloss
from experiments.label_sets.data import DataSet
from experiments.metrics import Judgement

if TYPE_CHECKING:
    from experiments.label_sets.protocol import BenchmarkPlan, Run


@dataclass(frozen=True, eq=False)
class KeptRuns:
    """The runs of one data set under one plan in a file of runs; without a file nothing is kept."""

    file: Path | None
    key: str
    lines: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, file: Path | None, data: DataSet, plan: BenchmarkPlan) -> KeptRuns:
        """What the file has of this data set and plan."""
        facts = [setloss.__version__, data.name, list(data.X.shape), plan.folds, asdict(plan.choice)]
        key = hashlib.sha256(json.dumps(facts).encode() + np.packbits(data.Y == 1).tobytes()).hexdigest()[:16]
        found = cls(file, key)
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                run = _parsed(line)
                if run.get("key") == key:
                    found.lines[run["method"], run["split"]] = run
        return found

    def get(self, method: str, split: int) -> Run | None:
        """The run, if it is kept."""
        from experiments.label_sets.protocol import Run

        line = self.lines.get((method, split))
        if line is None:
            return None
        judgement = Judgement(line["means"], {name: np.array(values) for name, values in line["examples"].items()})
        return Run(method, split, judgement, line["seconds"], line["chosen"], line["expected"])

    def add(self, run: Run) -> None:
        """Write a run at the end of the file."""
        if self.file is None:
            return
        examples = {name: values.tolist() for name, values in run.judgement.examples.items()}
        line = {"key": self.key, "method": run.method, "split": run.split, "means": run.judgement.means}
        line |= {"examples": examples, "seconds": run.seconds, "chosen": run.chosen, "expected": run.expected}
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def _parsed(line: str) -> dict[str, Any]:
    """A line of the file; an empty dictionary where an interruption cut the line short."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
