"""Examples in docstrings are run, and every public class and function has one."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import setloss

SOURCES = Path(setloss.__file__).parent
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [path for path in sorted(SOURCES.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
NEEDED_BY = {"nn": "torch", "dask": "distributed", "plots": "matplotlib", "tables": "pyarrow"}
REFERENCE = sorted((Path(__file__).parent.parent / "docs" / "api").glob("*.rst"))
ENTRY = re.compile(r"^\.\. (currentmodule|autoclass|autofunction):: (\S+)", re.MULTILINE)


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_examples_do_what_they_say(path):
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    for part in parts:
        pytest.importorskip(NEEDED_BY.get(part, "setloss"))
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    failed, tried = doctest.testmod(module, optionflags=OPTIONS)
    assert tried
    assert not failed


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_class_and_function_of_the_reference_has_an_example(page):
    pytest.importorskip(NEEDED_BY.get(page.stem, "setloss"))
    module, without = "setloss", []
    for kind, name in ENTRY.findall(page.read_text(encoding="utf-8")):
        if kind == "currentmodule":
            module = name
            continue
        full = name if name.startswith("setloss.") else f"{module}.{name}"
        if ">>> " not in (pkgutil.resolve_name(full).__doc__ or ""):
            without.append(full)
    assert not without
