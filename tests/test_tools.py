"""Tools beside the package import nothing that the package no longer has: no test runs all of them."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "docs", "examples", "fuzz", "packaging")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def imported_names(script):
    """(module, name) of every ``from setloss... import name`` of a script."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "setloss":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_script_imports_is_there(script):
    for module, name in imported_names(script):
        found = importlib.import_module(module)
        assert hasattr(found, name) or find_spec(f"{module}.{name}"), f"{module} has no {name}"
