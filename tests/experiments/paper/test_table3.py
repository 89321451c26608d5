"""Table 3: every time is there and positive."""

from experiments.paper import table3
from experiments.paper.artefact import Settings
from experiments.paper.table3 import NUMBA, PYTHON, _interleaved


def test_every_operator_is_timed_beside_the_paper_s_rows(monkeypatch):
    monkeypatch.setattr(table3, "RUNS", 2)
    monkeypatch.setattr(table3, "BAGS", 20)
    document = table3.measure(Settings(), 3)
    assert document.tables[0].rows[0] == ("B_D, paper", "2,000 ± 0", "18,000 ± 3,000", "60,000 ± 8,000")
    assert document.tables[0].rows[1] == ("S, paper", "2,000 ± 0", "16,000 ± 2,000", "57,000 ± 2,000")
    seconds = document.numbers["seconds"]
    for way, methods in ((PYTHON, {"bd", "slack", "slack-greedy"}), (NUMBA, {"bd", "slack"})):
        for p in ("10", "50", "100"):
            assert set(seconds[way][p]) == methods
            assert min(seconds[way][p].values()) > 0


def test_the_fastest_run_of_each_draw_counts(monkeypatch):
    ticks = iter([0.0, 5.0, 5.0, 7.0, 7.0, 8.0, 8.0, 18.0])  # a: 5 s and 1 s, b: 2 s and 10 s
    monkeypatch.setattr(table3.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(table3, "RUNS", 2)
    times = _interleaved({"a": [lambda: None], "b": [lambda: None]})
    assert times["a"].tolist() == [1.0]
    assert times["b"].tolist() == [2.0]
