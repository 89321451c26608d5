"""The reference of the command line, read off the commands themselves: ``.. command-reference::``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from setloss.cli import app as commands

_EXAMPLE = "For example: "


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every command that can be called, with the words to call it by."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for word, child in below.items():
        yield from _leaves(child, f"{name} {word}")


def _help(text: str) -> Iterator[nodes.Element]:
    """Paragraphs, and examples as one would type them."""
    for paragraph in text.split("\n\n"):
        words, _, example = paragraph.partition(_EXAMPLE)
        if words.strip():
            yield nodes.paragraph(text=" ".join(words.split()))
        if example:
            yield nodes.literal_block(example, example, language="sh")


def _default(parameter: Any) -> str:
    """What is taken where the option is not given, in the words of ``--help``."""
    shown = parameter.show_default
    if isinstance(shown, str):
        return shown
    return "" if parameter.default in (None, False) or not shown else str(parameter.default)


def _row(parameter: Any) -> nodes.row:
    argument = parameter.param_type_name == "argument"
    name = parameter.metavar or parameter.name.upper() if argument else ", ".join(parameter.opts)
    default = _default(parameter)
    text = f"{parameter.help} Default: {default}." if default else parameter.help
    cells = (nodes.literal(name, name), nodes.inline(text=text))
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def _table(parameters: list[Any]) -> nodes.table:
    rows = nodes.tbody("", *map(_row, parameters))
    columns = (nodes.colspec(colwidth=20), nodes.colspec(colwidth=80))
    return nodes.table("", nodes.tgroup("", *columns, rows, cols=2), classes=["options"])


class CommandReference(SphinxDirective):
    """A section for every command: what it does, an example, its arguments and options, its exit codes."""

    def run(self) -> list[nodes.Node]:
        return [self._section(*leaf) for leaf in _leaves(typer.main.get_command(commands), "setloss")]

    def _section(self, name: str, command: Any) -> nodes.section:
        section = nodes.section("", nodes.title(text=name), ids=[nodes.make_id(name)], names=[name])
        section += list(_help(command.help or ""))
        section += _table(command.params)
        section += nodes.paragraph(text=" ".join((command.epilog or "").split()))
        self.state.document.note_explicit_target(section)
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
