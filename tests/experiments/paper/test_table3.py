"""Table 3: every time is there and positive."""

from experiments.paper import table3
from experiments.paper.artefact import Settings
from experiments.paper.table3 import NUMBA, PYTHON


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
