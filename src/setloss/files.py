"""Files that appear whole or not at all, one writer at a time, and paths that are not files.

A file is written beside its place under a name that nobody else has, and then put there in one step: a crash, a
full disk or a second writer leave the old file or the new one, never half of either.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POLLING = 0.02
"""Seconds between two tries to lock a file."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class BusyFileError(OSError):
    """Another process or thread holds the lock of a file."""


def not_a_file(path: Path) -> str | None:
    """What stands at a path that is no file ("a pipe"), or None for a file and for nothing at all.

    Opening a pipe waits until somebody writes to it, and a device may have no end; so nothing is opened here. A path
    that cannot be looked up, because its name is too long or its folder closed, is told by the words of the system.
    """
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return f"not a path that can be used ({getattr(error, 'strerror', None) or error})"


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes the place of `path` at the end, unless an exception comes first."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".setloss-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def only_writer(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Be the only one who writes `path`, or raise `BusyFileError`, at once or after `patience` seconds.

    The lock is a file beside it, which the system unlocks when its process ends, however that ends. Where there are
    no locks, the unique names of `replacing` are the protection that remains.
    """
    beside = path.with_name(f"{path.name}.lock")
    held = _lock_within(beside, patience)
    try:
        yield
    finally:
        if held is not None:
            _unlock(beside, held)


def _lock_within(beside: Path, patience: float) -> int | None:
    """`_lock`, tried again until `patience` seconds have passed."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return _lock(beside)
        except BusyFileError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(POLLING)


def _lock(beside: Path) -> int | None:
    """The open and locked file, or None where the system or the folder has no locks."""
    while True:
        try:
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        try:
            _take(descriptor)
        except BusyFileError:
            os.close(descriptor)
            raise
        except OSError:
            os.close(descriptor)
            return None
        if _is_still(descriptor, beside):
            return descriptor
        os.close(descriptor)


def _take(descriptor: int) -> None:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise BusyFileError("another process or thread is writing this file") from None


def _is_still(descriptor: int, beside: Path) -> bool:
    """Whether the locked file is the one at its path: who held it before us may have removed that."""
    try:
        return os.path.samestat(os.fstat(descriptor), beside.stat())
    except FileNotFoundError:
        return False


def _unlock(beside: Path, descriptor: int) -> None:
    """Remove the file while it is still locked, so that nobody locks one without a name; Windows removes it after."""
    with suppress(OSError):
        beside.unlink()
    os.close(descriptor)
    with suppress(OSError):
        if sys.platform == "win32":
            beside.unlink()
