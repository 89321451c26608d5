"""Kernels are kept on disk for their very sources; damaged files and disks without room are no failures."""

import gc
import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest
from numba import NumbaError
from numba.core import event

import setloss
from helpers.forked import ended
from setloss import compilation
from setloss.compilation import PACKAGE, Kernel, kernel
from setloss.plans.kernels import _ranks
from setloss.setfunctions.tversky import loss_value

SUMMED = """
import numpy as np
from setloss.solvers.kernel_arrays import Design
from setloss.solvers.visits import accumulate_rows
total = np.zeros(2)
accumulate_rows(Design.of([[1.0], [2.0]], constant=0.5).arrays, np.arange(2), np.ones(2), total)
print(total.tolist())
"""


def run(folder, before="", **environment):
    """What a new process says; it ends well and sums right."""
    ending, told, said = ended("helpers.anew", before + SUMMED, NUMBA_CACHE_DIR=str(folder), **environment)
    assert (ending, told) == (0, "[3.0, 1.0]\n"), said
    return said


@kernel()
def twice(x):
    return 2 * x


@kernel(fastmath=True)
def four_times(x):
    return twice(twice(x))


def test_kernels_call_each_other_and_options_reach_numba():
    assert four_times(3.0) == 12.0
    assert four_times.compiled.targetoptions["fastmath"]
    assert four_times.compiled.targetoptions["nogil"]


def test_python_cannot_call_an_inner_kernel():
    with pytest.raises(TypeError, match="_ranks is an inner kernel"):
        _ranks(np.zeros(2), *[np.arange(2)] * 4)


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_looked_for_while_our_kernels_compile(enabled, monkeypatch):
    class Watch(event.Listener):
        def on_start(self, _):
            seen.append(gc.isenabled())

        def on_end(self, _): ...

    monkeypatch.setattr(compilation, "FOLDER", None)
    seen, before = [], gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with event.install_listener("numba:compile", Watch()):
            assert kernel()(loss_value)(1.0, 1.0, 2.0, 0.5, 0.5) == 0.5
            assert kernel()(lambda x: x)(1.0) == 1.0
        assert seen == [False, enabled]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [lambda content: b"", lambda content: content[: len(content) // 2], lambda content: content[:-1], flipped],
    ids=["empty", "half", "short", "flipped"],
)
def test_damaged_files_never_reach_numba_and_are_compiled_again(tmp_path, ending, damage):
    """Numba runs what is in its files: one wrong byte ended the process by a signal, at every start."""
    run(tmp_path)
    (path,) = tmp_path.rglob(f"*accumulate_rows*.{ending}")
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert f"the kernel {path} is damaged; it is deleted and compiled again" in run(tmp_path)
    assert path.read_bytes() != damage(before)
    assert "damaged" not in run(tmp_path)


def test_a_file_without_a_checksum_is_not_used(tmp_path):
    run(tmp_path)
    (path,) = tmp_path.rglob("*accumulate_rows*.nbc")
    path.with_name(f"{path.name}.sha256").unlink()
    path.write_bytes(b"cut short by a signal")
    assert "compiled again" not in run(tmp_path)
    assert len(path.read_bytes()) > 1000


def test_a_wrong_call_is_an_error_of_its_own_and_deletes_nothing():
    twice(1.0)
    before = sorted(compilation.FOLDER.rglob("*.nb?"))
    compiled = twice.compiled
    for wrong in ((), (1.0, 2.0), ("a", None)):
        with pytest.raises((TypeError, NumbaError)):
            twice(*wrong)
    assert twice.compiled is compiled
    assert before
    assert set(before) <= set(compilation.FOLDER.rglob("*.nb?"))


def test_kernels_work_on_a_full_disk(tmp_path):
    assert "File too large" in run(
        tmp_path, "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    )
    assert not list(tmp_path.rglob("*.nbc"))


def test_kernels_work_where_nothing_can_be_written(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "setloss", ignore=shutil.ignore_patterns("__pycache__"))
    (nowhere := tmp_path / "setloss" / "__pycache__").write_text("a file, so no folder")
    run(
        nowhere,
        "from setloss import compilation\nassert not compilation.FOLDER",
        HOME=str(nowhere),
        PYTHONPATH=str(tmp_path),
    )


def test_a_change_of_any_source_of_kernels_asks_for_another_folder(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE, tmp_path / "setloss", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compilation, "PACKAGE", tmp_path / "setloss")
    before = compilation._cache_folder()
    for name in ("setfunctions/tversky.py", "plans/records.py", "plans/kernels.py"):
        (tmp_path / "setloss" / name).write_text((PACKAGE / name).read_text() + "\n")
        assert compilation._cache_folder() not in (before, None)
        before = compilation._cache_folder()


def test_every_file_with_a_kernel_is_a_source_of_kernels():
    for found in pkgutil.walk_packages(setloss.__path__, "setloss."):
        if found.name.split(".")[1] in ("plans", "solvers", "decisions"):
            for value in vars(importlib.import_module(found.name)).values():
                if isinstance(value, Kernel):
                    assert "setloss.compilation" in Path(value.py_func.__code__.co_filename).read_text("utf-8")
