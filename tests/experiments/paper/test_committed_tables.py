"""The tables on the page are those of today's code: a few of their repeats and folds, made again.

All of them take minutes; `make readme CHECK=1` compares the whole page with the last `make reproduce`.
"""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.paper import toy, tracks
from experiments.paper.artefact import Settings
from experiments.tracks import protocol
from experiments.tracks.protocol import METHODS
from helpers.page_tables import estimates

PAGE = (Path(__file__).parents[3] / "docs" / "reproducing.md").read_text(encoding="utf-8")
CLEAR = 4.0
"""Standard errors of the difference; some thirty numbers are compared."""


def committed(name):
    """A table of the page: its estimates and its text."""
    text = PAGE.split(f"<!-- results: {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    return estimates(text), text


def assert_near(values, estimate, repeats):
    """The mean of some of the `repeats` values is one that such values may well have."""
    mean, error = estimate
    spread = max(error, 5e-3) * math.sqrt(repeats)
    assert abs(sum(values) / len(values) - mean) <= CLEAR * spread / math.sqrt(len(values))


@pytest.mark.parametrize("method", ["bd", "hinge"])
def test_table_1(method):
    cells, text = committed("table1")
    repeats = int(re.search(r"over (\d+) draws", text)[1])
    found = re.search(r"distance ([\d.]+) from the positives in two directions (\d+) degrees", text)
    setting = toy.Setting(float(found[1]), float(found[2]))
    trials = [toy.trial(method, setting, True, toy.USUAL, 0, toy.TABLE, 1, repeat) for repeat in range(2)]
    label = METHODS[method].label
    assert_near([trial.dice for trial in trials], cells[f"{label}, column 1"], repeats)
    assert_near([trial.wrong for trial in trials], cells[f"{label}, column 3"], repeats)


@pytest.mark.parametrize("method", ["hinge", "lovasz-jaccard"])
def test_table_2(method, monkeypatch):
    monkeypatch.delenv("SETLOSS_DATA", raising=False)
    cells, text = committed("table2")
    folds = int(re.search(r"over (\d+) folds", text)[1])
    (problem,) = tracks.paper_like(Settings())
    assert problem.shape in text
    usual = tracks.protocol_for(Settings())
    found = protocol.run_protocol(problem, [method], tracks.CURVES, replace(usual, outer_used=1))
    for k, curve in enumerate(tracks.CURVES):
        label = METHODS[method].label
        assert_near(found[curve, method].losses, cells[f"{label}, column {1 + 2 * k}"], folds)
