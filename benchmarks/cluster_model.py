"""A fit on many machines, simulated on constants measured here: ``python -m benchmarks.cluster_model``.

Measured on this machine: the speed of a pass over X, what a round costs the scheduler, and the program over the
planes. Assumed, as options: machines, their cores and network, stragglers, rounds. The simulation goes through a
round task by task: the scheduler hands out one after the other, a core that is free takes the next, some cores are
slow at random, and the answers are added eight at a time.
"""

from __future__ import annotations

import argparse
import heapq
import os
from collections.abc import Sequence
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.measure import best_time
from benchmarks.partitions import cluster_of, round_seconds
from benchmarks.solvers import track_problem
from setloss.dask.driver_problem import LINE_STEPS
from setloss.dask.engines import FAN_IN
from setloss.datasets import make_tracks
from setloss.solvers.master import solve_master

PLANES = 100
"""The program over the planes is measured at this size."""

LOCAL_PASSES = 11.0
"""Passes of a round of local steps: three, and 1.6 for each of five epochs, counted on 400 bags of 2000 features."""


REPEATS = 20
"""So many rounds of each kind are simulated."""


@dataclass(frozen=True)
class Constants:
    """Seconds, measured: per byte of X and pass, per frame and evaluation of surrogates, per round, per task of a
    round, per program over the planes.
    """

    per_byte: float
    per_frame: float
    per_round: float
    per_task: float
    program: float


@dataclass(frozen=True)
class Cluster:
    """What is assumed of the machines; a task is `slowdown` times as slow with a chance of `stragglers`.

    `memory` is the bytes per second that the cores of a machine share; `disk` those at which every round reads its
    partitions, None if they are in memory.
    """

    machines: int = 100
    cores: int = 16
    disk: float | None = None
    memory: float = 100e9
    bandwidth: float = 1e9
    stragglers: float = 0.01
    slowdown: float = 3.0

    def seconds_per_byte(self, passes: float, per_byte: float) -> float:
        """Of a core that reads its partition, if it is on disk, and passes over it so often."""
        reading = 0.0 if self.disk is None else self.cores / self.disk
        return passes * max(per_byte, self.cores / self.memory) + reading


def measure(frames: int = 10_000, features: int = 2000) -> Constants:
    """The constants of this machine, one core."""
    tracks = make_tracks(frames // 20, frames, features, dtype="float32")
    problem = track_problem(tracks.X, tracks.y, tracks.groups, 0.3)
    W, slopes = np.zeros(problem.shape), np.ones(frames)
    both = best_time(lambda: (problem.margins(W), problem.parameters(slopes)), repeats=3)
    margins = np.random.default_rng(2).normal(size=frames)
    evaluation = best_time(lambda: problem.cuts(margins), repeats=3)
    planes = np.random.default_rng(0).normal(size=(PLANES, features))
    offsets = np.random.default_rng(1).random(PLANES)
    gram, blocks = planes @ planes.T / features, np.zeros(PLANES, dtype=np.intp)
    program = best_time(lambda: solve_master(gram, offsets, blocks), repeats=3)
    few, many = FAN_IN**2 + 1, 3 * FAN_IN**2  # so many partitions are a task each
    with cluster_of(1) as client:
        short, long = (round_seconds(client, parts, features + 1) for parts in (few, many))
    per_task = max(long - short, 0.0) / (many - few)
    per_byte, per_frame = both / 2 / tracks.X.nbytes, evaluation / frames
    return Constants(per_byte, per_frame, max(short - few * per_task, 0.0), per_task, program)


@dataclass(frozen=True)
class Work:
    """What a task does in a round: passes over its partition, and evaluations of the surrogates of its frames."""

    frames: float
    features: int
    passes: float = 1.0
    evaluations: int = 1

    def seconds(self, constants: Constants, cluster: Cluster) -> float:
        """Of a core that is not slow."""
        per_frame = 4 * self.features * cluster.seconds_per_byte(self.passes, constants.per_byte)
        return self.frames * (per_frame + self.evaluations * constants.per_frame)


def simulate_round(
    constants: Constants, cluster: Cluster, work: Work, generator: np.random.Generator, spread: float = 0.05
) -> float:
    """Seconds of one round in which every core of every machine works on its partition.

    Times of tasks that are not slow differ by about `spread`, relatively.
    """
    tasks = cluster.machines * cluster.cores
    handed_out = constants.per_round + constants.per_task * np.arange(1, tasks + 1)
    slow = np.where(generator.random(tasks) < cluster.stragglers, cluster.slowdown, 1.0)
    times = work.seconds(constants, cluster) * slow * generator.lognormal(0.0, spread, tasks)
    free = [[0.0] * cluster.cores for _ in range(cluster.machines)]
    finished = []
    for task, (start, seconds) in enumerate(zip(handed_out, times, strict=True)):
        cores = free[task % cluster.machines]
        end = max(start, heapq.heappop(cores)) + seconds
        heapq.heappush(cores, end)
        finished.append(end)
    vectors = FAN_IN * 8 * (work.features + 1)
    return _added(finished, vectors / cluster.bandwidth + constants.per_task)


def _added(finished: Sequence[float], hop: float) -> float:
    """When the sum is there: a sum of eight starts when the last of them has come, and takes a hop."""
    times = np.asarray(finished)
    while len(times) > 1:
        groups = np.array_split(times, range(FAN_IN, len(times), FAN_IN))
        times = np.array([group.max() + hop for group in groups])
    return float(times[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=float, default=1e9)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--disk", type=float, help="bytes a second that a machine reads; by default X is in memory")
    parser.add_argument("--iterations", type=int, nargs=2, default=(54, 26), help="without and with local steps")
    options = parser.parse_args()
    cluster = Cluster(options.machines, options.cores, options.disk)
    constants = measure(features=options.features)
    total = 4.0 * options.frames * options.features
    part = total / (cluster.machines * cluster.cores)
    _print_constants(constants, cluster)
    print(f"X: {total / 1e12:g} TB, {total / cluster.machines / 1e9:g} GB a machine, {part / 1e9:.3g} GB a partition")
    print(f"\n{'':14} {'rounds':>7} {'s / line':>9} {'s / cut':>9} {'waiting':>8} {'minutes':>8}")
    generator = np.random.default_rng(0)
    names = ("cutting plane", "local steps")
    frames = options.frames / (cluster.machines * cluster.cores)
    search = Work(frames, options.features, evaluations=LINE_STEPS)
    for name, iterations, passes in zip(names, options.iterations, (1.0, LOCAL_PASSES), strict=True):
        works = (search, Work(frames, options.features, passes))
        line, cut = (
            np.mean([simulate_round(constants, cluster, work, generator) for _ in range(REPEATS)]) for work in works
        )
        seconds = iterations * (line + cut + constants.program)
        busy = iterations * sum(work.seconds(constants, cluster) for work in works)
        numbers = f"{2 * iterations:7d} {line:9.2f} {cut:9.2f} {1 - busy / seconds:8.0%} {seconds / 60:8.1f}"
        print(f"{name:14} {numbers}")


def _print_constants(constants: Constants, cluster: Cluster) -> None:
    speed, rate = 1e-9 / constants.per_byte, 1e-9 * cluster.bandwidth
    print(f"measured: a pass {speed:.2f} GB/s a core, surrogates {1e9 * constants.per_frame:.0f} ns a frame, a round")
    print(f"  {1e3 * constants.per_round:.1f} ms and {1e3 * constants.per_task:.2f} ms a task,", end=" ")
    print(f"a program of {PLANES} planes {1e3 * constants.program:.1f} ms")
    where = "X in memory" if cluster.disk is None else f"X read at {1e-9 * cluster.disk:g} GB/s a machine"
    print(f"assumed: {cluster.machines} machines of {cluster.cores} cores, {where}, network {rate:g} GB/s, one task")
    slow, memory = f"{cluster.slowdown:g} times as slow", 1e-9 * cluster.memory
    print(f"  in {1 / cluster.stragglers:.0f} is {slow}, memory {memory:g} GB/s a machine")


if __name__ == "__main__":
    main()
