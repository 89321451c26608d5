"""Formulas as MathML, which browsers draw themselves: the site needs no script and no network for them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def _mathml(node: nodes.Element, as_block: bool) -> str:
    """The formula; fractions without braces, which docutils reads otherwise than TeX, get theirs."""
    formula = re.sub(r"(\\[td]?frac)(\d)(\d)", r"\1{\2}{\3}", node.astext().strip())
    return str(latex2mathml.tex2mathml(formula, as_block=as_block))


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math-block">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer by the name that conf.py asks for."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
