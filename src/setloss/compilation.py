"""Kernels: functions compiled by numba and kept on disk. The first call on a machine compiles for some seconds."""

import hashlib
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from numba import NumbaError, config, njit, typeof
from numba.extending import typeof_impl

PACKAGE, _log, _lock, _kernels = Path(__file__).parent, logging.getLogger(__name__), Lock(), list["Kernel"]()


class Kernel:
    """A function that is compiled at its first call; to kernels that call it, it looks like numba's own."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.py_func, self.targetoptions = function, {"error_model": "numpy", "nogil": True, **options}
        with _lock:
            before, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER)
            self.compiled = njit(cache=FOLDER is not None, **self.targetoptions)(function)
            config.CACHE_DIR = before
        _kernels.append(self)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.compiled(*arguments)
        except (MemoryError, NumbaError):  # no matter of files: arguments that no kernel takes
            raise
        except Exception as error:  # a damaged file, or no room for one: this process compiles and keeps nothing
            _log.warning("kernels in %s are deleted and compiled again: %r", FOLDER, error)
            shutil.rmtree(FOLDER or "", ignore_errors=True)
            for each in _kernels:
                each.compiled = njit(**each.targetoptions)(each.py_func)
            return self.compiled(*arguments)


def kernel(**options: Any) -> Any:
    """``numba.njit`` with these options, without the GIL and with NumPy's division."""
    return lambda function: Kernel(function, options)


def _cache_folder() -> Path | None:
    """A folder for these very sources: numba looks at the file of a kernel only, not at those of kernels it calls."""
    texts = [path.read_bytes() for path in sorted(PACKAGE.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(text for text in texts if b"setloss.compilation" in text)).hexdigest()[:16]
    for place in (config.CACHE_DIR or "/dev/null", PACKAGE / "__pycache__", Path("~/.cache").expanduser()):
        with suppress(OSError):
            folder = Path(place, f"setloss-kernels-{digest}")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "writable").touch()
            return folder
    return None


FOLDER = _cache_folder()
typeof_impl.register(Kernel)(lambda value, context: typeof(value.compiled))
