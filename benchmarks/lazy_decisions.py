"""Decisions of Dask arrays: CPU time of two processes against that of one over the same blocks.

python -m benchmarks.lazy_decisions [ROWS]          10,000,000 rows of 50 scores by default

Both sides run the same allocator, without Dask's order to return freed memory at once (`MALLOC_TRIM_THRESHOLD_`), and
Dask's profiler is off, which looks at every worker by the clock: on a busy machine that costs more than the work.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.measure import Row
from setloss.estimators import SetDecision

LABELS, BLOCK = 50, 100_000

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


def scores_of_block(number: int) -> NDArray[Any]:
    """The scores of one block, the same in every process."""
    return np.random.default_rng(number).normal(-2, 1.5, size=(BLOCK, LABELS))


def rows(quick: bool, n: int | None = None) -> list[Row]:
    """Blocks of 100,000 sets decided by workers, and the same blocks by one process; sums of sizes must agree."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from dask import config, delayed

    blocks = max(2, (n or (300_000 if quick else 10_000_000)) // BLOCK)
    first = scores_of_block(0)[:5000]
    model = SetDecision(rule="counts").fit(first, np.random.default_rng(0).random(first.shape) < expit(first))
    parts = [da.from_delayed(delayed(scores_of_block)(i), (BLOCK, LABELS), float) for i in range(blocks)]
    lazy = model.predict(da.concatenate(parts))
    with (
        config.set(QUIET),
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(_warm, model)
        before = sum(client.run(time.process_time).values())
        chosen = int(lazy.sum().compute())
        both = sum(client.run(time.process_time).values()) - before
        peak = max(client.run(_peak_megabytes).values())
    _warm(model)
    start = time.process_time()
    alone = sum(int(model.predict(scores_of_block(i)).sum()) for i in range(blocks))
    one = time.process_time() - start
    assert chosen == alone
    note = f"{blocks * BLOCK:,} x {LABELS} scores, CPU seconds; {peak:.0f} MB at most in a process"
    return [Row("SetDecision.predict of a Dask array, two processes", both, one, 1.3, note=note)]


def _warm(model: SetDecision) -> int:
    """Compile or load the kernels."""
    return int(model.predict(scores_of_block(0)[:100]).sum())


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    for row in rows(False, int(sys.argv[1]) if len(sys.argv) > 1 else None):
        print(row.line())
