"""Cells of ARFF lines: values separated by commas, in quotes where they hold commas or blanks, and % comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from setloss.datasets.checks import shown
from setloss.datasets.data import DatasetError


def split(place: str, text: str) -> list[str]:
    """Split at the commas outside quotes; quotes stay."""
    if "'" not in text and '"' not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, start = [], 0
    for position, character, quoted in _outside_quotes(text):
        if quoted:
            raise DatasetError(f"{place} has a quote that is not closed: {shown(text[position:])}")
        if character == ",":
            cells.append(text[start:position].strip())
            start = position + 1
    return [*cells, text[start:].strip()]


def _outside_quotes(text: str) -> Iterator[tuple[int, str, bool]]:
    """The characters outside quotes with their places; at the end, the place of a quote left open, flagged."""
    quote, opened, escaped = "", 0, False
    for position, character in enumerate(text):
        if quote:
            if not escaped and character == quote:
                quote = ""
            escaped = not escaped and character == "\\"
        elif character in "'\"" and (position == 0 or text[position - 1] in " \t,{"):
            quote, opened = character, position
        else:
            yield position, character, False
    if quote:
        yield opened, quote, True


def without_comment(text: str) -> str:
    """The line up to an unquoted % at its start or after a blank."""
    if "%" not in text:
        return text
    if text.startswith("%"):
        return ""
    for position, character, quoted in _outside_quotes(text):
        if character == "%" and not quoted and text[position - 1] in " \t":
            return text[:position]
    return text


def unquoted(cell: str) -> str:
    """The value of a cell."""
    if len(cell) >= 2 and cell[0] == cell[-1] and cell[0] in "'\"":
        return unescaped(cell[1:-1])
    return cell


def unescaped(text: str) -> str:
    """Backslashes in a quoted value protect the next character."""
    return re.sub(r"\\(.)", r"\1", text)
