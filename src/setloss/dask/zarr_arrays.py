"""zarr groups from anywhere: the description of each array is judged before zarr sees it, and nothing is decoded.

zarr makes codecs by the names that a file gives, and some codecs unpickle. So only the dtypes and codecs listed here
are let through, by the text of the description itself; and what it promises is compared with what lies on disk.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from setloss.archives import DAMAGE, unpacked_limit
from setloss.datasets.checks import reason, shown
from setloss.datasets.data import DatasetError
from setloss.files import not_a_file

ARRAYS = ("X", "y", "groups")
LAYOUT = ("bytes", "crc32c", "delta", "sharding_indexed", "shuffle", "transpose", "vlen-utf8")
PACKING = ("blosc", "bz2", "gzip", "lz4", "zlib", "zstd")
CODECS = frozenset((*LAYOUT, *PACKING))
MAX_DESCRIPTION = 2**20
NUMBERS = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|[<>|]?(b1|[iu][1248]|f[248])")
SHORT_TEXT = 64
"""Bytes of memory that a text is taken for which does not say how long it is."""

TEXTS = re.compile(r"string|fixed_length_utf32|[<>]U[0-9]{1,3}")


def zarr_arrays(folder: Path) -> dict[str, Any]:
    """The arrays X, y and groups of a zarr group, not read yet."""
    try:
        import zarr
    except ImportError:
        raise DatasetError(f"reading {folder} needs zarr; install it with pip install 'setloss[dask]'") from None
    limit = unpacked_limit(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))
    for name in ARRAYS:
        for description in ("zarr.json", ".zarray"):
            _judge(name, folder / name / description, limit)
    try:
        group = zarr.open_group(str(folder), mode="r", use_consolidated=False)
        return {name: group[name] for name in ARRAYS if name in group}
    except (*DAMAGE, TypeError) as error:  # zarr itself takes any JSON, and stumbles over what is not an array's
        raise DatasetError(
            f"{folder} holds no Parquet files and no X.npy, and is no zarr group ({reason(error)})"
        ) from None


def _judge(name: str, file: Path, limit: int) -> None:
    """Refuse an array whose dtype, codecs or size are not on the list."""
    wrong = not_a_file(file)
    if wrong is not None:
        raise DatasetError(f"{file} is {wrong}; it must be the description of an array")
    if not file.exists():
        return
    described = _read(file)
    given = described.get("data_type", described.get("dtype"))
    kind = given.get("name") if isinstance(given, dict) else given
    if not isinstance(kind, str) or not (NUMBERS.fullmatch(kind) or (name == "groups" and TEXTS.fullmatch(kind))):
        wanted = "numbers, or texts of at most 999 characters" if name == "groups" else "numbers"
        raise DatasetError(f"{file} describes values of type {shown(str(kind))}; {name} holds {wanted}")
    for codec in _codecs(described):
        if codec not in CODECS:
            raise DatasetError(
                f"{file} names the codec {shown(str(codec))}; those that are read are {', '.join(sorted(CODECS))}"
            )
    promised: dict[str, Any] = {"shape": described.get("shape"), "chunks": _chunks(described)}
    for what, shape in promised.items():
        if not _is_shape(shape) or math.prod(shape) * _bytes_of(kind, given) > limit:
            raise DatasetError(
                f"{file} promises {what} {shown(str(shape))}, and the limit for its folder is {limit} bytes"
            )


def _bytes_of(kind: str, given: Any) -> int:
    """Bytes that a value takes in memory: a number as float64, a text of fixed length as long as it says."""
    if kind == "fixed_length_utf32":
        inside = given.get("configuration") if isinstance(given, dict) else None
        length = inside.get("length_bytes") if isinstance(inside, dict) else None
        return length if type(length) is int and length > 0 else SHORT_TEXT
    if kind == "string":
        return SHORT_TEXT
    return 4 * int(kind[2:]) if kind[1:2] == "U" else 8


def _read(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > MAX_DESCRIPTION:
            raise ValueError(f"it has more than {MAX_DESCRIPTION} bytes")
        described = json.loads(file.read_text(encoding="utf-8"))
    except DAMAGE as error:
        raise DatasetError(f"{file} is not the description of an array: {reason(error)}") from None
    if not isinstance(described, dict):
        raise DatasetError(f"{file} is not the description of an array: it is no dictionary")
    return described


def _codecs(described: Any) -> Iterator[object]:
    """The names of all codecs, also of those inside of others; None for one without a name."""
    for key in ("codecs", "index_codecs", "filters", "compressor"):
        listed = described.get(key) or []
        for codec in [listed] if isinstance(listed, dict | str) else _as_list(listed):
            yield codec.get("name", codec.get("id")) if isinstance(codec, dict) else codec
            if isinstance(codec, dict) and isinstance(codec.get("configuration"), dict):
                yield from _codecs(codec["configuration"])


def _as_list(listed: object) -> Iterable[object]:
    return listed if isinstance(listed, list) else [None]


def _chunks(described: dict[str, Any]) -> Any:
    if "chunks" in described:
        return described["chunks"]
    grid = described.get("chunk_grid")
    inside = grid.get("configuration") if isinstance(grid, dict) else None
    return inside.get("chunk_shape") if isinstance(inside, dict) else None


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(type(length) is int and length >= 0 for length in shape)
