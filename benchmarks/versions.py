"""Two versions of the package side by side: ``python -m benchmarks.versions OLD NEW``, folders that hold `setloss`.

Each version runs in a process of its own, one thread. They take turns case by case, so that a slow moment of the
machine meets both; the least processor time of each counts, after a first call that compiles. The cases use names
that versions 0.1 and 0.2 share.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import tracks

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cuts(loss: str, operator: str) -> Callable[[], object]:
    """The cuts of all tracks."""
    from setloss.losses import PAPER_CURVES, Jaccard
    from setloss.plans.batch import batch_surrogate

    margins, labels, offsets = tracks()
    batch = batch_surrogate(PAPER_CURVES[loss] if loss in PAPER_CURVES else Jaccard(), labels, offsets, operator)
    return lambda: batch.cuts(margins)


def fit(solver: str) -> Callable[[], object]:
    """A model of 400 bags to a gap of 1e-2."""
    from experiments.generators import make_toy
    from setloss.estimators import SetClassifier
    from setloss.losses import PAPER_CURVES

    toy = make_toy(n_bags=400, p=8)
    model = SetClassifier(PAPER_CURVES["curve1"], "bd", C=0.1, solver=solver, tol=1e-2)
    return lambda: model.fit(toy.X, toy.y, groups=toy.groups)


def network(loss: str, operator: str, size: int) -> Callable[[], object]:
    """Value and gradient of a batch of four masks."""
    import torch

    from setloss.nn import SetLoss

    torch.set_num_threads(1)
    torch.manual_seed(0)
    logits = torch.randn(4, size, size, requires_grad=True)
    target, criterion = torch.rand(4, size, size) < 0.3, SetLoss(loss, operator)
    return lambda: criterion(logits, target).backward()


CASES = {
    "cuts of 1437 tracks, B_D of curve 1": partial(cuts, "curve1", "bd"),
    "cuts of 1437 tracks, S of curve 1": partial(cuts, "curve1", "slack"),
    "cuts of 1437 tracks, B_D of Jaccard": partial(cuts, "jaccard", "bd"),
    "cuts of 1437 tracks, L of Jaccard": partial(cuts, "jaccard", "lovasz"),
    "fit of 400 bags, Frank-Wolfe": partial(fit, "frank_wolfe"),
    "fit of 400 bags, cutting planes": partial(fit, "cutting_plane"),
    "SetLoss of 4 x 32 x 32, bd-monotone of Dice": partial(network, "dice", "bd-monotone", 32),
    "SetLoss of 4 x 256 x 256, bd-monotone of Dice": partial(network, "dice", "bd-monotone", 256),
    "SetLoss of 4 x 256 x 256, L of Jaccard": partial(network, "jaccard", "lovasz", 256),
}


def answer() -> None:
    """In a child: for every name of a case on standard input, the processor time of one call."""
    known: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            known[name] = CASES[name]()
            known[name]()
        calls = 0
        start = time.process_time()
        while calls == 0 or time.process_time() - start < 0.05:
            known[name]()
            calls += 1
        print((time.process_time() - start) / calls, flush=True)


class Version:
    """A process that uses the package in one folder."""

    def __init__(self, folder: str) -> None:
        path = os.pathsep.join((folder, str(Path.cwd())))
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.versions"]
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": path}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, case: str) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", help="the old and the new folder; none in a child")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if not options.folders:
        answer()
        return
    old, new = (Version(folder) for folder in options.folders)
    print("| what | old, ms | new, ms | new / old |\n|---|---|---|---|")
    for case in CASES:
        times = [(old.seconds(case), new.seconds(case)) for _ in range(options.rounds)]
        before, after = (1000 * min(each) for each in zip(*times, strict=True))
        print(f"| {case} | {before:.3g} | {after:.3g} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
