"""The artefacts by name, in the paper's order; a module is imported when its artefact is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from setloss.reproduction.paper.artefact import Artefact

ARTEFACTS = ("figure1", "figure2", "table1", "figure3", "table2", "figure5", "table3")
"""Every table and figure with content of its own; Figure 4 shows photographs of faces."""


def artefact_named(name: str) -> Artefact:
    """The artefact of that name: ``setloss.reproduction.paper.<name>.<NAME>``."""
    artefact: Artefact = getattr(import_module(f"setloss.reproduction.paper.{name}"), name.upper())
    return artefact


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """The names asked for, each once, in the paper's order; "all" stands for every artefact."""
    wanted = set(names)
    unknown = sorted(wanted - {*ARTEFACTS, "all"})
    if unknown:
        raise ValueError(
            f"there is no artefact {', '.join(map(repr, unknown))}; the names are {', '.join(ARTEFACTS)}, and all"
        )
    return tuple(name for name in ARTEFACTS if name in wanted or "all" in wanted)
