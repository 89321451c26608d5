"""Kernels are kept on disk where there is a place for them, and work where there is none."""

import logging

import pytest
from numba.core import caching

from setloss.compilation import kernel

pytestmark = pytest.mark.xdist_group("kernels")


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
