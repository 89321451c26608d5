"""Numba kernels that are kept on disk where that is possible, and work where it is not.

numba keeps compiled code beside the package, or in the folder of the user, or in NUMBA_CACHE_DIR. Where none of them
can be written (a package of another user, a container without a home, a full disk) it fails, at the import or at
the first call; a kernel is then compiled anew by every process instead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit

_log = logging.getLogger(__name__)


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
        _let_writing_fail(dispatcher)
        return dispatcher

    return compiled


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
