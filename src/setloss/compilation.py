"""Numba kernels that are kept on disk where that is possible, and work where it is not.

numba keeps compiled code beside the package, or in the folder of the user, or in NUMBA_CACHE_DIR. Where none of them
can be written (a package of another user, a container without a home, a full disk) it fails, at the import or at
the first call; a kernel is then compiled anew by every process instead.

numba itself compiles a kernel again when its own file has changed. Here it is any file that holds a kernel or a
formula of one: all of them go into the stamp of each. Processes that start together (workers of joblib or of Dask,
ranks of torch.distributed) wait for the one that compiles, and read what it has written.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from setloss.files import BusyFileError, only_writer

_log = logging.getLogger(__name__)

PACKAGE = Path(__file__).parent

FORMULAS = ("compilation.py", "plans/records.py", "setfunctions/tversky.py")
"""Files whose formulas and constants are compiled into kernels of other files."""

PATIENCE = 120.0
"""Seconds to wait for another process that compiles the same kernel, before it is compiled here too."""

MARK = b"from setloss.compilation import kernel"
"""What a file with kernels says."""


def kernel(*, inner: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` without the GIL and with NumPy's division, cached on disk if there is a place for it.

    An `inner` kernel is called by other kernels only; it compiles faster, since it gets no entry from Python.
    """
    closed = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
    fixed: dict[str, Any] = {"error_model": "numpy", "nogil": True, **closed, **options}

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            dispatcher = njit(cache=True, **fixed)(function)
        except RuntimeError as error:
            _log.info("%s; it is compiled anew in every process", error)
            return njit(**fixed)(function)
        _stamp(dispatcher)
        _let_writing_fail(dispatcher)
        _let_one_process_compile(dispatcher)
        return dispatcher

    return compiled


def kernel_sources(package: Path = PACKAGE) -> list[Path]:
    """The files of the package that compiled code depends on."""
    found = {package / name for name in FORMULAS}
    return sorted(found | {path for path in package.rglob("*.py") if MARK in path.read_bytes()})


@cache
def _digest() -> bytes:
    """A digest of all kernel sources; empty where the package is not a folder."""
    digest = hashlib.sha256()
    try:
        for path in kernel_sources():
            digest.update(path.read_bytes())
    except OSError as error:
        _log.info("the sources of the kernels cannot be read: %s", error)
    return digest.digest()


def _stamp(dispatcher: Any) -> None:
    """Let the cache of a kernel be fresh only while all kernel sources are what they were."""
    file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = (file._source_stamp, _digest())


def _let_writing_fail(dispatcher: Any) -> None:
    """A compiled kernel that cannot be written to disk is still a compiled kernel."""
    cache = getattr(dispatcher, "_cache", None)
    save = getattr(cache, "save_overload", None)
    if cache is None or save is None:
        return

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            _log.info("a compiled kernel cannot be kept: %s", error)

    cache.save_overload = save_if_possible


def _let_one_process_compile(dispatcher: Any) -> None:
    """A kernel is looked for in the cache, compiled and written by one process at a time."""
    index = getattr(getattr(getattr(dispatcher, "_cache", None), "_cache_file", None), "_index_path", None)
    if index is None:
        return
    compile_at_once = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        # numba's own lock first, as it is taken by all threads that compile: nobody waits for it with a file in hand
        with global_compiler_lock, _alone(Path(index)):
            return compile_at_once(signature)

    dispatcher.compile = compile_alone


_in_hand: set[Path] = set()
"""The kernels that this process compiles now, each with those that call it."""


@contextmanager
def _alone(index: Path) -> Iterator[None]:
    """Wait until no other process has this kernel in hand, or for `PATIENCE` seconds."""
    if index in _in_hand:
        yield
        return
    _in_hand.add(index)
    try:
        with ExitStack() as held:
            with suppress(BusyFileError):
                held.enter_context(only_writer(index, PATIENCE))
            yield
    finally:
        _in_hand.discard(index)


class _Announcement(event.Listener):
    """Say once in a process that kernels are compiled, so that the wait of a first call has a reason."""

    said = False

    def on_start(self, event: Any) -> None:
        name = event.data["dispatcher"].py_func.__module__
        if not self.said and str(name).startswith("setloss."):
            self.said = True
            _log.info("compiling kernels, once")

    def on_end(self, event: Any) -> None:
        """Nothing is said at the end."""


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
