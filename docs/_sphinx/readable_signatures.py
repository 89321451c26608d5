"""Signatures as the source has them: Python spells out what `ArrayLike` and `NDArray` stand for."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_SPELLED_OUT = (
    (re.compile(r"TypeAliasForwardRef\('(\w+)'\)"), r"\1"),
    (
        re.compile(r"(?:numpy\.)?ndarray\[tuple\[Any, \.\.\.\], (?:numpy\.)?dtype\[(?:numpy\.)?([\w.]+)\]\]"),
        r"NDArray[\1]",
    ),
    (re.compile(r"~?numpy\.typing\."), ""),
    (re.compile(r"\bcollections\.abc\.|\btyping\."), ""),
)


def _short(text: str | None) -> str | None:
    for pattern, name in _SPELLED_OUT if text else ():
        text = pattern.sub(name, text or "")
    return text


def _shorten(
    _app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    return _short(signature), _short(returns)


def setup(app: Sphinx) -> dict[str, Any]:
    """Run on every signature."""
    app.connect("autodoc-process-signature", _shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
