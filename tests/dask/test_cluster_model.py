"""The simulation of a cluster agrees with the formula of the documentation where nothing is random."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.cluster_model", reason="the benchmarks are not beside the tests")

from benchmarks.cluster_model import Cluster, Constants, Work, simulate_round

from setloss.dask.engines import FAN_IN

CONSTANTS = Constants(per_byte=1e-9, per_frame=1e-7, per_round=0.02, per_task=0.001, program=0.01)


WORK = Work(frames=250_000, features=1000, evaluations=0)


def seconds(cluster, work=WORK):
    return simulate_round(CONSTANTS, cluster, work, np.random.default_rng(0), spread=0.0)


@pytest.mark.parametrize(("machines", "cores", "hops"), [(1, 1, 0), (2, 4, 1), (4, 16, 2), (100, 16, 4)])
def test_a_round_takes_what_the_formula_says(machines, cores, hops):
    cluster = Cluster(machines, cores, memory=1e15, stragglers=0.0)
    tasks = machines * cores
    hop = CONSTANTS.per_task + FAN_IN * 8 * 1001 / cluster.bandwidth
    expected = CONSTANTS.per_round + tasks * CONSTANTS.per_task + 1.0 + hops * hop
    assert seconds(cluster) == pytest.approx(expected)


def test_one_slow_task_makes_a_slow_round():
    assert seconds(Cluster(10, 4, memory=1e15, stragglers=1.0)) > 2.9
    assert seconds(Cluster(10, 4, memory=1e15, stragglers=0.0)) < 1.1


def test_cores_share_memory_and_disk():
    free = seconds(Cluster(1, 10, memory=1e15, stragglers=0.0))
    assert seconds(Cluster(1, 10, memory=5e9, stragglers=0.0)) == pytest.approx(free + 1.0)
    assert seconds(Cluster(1, 10, disk=1e9, memory=1e15, stragglers=0.0)) == pytest.approx(free + 10.0)


def test_evaluations_of_surrogates_take_time():
    cluster = Cluster(1, 1, memory=1e15, stragglers=0.0)
    more = Work(WORK.frames, WORK.features, evaluations=16)
    assert seconds(cluster, more) == pytest.approx(seconds(cluster) + 16 * 250_000 * 1e-7)
