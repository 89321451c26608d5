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
from setloss.datasets import make_toy
from setloss.estimators import BagClassifier
tracks = make_toy(n_bags=100, p=6)
BagClassifier().fit(tracks.X, tracks.y, groups=tracks.groups)
"""
LOSS = """
import torch
from setloss.nn import SetLoss
SetLoss()(torch.randn(2, 8, 8, requires_grad=True), torch.rand(2, 8, 8) < 0.3).backward()
"""


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
    yield Row("compiling at the first BagClassifier().fit / import torch", compiling_seconds(FIT), reference, 4)
    yield Row("compiling at the first SetLoss() / import torch", compiling_seconds(LOSS), reference, 4)
