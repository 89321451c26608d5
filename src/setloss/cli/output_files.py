"""Files and folders that commands write: whether they can be written is checked before any work."""

import os
from pathlib import Path

from setloss.cli.errors import InputError
from setloss.files import not_a_file


def make_folder(out: Path) -> None:
    """Make the folder for results, or say why that cannot be done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be made: {error.strerror or error}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise InputError(f"--out: {out} cannot be written to")


def check_writable(option: str, path: Path) -> None:
    """Refuse a path in a folder that is not there, or that is not ours to write to."""
    if not path.parent.is_dir():
        raise InputError(f"{option}: there is no directory {path.parent}")
    wrong = not_a_file(path)
    if wrong is not None:
        raise InputError(f"{option}: {path} is {wrong}; give the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option}: {path} cannot be written")


def write_text(path: Path, text: str) -> None:
    """Write a file of the folder for results."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: {path} cannot be written: {error.strerror or error}") from None
