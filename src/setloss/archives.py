"""Archives of arrays (.npz, and the zip inside .skops) from anywhere: judged before anything is unpacked.

A zip file of a few kilobytes can promise gigabytes, and an array its header any shape. So what the members promise
is added up first, against `unpacked_limit`, and the header of an array is compared with the length of its member
before there is memory for it. Nothing here unpickles.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

ALWAYS_ALLOWED = 2**28
"""Bytes that any archive may unpack to."""

MAX_RATIO = 100
"""Above that, how many times its own size; arrays of numbers that mean something pack worse."""

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    TokenError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    ValueError,
)
"""What zipfile, NumPy and JSON are known to raise for bytes they did not write.

RuntimeError is for members with a password. TypeError, AttributeError and MemoryError are not here: they would be
faults of ours, and a fault of ours is not to be told as damage of a file.
"""


class ArchiveError(ValueError):
    """An archive that cannot be used; the message goes on where its name ends."""


@dataclass(frozen=True)
class Header:
    """What an array says of itself."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def kind(self) -> str:
        """The letter of the dtype's kind."""
        return self.dtype.kind


def unpacked_limit(size: int) -> int:
    """The most bytes that an archive of `size` bytes may unpack to."""
    return max(ALWAYS_ALLOWED, MAX_RATIO * size)


def open_archive(path: Path) -> zipfile.ZipFile:
    """The archive, whose members have names of their own and unpack to no more than the limit."""
    archive = zipfile.ZipFile(path)
    try:
        _judge(archive, unpacked_limit(path.stat().st_size))
    except BaseException:
        archive.close()
        raise
    return archive


def _judge(archive: zipfile.ZipFile, limit: int) -> None:
    for name, times in Counter(archive.namelist()).items():
        if times > 1:
            raise ArchiveError(f"has two members named {name[:40]!r}")
    total = sum(member.file_size for member in archive.infolist())
    if total > limit:
        raise ArchiveError(f"unpacks to {total} bytes and the limit for a file of its size is {limit}")


def array_header(archive: zipfile.ZipFile, name: str) -> Header:
    """Shape and dtype of a member that holds an array of plain values and is as long as they say."""
    with archive.open(name) as stream:
        shape, _, dtype = npy_header(stream)
        start = stream.tell()
    if dtype.hasobject:
        raise ArchiveError("holds Python objects")
    length = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if min(shape, default=0) < 0 or length != archive.getinfo(name).file_size:
        raise ArchiveError(f"has another length than its shape {str(shape)[:60]} says")
    return Header(shape, dtype)


def npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and dtype, from where an array begins."""
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"format version {version} is not known")
    try:
        return readers[version](stream)
    except TypeError as error:  # NumPy sorts the keys of a header that has the wrong ones
        raise ValueError(f"its header is not that of an array ({error})") from None


def read_npy(path: Path) -> NDArray[Any]:
    """The array of plain values in a .npy file, which must be as long as its header says."""
    with path.open("rb") as stream:
        shape, _, dtype = npy_header(stream)
        start = stream.tell()
        if dtype.hasobject or dtype.fields is not None:
            raise ArchiveError(f"holds values of type {str(dtype)[:60]}, not plain numbers or texts")
        length = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
        if min(shape, default=0) < 0 or length != path.stat().st_size:
            raise ArchiveError(f"has another length than its shape {str(shape)[:60]} says")
        stream.seek(0)
        array = np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise ArchiveError("holds text that is not Unicode")
    return array


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """The array in a member whose header has been judged."""
    with archive.open(name) as stream:
        array = np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    if array.dtype.kind == "U" and not _is_unicode(array):
        raise ArchiveError("holds text that is not Unicode")
    return array


def _is_unicode(text: NDArray[Any]) -> bool:
    """Whether all codes are characters; NumPy takes any four bytes, and Python fails on some of them later."""
    if text.size == 0 or text.dtype.itemsize == 0:
        return True
    codes = np.atleast_1d(np.ascontiguousarray(text)).view(np.dtype(np.uint32).newbyteorder(text.dtype.byteorder))
    return bool(np.all((codes < 0xD800) | ((codes > 0xDFFF) & (codes <= 0x10FFFF))))
