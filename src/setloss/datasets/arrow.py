"""What a Parquet file may hold: the types of its columns and the size of its texts, judged before they are decoded.

A text that is named once and used in every row packs to nothing, so texts stay codes of a dictionary until their
lengths are known.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setloss.archives import unpacked_limit
from setloss.datasets.checks import shown
from setloss.datasets.columns import Roles
from setloss.datasets.data import DatasetError

MAX_ID = 200
"""Most characters of a bag id: an array of text has room for the longest in every row."""


def require_types(path: Path, schema: Any, roles: Roles) -> None:
    """Refuse features and labels that are not numbers, and bag ids that are bytes, lists or structures."""
    from pyarrow import types

    for name in (*roles.features, *roles.labels):
        kind = schema.field(name).type
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind)):
            raise DatasetError(
                f"column {shown(name)} of {path} has type {str(kind)[:60]}; it must hold numbers, convert it"
            )
    if roles.group is not None:
        kind = schema.field(roles.group).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind) or _is_fixed_binary(kind):
            raise DatasetError(
                f"column {shown(roles.group)} of {path} has type {str(kind)[:60]}; bag ids are numbers or texts"
            )


def _is_fixed_binary(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_binary(kind) and not types.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Whether a column is to be read as codes of a dictionary."""
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def texts(schema: Any, roles: Roles) -> list[str]:
    """The columns to read so: bag ids that are text."""
    return [] if roles.group is None or not is_text(schema.field(roles.group).type) else [roles.group]


def require_unpacked(path: Path, metadata: Any) -> None:
    """Refuse a file whose columns say that they unpack to far more than the file."""
    limit = unpacked_limit(path.stat().st_size)
    groups = (metadata.row_group(k) for k in range(metadata.num_row_groups))
    total = sum(group.column(j).total_uncompressed_size for group in groups for j in range(group.num_columns))
    if total > limit:
        raise DatasetError(
            f"{path} unpacks to {total} bytes and the limit for a file of its size is {limit}; write it without "
            "compression"
        )


def require_short_ids(path: Path, column: Any, name: str) -> None:
    """Refuse bag ids that are too long, while they are still codes of a dictionary."""
    from pyarrow import compute, types

    if not (types.is_dictionary(column.type) and is_text(column.type.value_type)):
        return
    longest = [compute.max(compute.utf8_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks]
    require_room_for_ids(f"column {shown(name)} of {path}", path, len(column), max(longest, default=0))


def require_room_for_ids(place: str, path: Path, rows: int, longest: int) -> None:
    """Refuse bag ids that are too long, or too long for the array of all of them, 4 bytes for every character."""
    limit = unpacked_limit(path.stat().st_size)
    if longest > MAX_ID:
        raise DatasetError(f"{place} has a bag id of more than {MAX_ID} characters; shorten it")
    if 4 * rows * longest > limit:
        raise DatasetError(
            f"the bag ids of {path} take {4 * rows * longest} bytes and the limit for a file of its size is {limit}; "
            "number the bags, or shorten the longest id"
        )
