"""Threads, Hypothesis profiles, and the order of files."""

import gc
import multiprocessing
import os

from hypothesis import HealthCheck, settings

# Threads of BLAS and OpenMP wait for each other in loops, beside as many workers of pytest as there are cores: that
# took a third of a run. Tests of threads ask for theirs, which wait 2^4 cycles. Both libraries look here when they
# are loaded.
for _name, _value in (("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1"), ("OPENBLAS_THREAD_TIMEOUT", "4")):
    os.environ.setdefault(_name, _value)
os.environ["LOKY_MAX_CPU_COUNT"] = "1"  # experiments use all cores

# Workers of Dask fork from a process that has imported Dask; its own default starts a new interpreter for each.
if "forkserver" in multiprocessing.get_all_start_methods():
    os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")

_common = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", _common)
settings.register_profile("ci", _common, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

LONGEST = frozenset({"tests/test_site.py", "tests/estimators/test_sklearn.py", "tests/dask/test_scheduling.py"})
"""Files of half a minute: they come first, so that no worker of pytest is left with one when the others are done."""


def pytest_collection_modifyitems(items):
    """Put the longest files first."""
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in LONGEST)


def pytest_collection_finish():
    """What the imports of all tests have made stays: searches for garbage need not go through it."""
    gc.collect()
    gc.freeze()
