"""Files that appear whole or not at all.

A file is written beside its place under a name that nobody else has, and then put there in one step: a crash, a
full disk or a second writer leave the old file or the new one, never half of either. What a killed process has left
half written is removed by the next one that writes the same file.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from glob import escape
from pathlib import Path
from typing import IO

ABANDONED = 60.0
"""Seconds without a change after which a temporary file belongs to nobody."""


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes the place of `path` at the end, unless an exception comes first."""
    target = Path(os.path.realpath(path))
    for other in target.parent.glob(f".{escape(target.name)}.*.tmp"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > ABANDONED:
                other.unlink()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            if target.exists():  # who may read the old file may read the new one, whatever the mask of new files is
                temporary.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
