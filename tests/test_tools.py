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


def test_the_classifiers_that_are_compared_are_there(monkeypatch):
    study = pytest.importorskip("benchmarks.default_classifier", reason="the benchmarks are not beside the tests")
    monkeypatch.setattr("setloss.estimators.candidates.TREES", 10)
    X, Y = next((X, Y) for name, X, Y in study.generated(words=[(20, 100, 8)]) if name == "sums")
    scores, _ = study.scores_of(X[:60], Y[:60, :3], folds=2, cv=2)
    assert len(scores) == len(study.NAMES)
    assert 0 < min(scores) <= max(scores) <= 1
