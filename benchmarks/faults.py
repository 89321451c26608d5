"""What goes wrong in long runs, done on purpose: ``python -m benchmarks.faults [PART ...]``.

Each part makes its fault in processes of its own and prints what came of it; `docs/hardening.md` has the figures.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

MILLION = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    for name in parser.parse_args().parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            for line in PARTS[name](Path(folder)):
                print(f"{name:10} {line}", flush=True)


# ---------------------------------------------------------------- a scheduler that is killed


def lost_scheduler(folder: Path) -> Iterator[str]:
    """Kill the scheduler between two rounds of local steps, and resume on another cluster."""
    from distributed import Client

    import dask
    from setloss.dask import BagClassifier, ClusterLostError

    data = tracks_in_parts(4)
    options = {"solver": "frank_wolfe", "checkpoint": str(folder / "fit.npz"), "tol": 1e-3, "C": 0.3}
    reach = {"set_as_default": False, "timeout": 300}
    with dask.config.set({"distributed.comm.timeouts.connect": "3s", "distributed.comm.retry.count": 0}):
        with (
            dask_processes(folder / "one.json") as scheduler,
            Client(scheduler_file=folder / "one.json", **reach) as c,
        ):
            model = BagClassifier(client=c, callbacks=[killer(scheduler, 4)], **options)
            try:
                model.fit(*data)
            except ClusterLostError as error:
                yield f"killed after 4 iterations: {error}"
        with dask_processes(folder / "two.json"), Client(scheduler_file=folder / "two.json", **reach) as c:
            resumed = BagClassifier(client=c, **options).fit(*data)
    whole = BagClassifier(**{**options, "checkpoint": None}).fit(*data)
    first = resumed.solution_.history[0].iteration
    yield f"resumed at iteration {first}, ended at {resumed.n_iter_} with a gap of {resumed.dual_gap_:.1e}"
    apart = abs(resumed.solution_.primal / whole.solution_.primal - 1)
    yield f"a run without the fault takes {whole.n_iter_} iterations; the objectives differ by {apart:.1e}"


def tracks_in_parts(parts: int, frames: int = 6000, features: int = 400) -> tuple[Any, ...]:
    """Generated tracks as Dask arrays in partitions of whole bags."""
    import dask.array as da

    from setloss.dask.repartition import whole_bag_chunks
    from setloss.datasets import make_tracks

    tracks = make_tracks(frames // 15, frames, features, dtype="float32")
    sizes = whole_bag_chunks(tracks.groups, parts)
    arrays = (tracks.X, tracks.y, tracks.groups)
    return tuple(da.from_array(array, chunks=(sizes, *array.shape[1:])) for array in arrays)


@contextmanager
def dask_processes(file: Path) -> Iterator[subprocess.Popen]:
    """A scheduler, which is yielded, and a worker without a nanny."""
    words = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
    commands = (("scheduler", "--port", "0", "--no-jupyter"), ("worker", "--no-nanny", "--nthreads", "1"))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([sys.executable, "-m", "dask", *command, *words], **quiet) for command in commands]
    try:
        yield started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()


def killer(process: subprocess.Popen, iteration: int) -> Callable[[Any], None]:
    """A callback that kills a process."""

    def callback(record: Any) -> None:
        if record.iteration == iteration:
            process.send_signal(signal.SIGKILL)
            process.wait()

    return callback


# ---------------------------------------------------------------- workers at their limit


def memory_limits(folder: Path) -> Iterator[str]:
    """Partitions that fit into the memory of a worker, and such that do not."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from setloss.dask import BagClassifier, ClusterLostError

    limit, features = 600, 500
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    for megabytes, parts in ((40, 4), (1600, 1)):
        rows = int(megabytes * MILLION / 8 / features)
        X = da.random.default_rng(0).normal(size=(rows, features), chunks=(-(-rows // parts), features))
        y = (X[:, 0] > 0).astype(int)
        with LocalCluster(memory_limit=f"{limit}MB", **options) as cluster, Client(cluster) as client:
            model = BagClassifier(solver="cutting_plane", tol=0.1, max_iter=5, client=client)
            what = f"{megabytes} MB in {parts} partitions, workers of {limit} MB: "
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    yield f"{what}{model.fit(X, y).solution_.iterations} iterations"
            except ClusterLostError as error:
                yield f"{what}{error}"


# ---------------------------------------------------------------- compiling


FIT = """
import numpy as np, sys
from setloss.datasets import make_toy
from setloss.estimators import BagClassifier
tracks = make_toy(n_bags=60, p=5)
print(repr(BagClassifier().fit(tracks.X, tracks.y, groups=tracks.groups).solution_.primal))
"""


def cold_compile(folder: Path) -> Iterator[str]:
    """Two processes that compile into one empty folder at once, and one that may write nowhere."""
    shared = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    nowhere = os.environ | {"NUMBA_CACHE_DIR": "/proc/nowhere", "HOME": "/proc/nowhere"}
    together = answers([shared, shared])
    yield f"two at once, no kernels yet: {' and '.join(together)}"
    yield f"after them, from what they kept: {answers([shared])[0]}"
    yield f"no folder can be written, HOME neither: {answers([nowhere])[0]}"


def answers(environments: list[dict[str, str]]) -> list[str]:
    """What processes that run at the same time print at the end, with their exit codes."""
    ends = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", FIT], env=env, **ends) for env in environments]
    done = [(process, *process.communicate()) for process in started]
    return [f"{out.strip() or error.strip()[-200:]} (exit {process.returncode})" for process, out, error in done]


# ---------------------------------------------------------------- memory that grows


def resident() -> float:
    """Megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / MILLION


def many_fits(folder: Path) -> Iterator[str]:
    """2,000 fits of changing sizes in one process."""
    from setloss.estimators import BagClassifier

    generator = np.random.default_rng(0)

    def fit(_: int) -> None:
        frames, features = generator.integers(20, 80), generator.integers(2, 12)
        X = generator.normal(size=(frames, features))
        groups = np.sort(generator.integers(0, frames // 4, frames))
        BagClassifier(tol=0.2, C=0.01).fit(X, np.arange(frames) % 2, groups=groups)

    yield growth(fit, 2000, "fits of BagClassifier")


def many_calls(folder: Path) -> Iterator[str]:
    """20,000 calls of `SetLoss` on tensors of changing shapes."""
    import torch

    from setloss.nn import SetLoss

    generator, loss = np.random.default_rng(0), SetLoss()

    def call(_: int) -> None:
        shape = tuple(int(size) for size in generator.integers(1, 40, size=2))
        scores = torch.from_numpy(generator.normal(size=shape)).float().requires_grad_()
        loss(scores, torch.from_numpy(generator.random(shape) < 0.3)).backward()

    yield growth(call, 20_000, "calls of SetLoss")


def growth(work: Callable[[int], None], times: int, what: str) -> str:
    """Memory after a tenth of the work, after half of it, and at the end."""
    seen = []
    for k in range(times):
        work(k)
        if k + 1 in (times // 10, times // 2, times):
            seen.append(resident())
    early, half, end = seen
    return f"{times} {what}: {early:.0f} MB after {times // 10}, {half:.0f} after {times // 2}, {end:.0f} at the end"


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "scheduler": lost_scheduler,
    "limits": memory_limits,
    "compile": cold_compile,
    "fits": many_fits,
    "calls": many_calls,
}


if __name__ == "__main__":
    main()
