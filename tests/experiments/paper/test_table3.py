"""Table 3: every time is there and positive, and the ratios are theirs."""

import pytest

from experiments.paper import table3
from experiments.paper.artefact import Settings
from experiments.paper.table3 import NUMBA, PYTHON, _interleaved, _micro


@pytest.fixture(scope="module")
def document():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table3, "RUNS", 2)
        patch.setattr(table3, "BAGS", 20)
        return table3.measure(Settings(), 3)


def test_the_paper_s_rows_come_first_in_microseconds(document):
    assert document.tables[0].rows[0] == ("B_D, paper", "2,000 ± 0", "18,000 ± 3,000", "60,000 ± 8,000")
    assert document.tables[0].rows[1] == ("S, paper", "2,000 ± 0", "16,000 ± 2,000", "57,000 ± 2,000")


def test_every_operator_is_timed_at_every_size(document):
    seconds = document.numbers["seconds"]
    for p in ("10", "50", "100"):
        assert set(seconds[PYTHON][p]) == {"bd", "slack", "slack-greedy"}
        assert set(seconds[NUMBA][p]) == {"bd", "slack"}
        assert all(value > 0 for way in seconds.values() for value in way[p].values())


def test_ratios_are_those_of_the_seconds(document):
    seconds = document.numbers["seconds"]
    rows = {row[0]: row[1:] for row in document.tables[1].rows}
    assert rows["paper"] == ("1.00", "1.12", "1.05")
    for way in (PYTHON, NUMBA):
        ratio = seconds[way]["50"]["bd"] / seconds[way]["50"]["slack"]
        assert rows[way][1] == f"{ratio:.2f}"


def test_the_fastest_run_of_each_draw_counts(monkeypatch):
    ticks = iter([0.0, 5.0, 5.0, 7.0, 7.0, 8.0, 8.0, 18.0])  # a: 5 s and 1 s, b: 2 s and 10 s
    monkeypatch.setattr(table3.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(table3, "RUNS", 2)
    times = _interleaved({"a": [lambda: None], "b": [lambda: None]})
    assert times["a"].tolist() == [1.0]
    assert times["b"].tolist() == [2.0]


def test_microseconds_have_more_digits_where_they_are_few():
    assert _micro(4.4e-6, 2e-8) == "4.40 ± 0.02"
    assert _micro(1.2e-4, 1e-6) == "120.0 ± 1.0"
    assert _micro(0.06, 0.008) == "60,000 ± 8,000"
