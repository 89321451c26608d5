"""The search for the settings of generated tracks: what it looks at, and the order of its table."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.track_tuning", reason="the benchmarks are not beside the tests")

from benchmarks import track_tuning


def test_tuning_looks_at_losses_1_and_3_and_wants_something_learnt():
    assert track_tuning.distance((0.228, 9.9, 0.144, 9.9)) == 0.0
    assert track_tuning.distance((0.228 * np.e, 0, 0.144 / np.e, 0)) == pytest.approx(2.0)
    assert track_tuning.useful((0.29, 0, 0, 0), 0.5)
    assert not track_tuning.useful((0.31, 0, 0, 0), 0.5)


def test_the_search_lists_useful_settings_first(monkeypatch):
    monkeypatch.setitem(track_tuning.SHAPES, "quick", (30, 120, 4))
    monkeypatch.setattr(track_tuning, "FAMILY", {"positive": (0.5,), "identity": (0.5,), "separation": (0.1, 4.0)})
    table = track_tuning.search(n_jobs=1)
    assert [row[2] for row in table.rows] in ([4.0, 0.1], [0.1, 4.0])
    flags = [row[-1] for row in table.rows]
    assert flags == sorted(flags, reverse=True)
