"""Files that appear whole or not at all, and paths that are not files.

A file is written beside its place under a name that nobody else has, and then put there in one step: a crash, a
full disk or a second writer leave the old file or the new one, never half of either.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


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
