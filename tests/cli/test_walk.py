"""How many modules a command passes on its way to the kernels and back."""

import pytest

from helpers.walk import FILES, train_small_tracks

pytest.importorskip("skops")


def test_training_enters_few_modules(tmp_path):
    walk = train_small_tracks(tmp_path)
    assert "plans/kernels.py" in walk
    without_files = [module for module in walk if not module.startswith(FILES)]
    assert len(without_files) <= 30, without_files
    assert len(walk) <= 40, walk
