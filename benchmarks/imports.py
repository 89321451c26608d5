"""How long `import setloss` takes, against `import sklearn.svm`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.measure import Row, side_by_side


def rows(quick: bool) -> Iterator[Row]:
    def importing(module: str):
        return lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True)

    ours, reference = side_by_side(importing("setloss"), importing("sklearn.svm"), repeats=3 if quick else 7)
    yield Row("import setloss / import sklearn.svm", ours, reference, 1.3)
