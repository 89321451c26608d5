"""All workers are gone: the fit waits for new ones, but not for ever."""

import threading

import numpy as np
import pytest

import dask
from helpers.partitioned import frames, lengths, parted
from helpers.waiting import until

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from setloss.dask import BagClassifier, ClusterLostError


@pytest.fixture
def cluster():
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs=50) as started:
        yield started


def without_workers(cluster, iteration):
    """A callback that takes all workers away."""

    def callback(record):
        if record.iteration == iteration:
            cluster.scale(0)
            with Client(cluster, set_as_default=False) as watching:
                until(lambda: not watching.nthreads())

    return callback


def data():
    X, y, groups = frames(20)
    return parted(lengths(len(y), 2, groups), X, y, groups)


def test_no_worker_for_a_stated_time_is_an_error_with_a_checkpoint(cluster, tmp_path):
    arrays, options = data(), {"solver": "cutting_plane", "checkpoint": str(tmp_path / "fit.npz")}
    with Client(cluster, set_as_default=False) as client, dask.config.set({"setloss.wait-for-workers": 0.5}):
        model = BagClassifier(client=client, callbacks=[without_workers(cluster, 2)], **options)
        with pytest.raises(ClusterLostError, match=r"the cluster had no worker for 0\.5 seconds.*checkpoint="):
            model.fit(*arrays)
    resumed = BagClassifier(**options).fit(*arrays)
    assert resumed.solution_.history[0].iteration == 3


def test_a_worker_that_comes_back_goes_on(cluster):
    arrays = data()

    def take_and_give(record):
        if record.iteration == 2:
            without_workers(cluster, 2)(record)
            threading.Timer(0.1, cluster.scale, (1,)).start()

    with Client(cluster, set_as_default=False) as client:
        model = BagClassifier(client=client, solver="cutting_plane", callbacks=[take_and_give]).fit(*arrays)
    whole = BagClassifier(solver="cutting_plane").fit(*arrays)
    np.testing.assert_allclose(model.solution_.primal, whole.solution_.primal, rtol=2e-3)
