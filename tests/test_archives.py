"""What counts as damage of a file: what readers are known to raise, never a fault of ours."""

import sys
import zipfile

import numpy as np
import pytest

from helpers.problems import tracks
from setloss.archives import DAMAGE
from setloss.datasets import load
from setloss.solvers import Limits, solve

OURS = (TypeError, AttributeError, MemoryError, AssertionError, NameError, ZeroDivisionError, ImportError)


@pytest.mark.parametrize("fault", OURS)
def test_a_fault_of_ours_is_no_damage(fault):
    assert not issubclass(fault, DAMAGE)


@pytest.mark.parametrize("fault", [TypeError, AttributeError, MemoryError])
def test_a_fault_of_ours_keeps_its_traceback(tmp_path, monkeypatch, fault):
    def broken(*arguments):
        raise fault("mine")

    np.savez(tmp_path / "sets.npz", X=np.eye(3), Y=np.eye(3, dtype=int))
    monkeypatch.setattr(sys.modules["setloss.datasets.arrays"], "read_array", broken)
    with pytest.raises(fault, match="mine"):
        load(tmp_path / "sets.npz")
    problem = tracks("dice", "slack").problem
    solve(problem, "cutting_plane", Limits(0.5, checkpoint=tmp_path / "state.npz"))
    monkeypatch.setattr(sys.modules["setloss.solvers.checkpoint"], "read_array", broken)
    with pytest.raises(fault, match="mine"):
        solve(problem, "cutting_plane", Limits(0.5, checkpoint=tmp_path / "state.npz"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"x" * 100])
@pytest.mark.parametrize("read", [np.load, zipfile.ZipFile])
def test_what_readers_raise_for_junk_is_damage(tmp_path, content, read):
    path = tmp_path / "junk.npz"
    path.write_bytes(content)
    with path.open("rb") as stream, pytest.raises(DAMAGE):
        read(stream)
