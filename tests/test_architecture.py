"""The tree: layers that know only those below, one name per class, short files, and the map for contributors."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helpers import module_map
from helpers.module_map import BEGIN, END, LAYERS, SOURCES, drawn, imports_of, packages, parsed, statements
from setloss import from_counts
from setloss.estimators import SetClassifier
from setloss.operators import B_D

ROOT = Path(__file__).parents[1]
FILES = sorted(SOURCES.rglob("*.py"))
PAGE = ROOT / "docs" / "contributing.md"


def test_every_package_has_its_layer_and_imports_none_of_its_own_or_above():
    heights = {package: -k for k, layer in enumerate(LAYERS) for package in layer}
    assert set(packages()) == set(heights)
    upwards = [
        f"{file.relative_to(SOURCES)} imports {other}"
        for package, files in packages().items()
        for file in files
        for other in imports_of(file) - {package}
        if heights[other] >= heights[package]
    ]
    assert not upwards


def test_heavy_libraries_are_imported_where_they_belong_and_experiments_nowhere():
    homes = {"torch": ["nn"], "dask": ["dask"], "distributed": ["dask"], "matplotlib": ["plots"], "experiments": []}
    for file in FILES:
        where = file.relative_to(SOURCES).parts[0].removesuffix(".py")
        for library in re.findall(r"^\s*(?:from|import) (\w+)", file.read_text("utf-8"), re.M):
            assert where in [*homes.get(library, [where]), "cli"]


def test_no_class_name_twice():
    names = Counter(
        node.name for file in FILES for node in statements(parsed(file)) if isinstance(node, ast.ClassDef)
    )
    assert not [name for name, count in names.items() if count > 1]


def test_the_page_for_contributors_has_this_map():
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == drawn(), (
        f"run PYTHONPATH=tests python -m {module_map.__name__} docs/contributing.md"
    )


def test_folders_of_tests_mirror_the_package():
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.glob("**/*.py"))}
    known = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    assert folders - known == {"helpers", "paper", "experiments"}


def own_loss(false_negatives, false_positives, positives, negatives):
    return false_negatives**1.5 + 0.5 * false_positives


def own_operator(function):
    return 0.5 * B_D(function)


OWN_LOSS = from_counts(own_loss)


@pytest.mark.parametrize(("loss", "operator"), [("dice", "bd"), (OWN_LOSS, "bd"), ("dice", own_operator)])
def test_a_fit_leads_through_the_packages_of_the_paper(loss, operator):
    """Functions count, not imports: the first fit imports all; surrogates are made once for a scale."""
    X, entered = np.random.default_rng(0).standard_normal((60, 5)), set()

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            entered.add(Path(frame.f_code.co_filename).relative_to(SOURCES).parts[0])

    SetClassifier().fit(X, X[:, :4] > 0)
    sys.setprofile(note)
    try:
        SetClassifier(loss, operator, scale=1.2345).fit(X, X[:, :4] > 0)
    finally:
        sys.setprofile(None)
    assert {"losses", "decomposition", "operators", "plans", "solvers", "estimators"} <= entered
