"""B_D with its index below the line wherever a page speaks of the operator; in code it stays as it is typed."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

AS_TYPED = (nodes.literal, nodes.FixedTextElement, nodes.math, nodes.raw, addnodes.desc_signature)


def _typeset(app: Sphinx, page: nodes.document, name: str) -> None:
    for text in list(page.findall(nodes.Text)):
        if "B_D" in text and not _as_typed(text):
            text.parent.replace(text, _parts(str(text)))


def _as_typed(node: nodes.Node) -> bool:
    return node.parent is not None and (isinstance(node.parent, AS_TYPED) or _as_typed(node.parent))


def _parts(words: str) -> list[nodes.Node]:
    parts: list[nodes.Node] = []
    for between in re.split(r"\b(B_D)\b", words):
        if between == "B_D":
            parts += [nodes.Text("B"), nodes.subscript("D", "D")]
        elif between:
            parts.append(nodes.Text(between))
    return parts


def setup(app: Sphinx) -> dict[str, bool]:
    """Typeset every page once its links are resolved."""
    app.connect("doctree-resolved", _typeset)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
