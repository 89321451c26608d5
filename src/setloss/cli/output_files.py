"""Files and folders that commands write: whether they can be written is checked before any work."""

import os
from pathlib import Path

from setloss.cli.errors import InputError
from setloss.files import not_a_file


def why(error: OSError) -> str:
    """The words of the system; NumPy gives numbers instead where a disk is full."""
    return error.strerror or f"{error}; the disk may be full"


def make_folder(out: Path) -> None:
    """Make the folder for results, or say why that cannot be done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made: {why(error)}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise InputError(f"--out: {out} cannot be written to")


def check_writable(option: str, path: Path, *others: Path | None) -> None:
    """Refuse a path in a folder that is not there or not ours to write to, and one of the `others` that are used."""
    if not path.parent.is_dir():
        raise InputError(f"{option}: there is no directory {path.parent}")
    wrong = not_a_file(path)
    if wrong is not None:
        raise InputError(f"{option}: {path} is {wrong}; give the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option}: {path} cannot be written")
    for other in others:
        if other is not None and _would_replace(path, other):
            raise InputError(f"{option}: {path} would replace {other}, which is used here too; give another name")


def _would_replace(path: Path, other: Path) -> bool:
    """Whether writing `path` replaces the other file, or a file of the other folder."""
    target, kept = Path(os.path.realpath(path)), Path(os.path.realpath(other))
    return target == kept or (path.exists() and target.is_relative_to(kept))


def write_text(path: Path, text: str) -> None:
    """Write a file of the folder for results."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: {path} cannot be written: {why(error)}") from None
