"""Examples in docstrings are run: every module of setloss that has one."""

import doctest
import importlib
from pathlib import Path

import pytest

import setloss

SOURCES = Path(setloss.__file__).parent
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
WITH_EXAMPLES = [path for path in sorted(SOURCES.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
NEEDED_BY = {"nn": "torch", "dask": "distributed", "plots": "matplotlib"}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_examples_do_what_they_say(path):
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    pytest.importorskip(NEEDED_BY.get(parts[1], "setloss"))
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    failed, tried = doctest.testmod(module, optionflags=OPTIONS)
    assert tried
    assert not failed
