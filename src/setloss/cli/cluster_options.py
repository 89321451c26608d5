"""Where the work is done: in this process by default, on Dask workers, or from disk within a bound on memory."""

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from setloss.cli.errors import InputError

PANEL = "Beyond memory and one machine (DATA: Parquet, .npy, zarr)"
CONNECT_SECONDS = 20
WORKER_BYTES = 700_000_000
"""Least memory of a worker: Python and its libraries, and room below the share at which Dask pauses it."""


@dataclass(frozen=True)
class ClusterOptions:
    """What `--dask`, `--workers` and `--memory` say."""

    dask: Annotated[
        str | None,
        typer.Option(
            help="Address of a running Dask scheduler, as tcp://HOST:8786; tls:// takes its keys from the "
            "configuration of Dask.",
            metavar="ADDRESS",
            rich_help_panel=PANEL,
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Start so many worker processes here.", min=1, rich_help_panel=PANEL)
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            help="Take at most so much memory, as 2GB: of this process, or of all --workers together.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether the data are to be worked on in partitions."""
        return not (self.dask is None and self.workers is None and self.memory is None)

    def check(self) -> None:
        """Refuse what cannot work before any data are read."""
        if not self.asked:
            return
        import importlib.util

        if importlib.util.find_spec("distributed") is None:
            raise InputError("--dask, --workers and --memory need Dask: pip install 'setloss[dask]'")
        if self.dask is not None and self.workers is not None:
            raise InputError("give --dask, for workers that are there, or --workers, to start some; not both")
        if self.dask is not None and self.memory is not None:
            raise InputError("--memory is for this machine; the workers of --dask have their own limits")
        bound = self.bytes()
        if bound is not None and self.workers is not None and bound // self.workers < WORKER_BYTES:
            raise InputError(
                f"--memory {self.memory} is too little for {self.workers} workers; each takes at least "
                f"{WORKER_BYTES // 10**6} MB"
            )

    def bytes(self) -> int | None:
        """The bound on memory."""
        from setloss.dask.memory_limit import in_bytes

        try:
            return None if self.memory is None else in_bytes(self.memory)
        except ValueError as error:
            raise InputError(f"--memory: {error}") from None

    def partition_bytes(self) -> int | None:
        """How large partitions of X should be; None without a bound."""
        from setloss.dask.memory_limit import INTERPRETER
        from setloss.dask.opened_data import PARTITION_BYTES

        bound = self.bytes()
        if bound is None:
            return None
        share = bound // (self.workers or 1)
        return max(min(PARTITION_BYTES, (share - INTERPRETER) // 12), 1_000_000)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of Dask, or None for work in this process."""
        if self.dask is None and self.workers is None:
            yield None
            return
        from distributed import Client, LocalCluster

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is said in a sentence of ours
        if self.dask is not None:
            try:
                client = Client(self.dask, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                raise InputError(f"--dask: no scheduler answers at {self.dask}: {error}") from None
            with client:
                yield client
            return
        bound = self.bytes()
        limit = "auto" if bound is None else bound // (self.workers or 1)
        sizes = {"n_workers": self.workers, "threads_per_worker": 1, "memory_limit": limit}
        with (
            LocalCluster(**sizes, dashboard_address=":0", silence_logs=logging.CRITICAL) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            client.register_plugin(ignore_interrupts())
            yield client


def ignore_interrupts() -> Any:
    """A plugin that lets workers ignore Ctrl-C, which a terminal sends to all processes: this one ends them."""
    from distributed import WorkerPlugin

    class IgnoreInterrupts(WorkerPlugin):  # type: ignore[misc]
        name = "ignore-interrupts"

        def setup(self, worker: Any) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return IgnoreInterrupts()
