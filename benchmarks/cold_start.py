"""The first call on a machine without compiled kernels, against `import torch`: processor time of fresh processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from benchmarks.measure import Row

TORCH = "import torch"
FIT = """
from experiments.generators import make_toy
from setloss.estimators import SetClassifier
tracks = make_toy(n_bags=100, p=6)
SetClassifier({options}).fit(tracks.X, tracks.y, groups=tracks.groups)
"""
DECISION = """
import numpy as np
from setloss import decide
decide(np.random.default_rng(0).normal(size=(20, 8)), loss="{loss}")
"""
LOSS = """
import torch
from setloss.nn import SetLoss
SetLoss()(torch.randn(2, 8, 8, requires_grad=True), torch.rand(2, 8, 8) < 0.3).backward()
"""


LATER = {
    "fit by Frank-Wolfe": FIT.format(options="solver='frank_wolfe'"),
    "fit by ADMM": FIT.format(options="solver='admm'"),
    "decision for Dice": DECISION.format(loss="dice"),
    "decision for Jaccard": DECISION.format(loss="jaccard"),
}
"""What larger problems and other commands compile: each on an empty folder too."""


def processor_seconds(script: str, kept: str) -> float:
    """User and system time of a new process that keeps its kernels in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", script], env=os.environ | {"NUMBA_CACHE_DIR": kept}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compiling_seconds(script: str) -> float:
    """What the first run takes longer than the second."""
    with TemporaryDirectory() as kept:
        return processor_seconds(script, kept) - processor_seconds(script, kept)


def rows(quick: bool) -> Iterator[Row]:
    with TemporaryDirectory() as kept:
        reference = min(processor_seconds(TORCH, kept) for _ in range(1 if quick else 3))
    first = {"SetClassifier().fit": FIT.format(options=""), "SetLoss()": LOSS}
    for what, script in first.items():
        yield Row(f"compiling at the first {what} / import torch", compiling_seconds(script), reference, 4)
    if not quick:
        for what, script in LATER.items():
            yield Row(f"compiling at the first {what} / import torch", compiling_seconds(script), reference)
