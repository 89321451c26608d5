"""Pages link to files of the repository, where they are read too; on the site these links lead to its own pages."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_PAGES = (
    (re.compile(r"\]\(tutorials/(plot_\w+)\.py\)"), r"](gallery/\1.rst)"),
    (re.compile(r"\]\(tutorials/GALLERY_HEADER\.rst\)"), r"](gallery/index.rst)"),
    (re.compile(r"\]\(\.\./CHANGELOG\.md\)"), r"](changelog.md)"),
)


def _to_pages(_app: Sphinx, _page: str, content: list[str]) -> None:
    for link, page in _PAGES:
        content[0] = link.sub(page, content[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite the links of every page as it is read."""
    app.connect("source-read", _to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
