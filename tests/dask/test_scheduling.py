"""A real cluster of worker processes: the same problem, and faults that change nothing of what is promised."""

import os
import signal
import threading
from itertools import pairwise
from uuid import uuid4

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.core import Status

import dask
import setloss.estimators as local
from dask import delayed
from helpers.children import PATIENCE, until
from helpers.estimator_data import frame_data, named, objective
from helpers.forked import fork_server
from helpers.partitioned import assert_certified, assert_same_problem, block_of, lengths
from setloss.dask import ClusterLostError, PartitionError
from setloss.dask import DaskSetClassifier as SetClassifier

QUIET = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.daemon": True,
    "distributed.worker.profile.enabled": False,
    "distributed.logging.distributed": "critical",
    "distributed.scheduler.allowed-failures": 1,
}
OPTIONS = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
IN_PROCESS = {**OPTIONS, "n_workers": 1, "processes": False}
SHORT_TIMEOUTS = {"distributed.comm.timeouts.connect": "3s", "distributed.comm.retry.count": 0}
DATA = frame_data(40)
QUICK = {"C": 0.1, "tol": 1e-2}
"""Six to eight iterations: some after the third, in which faults happen."""


@pytest.fixture(scope="module")
def cluster():
    fork_server()
    with dask.config.set(QUIET), LocalCluster(**OPTIONS) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


@pytest.fixture
def small_cluster():
    """One worker, a thread of this process."""
    with LocalCluster(**IN_PROCESS) as cluster:
        yield cluster


def readable(parts=4, block=block_of):
    """Data that every worker can read again: nothing of it lies in one place only."""
    edges = np.concatenate(([0], np.cumsum(lengths(len(DATA[1]), parts, DATA[2])))).tolist()

    def lazy(which, array):
        read = [(delayed(block)(lo, hi, which), (hi - lo, *array.shape[1:])) for lo, hi in pairwise(edges)]
        return da.concatenate([da.from_delayed(rows, shape, array.dtype) for rows, shape in read])

    return [lazy(which, array) for which, array in enumerate(DATA)]


def deadly_block(lo, hi, which):
    """Rows that are too many for the memory of any worker."""
    if lo:
        os.kill(os.getpid(), signal.SIGKILL)
    return block_of(lo, hi, which)


def assert_trained(model):
    assert_certified(model, objective(model, *DATA))
    assert_same_problem(model, local.SetClassifier(C=model.C, tol=1e-6).fit(**named(*DATA)))


class Once:
    """A callback that does something after the third iteration, once."""

    def __init__(self, action):
        self.action, self.done = action, False

    def __call__(self, record):
        if record.iteration == 3 and not self.done:
            self.action()
            self.done = True


def process_with_parts(client):
    """The process of a worker that has partitions."""
    holders = {worker for key, workers in client.who_has().items() if "Problem" in str(key) for worker in workers}
    return client.run(os.getpid)[min(holders)]


# ---------------------------------------------------------------- without faults


@pytest.mark.parametrize("parts", [1, 4, 10])
def test_a_cluster_solves_the_problem_of_one_process(client, parts):
    data = readable(parts)
    there = SetClassifier(**QUICK).fit(**named(*data))
    assert_trained(there)
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert any("apply" in name or "sum" in name for name in names)
    here = local.SetClassifier(**QUICK, solver="cutting_plane").fit(**named(*DATA))
    np.testing.assert_allclose(there.solution_.parameters, here.solution_.parameters, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(there.losses(**named(*data)), there.to_local().losses(**named(*DATA)))


def test_partitions_are_read_once_and_let_go_at_the_end(client, tmp_path):
    def counted(lo, hi, which):
        (tmp_path / uuid4().hex).touch()
        return block_of(lo, hi, which)

    SetClassifier(**QUICK).fit(**named(*readable(4, counted)))
    assert len(list(tmp_path.iterdir())) == 12
    until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_data_on_the_workers_is_used_there_and_bad_rows_are_named_before_training(client):
    X, y, groups = (client.persist(array) for array in readable(3))
    assert_trained(SetClassifier(**QUICK).fit(X, y, groups=groups))
    bad = da.where(da.arange(len(X), chunks=X.chunks[0])[:, None] == len(X) - 1, np.nan, X)
    with pytest.raises(PartitionError, match=r"partition 2: row \d+: feature 0 is NaN or infinite"):
        SetClassifier(callbacks=[lambda record: pytest.fail("trained")]).fit(bad, y, groups=groups)


# ---------------------------------------------------------------- workers are lost


@pytest.mark.parametrize(
    "fault",
    [
        lambda client: os.kill(process_with_parts(client), signal.SIGKILL),
        lambda client: client.restart(timeout=PATIENCE),
    ],
    ids=["a worker is killed", "the cluster is restarted"],
)
def test_partitions_that_are_lost_in_mid_fit_are_read_again(client, fault):
    once = Once(lambda: fault(client))
    assert_trained(SetClassifier(**QUICK, callbacks=[once]).fit(**named(*readable())))
    assert once.done


def test_data_that_a_restart_has_wiped_out_are_lost_in_words(client):
    arrays = [client.persist(array) for array in readable()]
    restart = Once(lambda: client.restart(timeout=PATIENCE))
    model = SetClassifier(**QUICK, callbacks=[restart])
    with pytest.raises(ClusterLostError, match=r"\(scattered or persisted\) are gone: .*restarted.*source"):
        model.fit(**named(*arrays))


def test_a_partition_that_kills_its_workers_is_a_matter_of_memory(client):
    with pytest.raises(ClusterLostError, match="memory of a worker, make smaller partitions"):
        SetClassifier().fit(**named(*readable(2, deadly_block)))


# ---------------------------------------------------------------- all workers are gone


def without_workers(cluster):
    """Take all workers away."""
    cluster.scale(0)
    with Client(cluster, set_as_default=False) as watching:
        until(lambda: not watching.nthreads())


def assert_goes_on(model):
    """A fit that was lost after three iterations is kept, and goes on here in fewer than one from zero."""
    assert model.n_iter_ == 3
    before = model.solution_.primal
    model.fit(**named(*readable()))
    assert model.solution_.primal <= before
    assert model.n_iter_ < SetClassifier().fit(**named(*readable())).n_iter_
    assert_trained(model)


def test_no_worker_for_a_stated_time_is_an_error_and_the_work_goes_on_without_a_cluster(small_cluster):
    model = SetClassifier(warm_start=True, callbacks=[Once(lambda: without_workers(small_cluster))])
    with (
        Client(small_cluster),
        dask.config.set({"setloss.wait-for-workers": 0.5}),
        pytest.raises(ClusterLostError, match=r"no worker that takes tasks for 0\.5 seconds: .*smaller.*warm_start"),
    ):
        model.fit(**named(*readable()))
    assert_goes_on(model)


def test_a_worker_that_comes_back_goes_on(small_cluster):
    def take_and_give():
        without_workers(small_cluster)
        threading.Timer(0.1, small_cluster.scale, (1,)).start()

    with Client(small_cluster):
        assert_trained(SetClassifier(callbacks=[Once(take_and_give)]).fit(**named(*readable())))


def test_workers_that_are_paused_are_short_of_memory(small_cluster):
    with Client(small_cluster) as client, dask.config.set({"setloss.wait-for-workers": 0.5}):
        pause = Once(lambda: client.run(pause_worker))
        with pytest.raises(ClusterLostError, match=r"paused because their memory is full; .* make smaller"):
            SetClassifier(callbacks=[pause]).fit(**named(*readable()))


def pause_worker(dask_worker):
    """What Dask does with a worker whose memory is nearly full."""
    dask_worker.status = Status.paused


# ---------------------------------------------------------------- the scheduler is gone


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_lost_scheduler_is_an_error_and_the_work_goes_on_on_another_cluster(small_cluster, cluster):
    model = SetClassifier(warm_start=True, callbacks=[Once(small_cluster.close)])
    with (
        dask.config.set(SHORT_TIMEOUTS),
        Client(small_cluster),
        pytest.raises(ClusterLostError, match=r"the scheduler at .* is gone\. .*warm_start=True"),
    ):
        model.fit(**named(*readable()))
    with Client(cluster):
        assert_goes_on(model)
