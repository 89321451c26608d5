"""Hypothesis profiles, and at the end of a run what was not tested and what would enable it."""

import gc
import multiprocessing
import os
import re
from collections import Counter
from importlib.util import find_spec

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

ENABLED_BY = {
    r"\bnode\b": "install Node.js (apt-get install nodejs): it runs the mathematics of the explore page",
    r"chrom": "install Chromium (apt-get install chromium): it opens the explore page",
    r"SETLOSS_DATA": "set SETLOSS_DATA to the folder of the real data sets",
    r"compiler": "install a C++ compiler (apt-get install g++)",
    r"could not import '([\w.]+)'": "pip install {0}",
    r"not installed: ([^;]+)": "pip install {0}",
}
"""What a reason for skipping says, and what to do about it."""

LONGEST = frozenset({"tests/test_site.py", "tests/estimators/test_sklearn.py", "tests/dask/test_scheduling.py"})
"""Files of half a minute: they come first, so that no worker of pytest is left with one when the others are done."""

NOT_COLLECTED = {"torch": "tests/nn", "distributed": "tests/dask"}


def pytest_collection_modifyitems(items):
    """Put the longest files first."""
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in LONGEST)


def pytest_collection_finish():
    """What the imports of all tests have made stays: searches for garbage need not go through it."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested, and which package would enable it."""
    counts = Counter(remedy_for(str(report.longrepr)) for report in terminalreporter.stats.get("skipped", ()))
    missing = {package: folder for package, folder in NOT_COLLECTED.items() if find_spec(package) is None}
    if not counts and not missing:
        return
    terminalreporter.section("not tested")
    for package, folder in missing.items():
        terminalreporter.line(f"all of {folder}: pip install {package}")
    for remedy, count in counts.most_common():
        terminalreporter.line(f"{count} test{'s' * (count > 1)}: {remedy}")


def remedy_for(reason: str) -> str:
    """What to do about a reason, or the reason itself."""
    for pattern, remedy in ENABLED_BY.items():
        match = re.search(pattern, reason)
        if match is not None:
            return remedy.format(*match.groups())
    return reason.rpartition("Skipped: ")[2].rstrip("')\" ")
