"""What the process has in memory that `helpers.forked` forks others from: what commands and workers of Dask need."""

from contextlib import suppress
from importlib import import_module

import numpy as np

from setloss.estimators import SetClassifier

for _name in (
    "setloss.cli",
    "setloss.io.models",
    "setloss.dask.estimators",
    "distributed.cli.dask_worker",
):
    with suppress(ImportError):
        import_module(_name)

SetClassifier(tol=0.1).fit(np.eye(2), [0, 1], groups=[0, 1])  # loads compiled kernels, and what they need of numba
