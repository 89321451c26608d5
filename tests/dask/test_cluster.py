"""A real cluster of worker processes: the same numbers, and faults that change none of what is promised."""

import os
import signal
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest

import dask
import setloss.estimators as local
from dask import delayed
from helpers.forked import fork_server
from helpers.partitioned import (
    assert_certified,
    assert_same_problem,
    bag_objective,
    block_of,
    frames,
    lengths,
    parted,
)
from helpers.waiting import PATIENCE, until

distributed = pytest.importorskip("distributed")

from distributed import Client, LocalCluster  # noqa: E402

from setloss.dask import BagClassifier, ClusterLostError, PartitionError, SetClassifier, engines  # noqa: E402

QUIET = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.daemon": True,
    "distributed.worker.profile.enabled": False,
    "distributed.logging.distributed": "critical",
}
OPTIONS = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
QUICK = {"C": 0.1, "tol": 1e-2}
"""Six to eight iterations: some after the third, in which faults happen."""


@pytest.fixture(scope="module")
def cluster():
    fork_server()
    with dask.config.set(QUIET), LocalCluster(**OPTIONS) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=PATIENCE)
        yield client


def readable(parts=4):
    """Data that every worker can read again: nothing of it lies in one place only."""
    X, y, groups = frames(40)
    sizes = lengths(len(y), parts, groups)
    edges = np.concatenate(([0], np.cumsum(sizes))).tolist()
    arrays = []
    for which, array in enumerate((X, y, groups)):
        blocks = [
            da.from_delayed(delayed(block_of)(lo, hi, which), (hi - lo, *array.shape[1:]), array.dtype)
            for lo, hi in pairwise(edges)
        ]
        arrays.append(da.concatenate(blocks))
    return arrays


def assert_trained(model):
    X, y, groups = frames(40)
    assert_certified(model, bag_objective(model, X, y, groups))
    assert_same_problem(model, local.BagClassifier(C=model.C, tol=1e-6).fit(X, y, groups))


class Once:
    """A callback that does something after one iteration, once."""

    def __init__(self, action, iteration=3):
        self.action, self.iteration, self.done = action, iteration, False

    def __call__(self, record):
        if record.iteration == self.iteration:
            self.action()
            self.done = True


def places_of_parts(client):
    """The workers that have each of the partitions; one that has moved is a task without a place, and one with."""
    found = {key: sorted(holders) for key, holders in client.who_has().items() if "make_partition" in str(key)}
    return {key: holders for key, holders in found.items() if holders}


def holders_of_parts(client):
    """The workers that have partitions."""
    return {holder for holders in places_of_parts(client).values() for holder in holders}


def process_with_parts(client):
    """The process of a worker that has partitions."""
    return client.run(os.getpid)[min(holders_of_parts(client))]


# ---------------------------------------------------------------- without faults


@pytest.mark.parametrize("solver", ["cutting_plane"])
@pytest.mark.parametrize("adding", ["driver", "workers"])
def test_a_cluster_gives_the_numbers_of_one_process(client, solver, adding, monkeypatch):
    """Whoever adds the answers of ten partitions, which takes two levels of sums."""
    data, options = readable(10), {**QUICK, "solver": solver, "random_state": 1}
    here = BagClassifier(**options).fit(*data)
    losses = here.losses(*data).tolist()
    if adding == "workers":
        monkeypatch.setattr(engines, "SENT_ALONG", -1)
        monkeypatch.setattr(engines, "tree_sum", lambda *_: pytest.fail("the driver adds"))
    there = BagClassifier(**options, client=client).fit(*data)
    np.testing.assert_array_equal(there.solution_.parameters, here.solution_.parameters)
    assert (there.solution_.primal, there.solution_.dual) == (here.solution_.primal, here.solution_.dual)
    assert there.n_rounds_ == here.n_rounds_
    assert there.losses(*data).tolist() == losses


def test_the_current_client_is_used_without_being_told(cluster):
    with Client(cluster) as current:
        model = BagClassifier(**QUICK).fit(*readable())
        assert client_saw(current, "cut")
    np.testing.assert_array_equal(model.coef_, BagClassifier(**QUICK).fit(*readable()).coef_)


def client_saw(client, word):
    """Whether the scheduler has run tasks whose name holds a word."""
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    return any(word in name for name in names)


def test_nothing_of_a_fit_stays_on_the_workers(client):
    BagClassifier(**QUICK, client=client).fit(*readable())

    def remembered():
        from setloss.dask.notes import _NOTES

        return len(_NOTES)

    assert set(client.run(remembered).values()) == {0}


def test_partitions_stay_on_the_worker_that_has_them(client):
    where = []
    look = [lambda record: where.append(places_of_parts(client))]
    BagClassifier(**QUICK, client=client, callbacks=look).fit(*readable())
    assert len(where[0]) == 4
    assert all(now == where[0] for now in where)
    assert all(len(holders) == 1 for holders in where[0].values())


def test_partitions_that_all_lie_on_one_worker_are_shared_out(client):
    first, second = sorted(client.nthreads())
    arrays = [client.persist(array, workers=[first]) for array in readable()]
    where = []
    look = [lambda record: where.append(places_of_parts(client))]
    assert_trained(BagClassifier(**QUICK, client=client, callbacks=look).fit(*arrays))
    assert sorted(where[0].values()) == [[first]] * 2 + [[second]] * 2
    assert all(now == where[0] for now in where)


def test_data_that_is_on_the_workers_already_is_used_there(client):
    X, y, groups = (client.persist(array) for array in readable())
    assert_trained(BagClassifier(**QUICK, client=client).fit(X, y, groups))


def test_label_sets_train_and_predict_on_the_cluster(client):
    generator = np.random.default_rng(0)
    X = da.from_array(generator.normal(size=(60, 4)), chunks=(20, 4))
    Y = (X[:, :3] > 0).astype(int)
    here = SetClassifier(**QUICK).fit(X, Y)
    there = SetClassifier(**QUICK, client=client).fit(X, Y)
    np.testing.assert_array_equal(there.coef_, here.coef_)
    np.testing.assert_array_equal(client.compute(there.predict(X)).result(), here.predict(X).compute())


def test_bad_data_is_named_before_training(client):
    X, y, groups = frames(40)
    X[-1, 2] = np.nan
    arrays = parted(lengths(len(y), 3, groups), X, y, groups)
    with pytest.raises(PartitionError, match=r"partition 2, row \d+: feature 2 is NaN"):
        BagClassifier(**QUICK, client=client, callbacks=[lambda record: pytest.fail("trained")]).fit(*arrays)


def test_a_client_must_be_one():
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client"):
        BagClassifier(client="tcp://127.0.0.1:8786").fit(*readable())


# ---------------------------------------------------------------- with faults


@pytest.mark.parametrize("solver", ["cutting_plane"])
def test_a_worker_killed_in_mid_fit_is_replaced(client, solver):
    kill = Once(lambda: os.kill(process_with_parts(client), signal.SIGKILL))
    assert_trained(BagClassifier(**QUICK, solver=solver, client=client, callbacks=[kill]).fit(*readable()))
    assert kill.done
    client.wait_for_workers(2, timeout=PATIENCE)


def test_data_that_lay_on_a_killed_worker_only_are_lost_in_words_or_not_at_all(client):
    client.wait_for_workers(2, timeout=PATIENCE)
    X, y, groups = frames(40)
    blocks = zip(np.split(X, [lengths(len(y), 2, groups)[0]]), sorted(client.nthreads())[:2], strict=True)
    futures = [(client.scatter(block, workers=[worker]), block.shape) for block, worker in blocks]
    rows = da.concatenate([da.from_delayed(future, shape, float) for future, shape in futures])
    kill = Once(lambda: os.kill(client.run(os.getpid)[min(client.nthreads())], signal.SIGKILL))
    model = BagClassifier(**QUICK, client=client, callbacks=[kill])
    said = None
    try:
        model.fit(rows, *parted(lengths(len(y), 2, groups), y, groups))
    except ClusterLostError as error:
        said = str(error)
    if said is None:  # Dask had made a copy elsewhere in time: then the result must be right
        assert_trained(model)
    else:
        assert "data that lay nowhere else" in said
    client.wait_for_workers(2, timeout=PATIENCE)


def test_a_worker_paused_for_seconds_is_waited_for(client):
    def pause():
        process = process_with_parts(client)
        os.kill(process, signal.SIGSTOP)
        client.loop.call_later(3, go_on, process)

    def go_on(process):
        happened.append("goes on")
        os.kill(process, signal.SIGCONT)

    happened = []
    assert_trained(BagClassifier(**QUICK, client=client, callbacks=[Once(pause)]).fit(*readable()))
    assert happened == ["goes on"]


def test_a_worker_that_comes_in_mid_fit_gets_partitions(cluster, client):
    workers = set(client.nthreads())

    def add():
        cluster.scale(3)
        client.wait_for_workers(3, timeout=PATIENCE)

    seen = set()
    more = Once(add)
    look = [more, lambda record: seen.update(holders_of_parts(client))]
    assert_trained(BagClassifier(**QUICK, client=client, callbacks=look).fit(*readable(6)))
    assert seen - workers


def test_a_worker_that_leaves_hands_its_partitions_over(cluster, client):
    def leave():
        cluster.scale(1)
        until(lambda: len(client.nthreads()) == 1)

    leaves = Once(leave)
    assert_trained(BagClassifier(**QUICK, client=client, callbacks=[leaves]).fit(*readable()))
    assert leaves.done
