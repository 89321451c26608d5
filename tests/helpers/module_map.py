"""The packages of setloss and who imports whom, read off the sources; the page for contributors shows them.

``PYTHONPATH=tests python -m helpers.module_map docs/contributing.md`` writes the map anew.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import setloss

SOURCES = Path(setloss.__file__).parent
TOP = "setloss"
"""What ``import setloss`` offers."""

LAYERS = (
    ("__main__",),
    ("cli",),
    ("dask",),
    ("estimators", "nn", "explore", "plots", "testing"),
    ("solvers", "decisions", "io"),
    ("plans",),
    ("operators",),
    (TOP,),
    ("decomposition",),
    ("losses",),
    ("setfunctions",),
    ("bags",),
    ("compilation",),
    ("arguments", "defaults", "files", "typing"),
)
"""From the top to the bottom: a package knows those in the lines below its own, and nothing else."""

BEGIN, END = "<!-- module map: begin -->", "<!-- module map: end -->"


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def packages() -> dict[str, list[Path]]:
    """The files of every package, and of every module of the root."""
    found: dict[str, list[Path]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        first = path.relative_to(SOURCES).parts[0]
        found.setdefault(TOP if first == "__init__.py" else first.removesuffix(".py"), []).append(path)
    return found


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, where imports and classes are, but for those under ``if TYPE_CHECKING``."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            continue
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, block, ())


def imports_of(path: Path) -> set[str]:
    """The packages of setloss that a file imports, at its head or inside of functions; types alone do not count."""
    found = set()
    for node in statements(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    names = [name.split(".")[1] if "." in name else TOP for name in found if name.split(".")[0] == TOP]
    return {name if name in packages() else TOP for name in names}


def first_sentence(package: str) -> str:
    """The first line of the docstring of a package, whose __init__.py comes first, or of a module."""
    text = ast.get_docstring(parsed(packages()[package][0])) or ""
    return text.partition("\n")[0].rstrip(".").replace("``", "`").replace("|", "\\|")


def drawn() -> str:
    """The map as a table, the top layer first."""
    lines = [f"| `{package}` | {first_sentence(package)} |" for layer in LAYERS for package in layer]
    return "\n".join(["| package | holds |", "|---|---|", *lines])


if __name__ == "__main__":
    page = Path(sys.argv[1])
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{drawn()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
