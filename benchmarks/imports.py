"""How long `import setloss` takes, against `import sklearn.svm`, and `import setloss.nn` against `import torch`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Row, side_by_side


def rows(quick: bool) -> Iterator[Row]:
    def importing(module: str):
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    for ours, reference, limit in (("setloss", "sklearn.svm", 1.3), ("setloss.nn", "torch", 1.6)):
        seconds = side_by_side(importing(ours), importing(reference), repeats=3 if quick else 7)
        yield Row(f"import {ours} / import {reference}", *seconds, limit)
