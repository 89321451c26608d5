"""The scheduler is lost, or speaks TLS: `dask scheduler` and `dask worker` as processes of their own."""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

import dask
from helpers.forked import program
from helpers.partitioned import assert_certified, bag_objective, frames, lengths, parted
from helpers.waiting import PATIENCE, until

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

from setloss.dask import BagClassifier, ClusterLostError

SHORT_TIMEOUTS = {"distributed.comm.timeouts.connect": "3s", "distributed.comm.retry.count": 0}


@contextmanager
def processes_of_a_cluster(folder, workers):
    """(file that says where, scheduler, workers) of a cluster started by the commands of Dask, without nannies."""
    file = folder / f"scheduler-{uuid4().hex}.json"
    here = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
    alone = ("--no-nanny", "--nthreads", "1", "--death-timeout", "20")
    with ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))

        def started(*words):
            return stack.enter_context(program("dask", *words, *here, out=nowhere, err=nowhere))

        scheduler = started("scheduler", "--port", "0", "--no-jupyter")
        until(lambda: file.exists() and file.stat().st_size)
        yield str(file), scheduler, [started("worker", *alone) for _ in range(workers)]


def killed_after(iteration, process):
    """A callback that kills a process."""

    def callback(record):
        if record.iteration == iteration:
            process.kill()
            process.join()

    return callback


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_lost_scheduler_is_an_error_and_its_checkpoint_resumes_on_another_cluster(tmp_path):
    X, y, groups = frames(40)
    arrays = parted(lengths(len(y), 2, groups), X, y, groups)
    options = {"solver": "cutting_plane", "checkpoint": str(tmp_path / "fit.npz")}
    reach = {"set_as_default": False, "timeout": PATIENCE}
    with dask.config.set(SHORT_TIMEOUTS):
        with (
            processes_of_a_cluster(tmp_path, 1) as (file, scheduler, _),
            Client(scheduler_file=file, **reach) as client,
        ):
            model = BagClassifier(client=client, callbacks=[killed_after(3, scheduler)], **options)
            with pytest.raises(ClusterLostError, match=r"the scheduler at tcp://.* is gone .*checkpoint="):
                model.fit(*arrays)
        with (
            processes_of_a_cluster(tmp_path, 2) as (file, _, workers),
            Client(scheduler_file=file, **reach) as client,
        ):
            client.wait_for_workers(2, timeout=PATIENCE)
            model = BagClassifier(client=client, callbacks=[killed_after(6, workers[0])], **options).fit(*arrays)
            assert len(client.nthreads()) == 1
    assert model.solution_.history[0].iteration == 4
    assert_certified(model, bag_objective(model, X, y, groups))
    whole = BagClassifier(solver="cutting_plane").fit(*arrays)
    np.testing.assert_allclose(model.solution_.primal, whole.solution_.primal, rtol=2e-3)


def test_a_cluster_that_speaks_tls_trains_too():
    pytest.importorskip("cryptography")
    from distributed.security import Security

    X, y, groups = frames(12)
    arrays = parted(lengths(len(y), 2, groups), X, y, groups)
    security = Security.temporary()
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        LocalCluster(security=security, protocol="tls://", silence_logs=50, **options) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        addresses = [client.scheduler.address, *client.nthreads()]
        assert all(address.startswith("tls://") for address in addresses)
        model = BagClassifier(client=client, tol=1e-2).fit(*arrays)
    np.testing.assert_array_equal(model.coef_, BagClassifier(tol=1e-2).fit(*arrays).coef_)
