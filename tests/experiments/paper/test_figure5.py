"""Figure 5 at a tiny size: gaps that fall, levels that are reached in order, and S greedy without a certificate."""

import json

import pytest

from experiments.paper import figure5
from experiments.paper.artefact import Settings
from experiments.paper.figure5 import Trace
from experiments.tracks.data import TrackParameters, generated_tracks
from experiments.tracks.methods import METHODS, Budget
from experiments.tracks.protocol import Protocol, choose_C

TINY = Protocol(Cs=(0.01, 0.1), outer=3, inner=2, budget=Budget(1e-1, 20))


@pytest.fixture(scope="module")
def made():
    return generated_tracks(TrackParameters(3.0, 1.0, 1.0, 0.5), n_bags=30, n_frames=120, n_features=4)


@pytest.fixture(scope="module")
def document(made):
    return figure5.compare(Settings(), [made], TINY, 60)


def test_iterations_to_a_level():
    trace = Trace(1.0, (1.0, 0.09, 0.2, 0.005), True)
    assert trace.iterations_to(0.1) == 2
    assert trace.iterations_to(0.01) == 4
    assert trace.iterations_to(0.001) is None


def test_gaps_of_exact_surrogates_never_rise(document):
    for by_method in document.numbers["gaps"]["generated"].values():
        for method, gaps in by_method.items():
            if method != "slack-greedy":
                known = [gap for gap in gaps if gap is not None]
                assert known == sorted(known, reverse=True)


def test_numbers_have_every_level_for_every_loss_and_surrogate(document):
    iterations = document.numbers["iterations"]["generated"]
    assert set(iterations) == {"curve1", "curve2", "curve3", "curve4"}
    for by_method in iterations.values():
        assert set(by_method) == {"bd", "slack", "slack-greedy", "hinge"}
        for levels in by_method.values():
            reached = [k for k in levels.values() if k is not None]
            assert list(levels) == ["1e-1", "1e-2", "1e-3"]
            assert reached == sorted(reached)
    json.dumps(document.as_dict(), allow_nan=False)


def test_the_table_says_what_certifies_nothing(document):
    table = document.tables[0]
    assert {row[1]: row[-1] for row in table.rows} == {
        "B_D": "yes",
        "S exact": "yes",
        "S greedy": "no",
        "0-1 (hinge)": "yes",
    }
    assert "bounds nothing" in table.note


def test_c_is_chosen_by_cross_validation(made, document):
    chosen = document.numbers["C"]["generated"]["curve1"]["bd"]
    frames = made.frames("")
    assert chosen == choose_C(METHODS["bd"], frames, ("curve1",), TINY, standardise=False)["curve1"]


def test_one_c_for_all_stands_beside_the_chosen_ones(document):
    same = document.numbers["one_C"]["generated"]
    assert {C for by_method in same["C"].values() for C in by_method.values()} == {figure5.ONE_C}
    assert [figure.name for figure in document.figures] == ["figure5", "figure5_one_C"]
    assert document.tables[0].columns[3:9:3] == ("to gap 1e-1", "to gap 1e-1, one C")


def test_the_drawing_has_a_panel_per_loss_and_greedy_dashed(document):
    drawing = document.figures[0].draw()
    assert [axes.get_title() for axes in drawing.axes] == ["Loss 1", "Loss 2", "Loss 3", "Loss 4"]
    lines = {line.get_label(): line.get_linestyle() for line in drawing.axes[0].get_lines()}
    assert (lines["S greedy (no certificate)"], lines["$B_D$"]) == ("--", "-")
