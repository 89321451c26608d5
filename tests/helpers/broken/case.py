"""A broken file: its name, its content, how it is read, and what the message must say."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np


class Made(bytes):
    """Bytes that say in words what they hold, for the page of broken files."""

    words: str

    def __new__(cls, content: bytes, words: str) -> "Made":
        made = super().__new__(cls, content)
        made.words = words
        return made


@dataclass(frozen=True)
class Case:
    """One broken file. `says` are parts of the message; `beside` are other files that lie in the same folder."""

    reader: str
    name: str
    content: Any
    says: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.reader}-{self.name}-{self.says[-1][:40]}"

    @cached_property
    def made(self) -> bytes | str | None:
        """The content of the file; None where there is to be none."""
        return self.content() if isinstance(self.content, Callable) else self.content  # type: ignore[arg-type,no-any-return]

    def put(self, folder: Path) -> Path:
        """Write the file and those beside it."""
        for name, text in self.beside.items():
            (folder / name).write_text(text)
        if self.made is not None:
            content = self.made.encode() if isinstance(self.made, str) else self.made
            (folder / self.name).write_bytes(content)
        return folder / self.name

    def words(self) -> str:
        """The content in a few words: the text itself, shortened, or what the bytes hold."""
        content = self.made
        if content is None:
            return "(no file)"
        if isinstance(content, Made):
            return content.words
        text = content if isinstance(content, str) else content.decode("latin-1")
        return repr(text if len(text) <= 60 else f"{text[:28]}...{text[-28:]}")[1:-1] or "(empty)"


def cases(reader: str, rows: list[tuple[Any, ...]], **common: Any) -> list[Case]:
    """Cases from rows (name, content, options, part of the message, ...)."""
    return [Case(reader, name, content, tuple(says), options, **common) for name, content, options, *says in rows]


def archive(**arrays: Any) -> Made:
    """An .npz file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return Made(stream.getvalue(), _listed(arrays))


def packed(**arrays: Any) -> Made:
    """A compressed .npz file, made quickly: zeros take nearly nothing anyway."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, array in arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array))
    return Made(stream.getvalue(), f"packed: {_listed(arrays)}")


def member(base: bytes, content: bytes, name: str = "X.npy", words: str = "", method: int = 0) -> Made:
    """An archive with one more member of any bytes."""
    stream = io.BytesIO(base)
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr(name, content, compress_type=method)
    inside = content.words if isinstance(content, Made) else f"{content[:30]!r}"
    return Made(stream.getvalue(), words or f"{name}: {inside}")


def promising(content: bytes, name: str, size: int, words: str) -> Made:
    """An archive whose directory promises `size` bytes for a member."""
    entry = content.rindex(name.encode()) - 46
    assert content[entry : entry + 4] == b"PK\x01\x02"
    return Made(content[: entry + 24] + size.to_bytes(4, "little") + content[entry + 28 :], words)


def npy(header: str, data: bytes = b"") -> bytes:
    """An array of any header."""
    text = header.encode().ljust(118)[:117] + b"\n" if len(header) < 118 else header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def shaped(shape: str, descr: str = "'<f8'", data: bytes = b"") -> Made:
    """An array whose header says this shape and type."""
    content = npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}", data)
    return Made(content, f"an array that says descr {descr}, shape {shape}, with {len(data)} bytes")


def _listed(arrays: dict[str, Any]) -> str:
    found = {name: np.asarray(array) for name, array in arrays.items()}
    return ", ".join(f"{name} {array.dtype} {array.shape}".replace("'", "") for name, array in found.items())
