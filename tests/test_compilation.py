"""Kernels are kept on disk where there is a place for them, know their sources, and work where there is no place."""

import ast
import importlib
import logging
import pkgutil
import shutil

import numpy as np
import pytest
from numba.core import caching
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

import setloss
from helpers.forked import ended
from setloss.compilation import PACKAGE, kernel, kernel_sources


def one_more(x):
    return x + 1


def test_a_function_without_a_file_is_compiled_and_not_kept(caplog):
    names = {}
    exec(compile("def twice(x):\n    return 2 * x", "<nowhere>", "exec"), names)
    with caplog.at_level(logging.INFO):
        twice = kernel()(names["twice"])
    assert twice(4) == 8
    assert "it is compiled anew in every process" in caplog.text


def test_a_disk_that_takes_nothing_is_no_failure(monkeypatch, caplog):
    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "load", lambda *arguments: None)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    with caplog.at_level(logging.INFO):
        assert kernel()(one_more)(1) == 2
    assert "cannot be kept: no space left on device" in caplog.text


def test_options_reach_numba():
    compiled = kernel(fastmath=True)(one_more)
    assert compiled.targetoptions["fastmath"]
    assert compiled.targetoptions["nogil"]


@kernel(inner=True)
def plus(x, y):
    return x + y


@kernel()
def sum_from_two(values):
    total = 0.0
    for k in range(plus(1, 1), len(values)):
        total = plus(total, values[k])
    return plus(total, 0.0)


def test_inner_kernels_are_linked_and_numbers_make_no_versions_of_their_own():
    assert sum_from_two(np.array([1.0, 2.0, 4.0, 8.0])) == 12.0
    by_python = {str(signature) for signature in plus.signatures}
    assert by_python <= {"(int64, int64)", "(float64, float64)"}  # none where all comes from the disk


def test_a_kernel_that_makes_an_array_has_to_say_so():
    @kernel(allocates=True)
    def sized(n):
        return len(np.zeros(n))

    @kernel()
    def silent(n):
        return len(np.zeros(n))

    assert sized(2) == 2
    with pytest.raises(NumbaError, match="No implementation of function"):
        silent(2)


# ---------------------------------------------------------------- the cache knows its sources


USED = {"setloss.compilation", "setloss.typing"}
"""What kernel sources import and do not compile, beside other sources."""


def module_of(path):
    return ".".join(("setloss", *path.relative_to(PACKAGE).with_suffix("").parts))


def test_every_compiled_function_comes_from_a_source():
    sources = {str(path) for path in kernel_sources()}
    compiled = 0
    for found in pkgutil.walk_packages(setloss.__path__, "setloss."):
        if found.name.rpartition(".")[2].endswith("__main__") or not (PACKAGE / "plans").exists():
            continue
        if not any(part in found.name for part in (".plans", ".solvers", ".decisions", ".setfunctions")):
            continue
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, Dispatcher):
                compiled += 1
                assert value.py_func.__code__.co_filename in sources
    assert compiled > 20


def test_what_kernel_files_import_from_the_package_are_sources_too():
    """Constants and formulas of other files are compiled into their kernels."""
    sources = {module_of(path) for path in kernel_sources()}
    for path in kernel_sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        is_mixed = any(isinstance(node, ast.ClassDef) for node in tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("setloss") and not is_mixed:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                assert node.module in sources | USED or named & sources, f"{path}: {node.module}"


COUNTED = """
import logging
import numpy as np
logging.basicConfig(level=logging.INFO)
from setloss.plans.row_kernels import count_positives
counts = np.zeros(2, dtype=int)
count_positives(np.array([[True, False], [True, True]]), counts)
found = count_positives.stats
print(counts.tolist(), *(sum(times.values()) for times in (found.cache_hits, found.cache_misses)))
"""


@pytest.fixture
def copied(tmp_path):
    """A copy of the package whose kernels are kept in a folder of their own."""
    shutil.copytree(PACKAGE, tmp_path / "setloss", ignore=shutil.ignore_patterns("__pycache__", "explore"))

    def run():
        """What a process prints, and how often it says why it waits."""
        places = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        _, told, said = ended("helpers.anew", COUNTED, **places)
        return told.strip(), said.count("compiling kernels, once")

    return tmp_path / "setloss", run


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_kernel_is_compiled_again_when_any_source_of_kernels_has_changed(copied):
    """Where one is compiled, one line in the log says so."""
    package, run = copied
    assert run() == ("[1, 2] 0 1", 1)
    edit(package / "setfunctions" / "tversky.py", "c = 1 - b", "c = 1.0 - b")
    assert run() == ("[1, 2] 0 1", 1)
    assert run() == ("[1, 2] 1 0", 0)
    edit(package / "plans" / "worst_sets.py", "0xFFFFFFFF", "0xFFFFFFFE")
    assert run() == ("[1, 2] 0 1", 1)
