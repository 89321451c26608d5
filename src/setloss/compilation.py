"""Kernels: functions compiled by numba and kept on disk. The first call on a machine compiles for some seconds.

Numba runs what it finds in its files, and a single wrong byte there can end the process. So a checksum stands beside
every file: what does not agree with its own, or has none, is deleted before numba looks, and compiled again.
"""

import gc
import hashlib
import logging
import pickle
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config, njit, typeof
from numba.core import event
from numba.extending import typeof_impl

from setloss.files import replacing

PACKAGE, _log, _lock, _kernels = Path(__file__).parent, logging.getLogger(__name__), Lock(), list["Kernel"]()


class _WithoutGarbageCollection(event.Listener):
    """Compiles our kernels without looking for garbage, which would take a sixth of the time.

    Numba compiles one function at a time, and those that it calls within.
    """

    def __init__(self) -> None:
        self.enabled = list[bool]()

    def on_start(self, compiling: event.Event) -> None:
        self.enabled.append(gc.isenabled())
        if compiling.data["dispatcher"].py_func.__module__.startswith("setloss."):
            gc.disable()

    def on_end(self, compiled: event.Event) -> None:
        if self.enabled.pop():
            gc.enable()


class Kernel:
    """A function that is compiled at its first call; to kernels that call it, it looks like numba's own."""

    def __init__(self, function: Any, options: dict[str, Any], inner: bool = False) -> None:
        self.py_func, self.inner = function, inner
        self.targetoptions = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True, **options}
        self.targetoptions["no_cpython_wrapper"] = inner
        with _lock:
            before, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER)
            self.compiled = njit(cache=FOLDER is not None, **self.targetoptions)(function)
            config.CACHE_DIR = before
        self.versions = 0
        _kernels.append(self)

    def __call__(self, *arguments: Any) -> Any:
        if self.inner:
            raise TypeError(f"{self.py_func.__name__} is an inner kernel, which only kernels can call")
        try:
            result = self.compiled(*arguments)
        except (OSError, EOFError, pickle.UnpicklingError) as error:  # no room for a file, or half of one
            _log.warning("kernels in %s are deleted and compiled again: %r", FOLDER, error)
            shutil.rmtree(FOLDER or "", ignore_errors=True)
            for each in _kernels:
                each.compiled = njit(**each.targetoptions)(each.py_func)
            return self.compiled(*arguments)
        if len(self.compiled.overloads) != self.versions:  # compiled, or read from a file
            self.versions = len(self.compiled.overloads)
            _write_checksums()
        return result


def kernel(**options: Any) -> Any:
    """``numba.njit`` with these options, without the GIL and with NumPy's division."""
    return lambda function: Kernel(function, options)


def inner_kernel(**options: Any) -> Any:
    """A kernel that only kernels call: compiled without the code that Python needs to call it, in less time."""
    return lambda function: Kernel(function, options, inner=True)


def _cache_folder() -> Path | None:
    """A folder for these very sources: numba looks at the file of a kernel only, not at those of kernels it calls."""
    texts = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(text for text in texts if b"setloss.compilation" in text)).hexdigest()[:16]
    for place in (config.CACHE_DIR or "/dev/null", PACKAGE / "__pycache__", Path("~/.cache").expanduser()):
        with suppress(OSError):
            folder = Path(place, f"setloss-kernels-{digest}")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "writable").touch()
            _delete_damaged(folder)
            return folder
    return None


def _checksum(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _delete_damaged(folder: Path) -> None:
    """Delete kernels that are not as they were written; one that another process is just writing is lost as well."""
    for path in folder.rglob("*.nb[ci]"):
        with suppress(FileNotFoundError):  # another process was faster
            written = _checksum(path).read_bytes() if _checksum(path).exists() else None
            if written != hashlib.sha256(path.read_bytes()).digest():
                if written is not None:
                    _log.warning("the kernel %s is damaged; it is deleted and compiled again", path)
                path.unlink()


def _write_checksums() -> None:
    """Write the checksums of new files; a file is checked at the start of a process, so it is not older than that."""
    for path in [] if FOLDER is None else FOLDER.rglob("*.nb[ci]"):
        with suppress(OSError):
            beside = _checksum(path)
            if not beside.exists() or beside.stat().st_mtime_ns < path.stat().st_mtime_ns:
                digest = hashlib.sha256(path.read_bytes()).digest()
                with replacing(beside) as file:
                    file.write(digest)


FOLDER = _cache_folder()
typeof_impl.register(Kernel)(lambda value, context: typeof(value.compiled))
event.register("numba:compile", _WithoutGarbageCollection())
