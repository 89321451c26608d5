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
            what = "features" if name in roles.features else "labels"
            raise DatasetError(
                f"column {shown(name)} of {path} has type {str(kind)[:60]}; {what} are numbers, convert or remove it"
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


def texts(schema: Any, roles: Roles) -> list[str]:
    """The columns to read as codes of a dictionary: bag ids that are text."""
    from pyarrow import types

    if roles.group is None:
        return []
    kind = schema.field(roles.group).type
    return [roles.group] if types.is_string(kind) or types.is_large_string(kind) else []


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


def require_short_ids(path: Path, table: Any, roles: Roles) -> None:
    """Refuse bag ids so long that an array of them would be far larger than the file; they are still codes."""
    from pyarrow import compute, types

    if roles.group is None or not types.is_dictionary(table.schema.field(roles.group).type):
        return
    if not types.is_string(table.schema.field(roles.group).type.value_type):
        return
    for chunk in table.column(roles.group).chunks:
        longest = compute.max(compute.utf8_length(chunk.dictionary)).as_py() or 0
        if longest > MAX_ID:
            raise DatasetError(
                f"column {shown(roles.group)} of {path} has a bag id of more than {MAX_ID} characters; shorten it"
            )
