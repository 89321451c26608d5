"""Files that appear whole or not at all.

A file is written beside its place under a name that nobody else has, and then put there in one step: a crash, a
full disk or a second writer leave the old file or the new one, never half of either.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes the place of `path` at the end, unless an exception comes first."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            if target.exists():  # who may read the old file may read the new one, whatever the mask of new files is
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
