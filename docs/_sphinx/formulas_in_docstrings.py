"""Docstrings open with an optimisation problem in plain text; on the site it stands as it was typed.

An indented paragraph becomes a block of text, and bars, as in the norm of W, are bars and not markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``)")
_BEFORE_NUMPYDOC = 100


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _prepared(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring, each paragraph that is indented more than the one before it in a block of its own."""
    text_indent, in_formula, after_blank = 0, False, True
    for line in lines:
        if not line.strip():
            after_blank = True
            yield line
            continue
        if in_formula and _indent(line) <= text_indent:
            in_formula = False
        if not in_formula and after_blank and _indent(line) >= text_indent + 4:
            in_formula = True
            yield from (" " * text_indent + ".. code-block:: text", "")
        if not in_formula:
            text_indent = _indent(line) + 2 * line.lstrip().startswith("* ")
        after_blank = False
        yield line if in_formula else _without_bars(line)


def _without_bars(line: str) -> str:
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in _LITERAL.split(line))


def _prepare(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = list(_prepared(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Run on every docstring, before numpydoc reads its sections."""
    app.connect("autodoc-process-docstring", _prepare, priority=_BEFORE_NUMPYDOC)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
