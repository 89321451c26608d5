"""Figures 1, 3 and 5: numbers by hand, gaps that fall, drawings that hold what they say, the registry."""

import json
from fractions import Fraction

import numpy as np
import pytest

from experiments.paper import figure5, figures
from experiments.paper.artefact import ARTEFACTS, Settings, in_order, maker
from experiments.paper.figure5 import Trace
from experiments.tracks.data import TrackParameters, generated_tracks
from experiments.tracks.protocol import METHODS, Protocol, choose_C


def test_names_come_in_the_paper_s_order_each_once_and_have_a_maker():
    assert in_order(["table3", "figure1", "table3"]) == ("figure1", "table3")
    assert all(maker(name).__name__ == f"make_{name}" for name in in_order(None))
    assert in_order(None) == ARTEFACTS


def dice(false_negatives, false_positives, positives=10):
    return Fraction(false_negatives + false_positives, 2 * positives - false_negatives + false_positives)


def test_figure_1_gains_are_those_of_the_formula_and_cross():
    found, numbers = figures.gains(), figures.make_figure1(Settings()).numbers
    for k, n in enumerate(range(1, 9)):
        assert found["A"][k] == pytest.approx(float(dice(n + 1, 8) - dice(n, 8)), abs=1e-15)
        assert found["B"][k] == pytest.approx(float(dice(n, 5) - dice(n - 1, 5)), abs=1e-15)
    assert (numbers["more"], numbers["less"]) == ([1, 2, 3, 4], [5, 6, 7, 8])
    assert len(figures.draw_gains().axes[0].lines) == 2


def test_figure_3_parts_add_up_and_have_the_properties_of_the_text():
    document = figures.make_figure3(Settings())
    for name, parts in document.numbers.items():
        np.testing.assert_allclose(np.add(parts["f"], parts["g"]), parts["l"], atol=1e-12)
        assert min(parts["g"]) >= 0
        assert parts["f_nonnegative"] == (name in ("curve1", "curve2"))
    assert [document.numbers[f"curve{k}"]["l"][10] for k in (1, 2, 4)] == pytest.approx([2 / 3, 2, 0.5])
    assert {row[0]: row[1:4] for row in document.tables[0].rows} == {
        "loss 1": ("increasing", "never negative", "increasing"),
        "loss 2": ("increasing", "never negative", "neither way"),
        "loss 3": ("increasing", "never positive", "decreasing"),
        "loss 4": ("neither way", "never positive", "decreasing"),
    }
    panels = document.figures[0].draw().axes
    assert [panel.get_title() for panel in panels] == ["loss 1", "loss 2", "loss 3", "loss 4"]


# ---------------------------------------------------------------- Figure 5 at a tiny size

TINY = Protocol(Cs=(0.01, 0.1), outer=3, inner=2, tol=1e-1, max_iter=10)


@pytest.fixture(scope="module")
def made():
    return generated_tracks(TrackParameters(3.0, 1.0, 1.0, 0.5), n_bags=20, n_frames=80, n_features=3)


@pytest.fixture(scope="module")
def document(made):
    return figure5.compare([made], TINY, 30)


def test_iterations_to_a_level():
    trace = Trace(1.0, (1.0, 0.09, 0.2, 0.005), True)
    assert [trace.iterations_to(level) for level in (0.1, 0.01, 0.001)] == [2, 4, None]


def test_gaps_of_exact_surrogates_never_rise_and_levels_are_reached_in_order(document):
    numbers = document.numbers["traces"]["generated"]
    assert set(numbers["iterations"]) == {"curve1", "curve2", "curve3", "curve4"}
    for curve, by_method in numbers["gaps"].items():
        assert set(by_method) == {"bd", "slack", "slack-greedy", "hinge"}
        for method, gaps in by_method.items():
            known = [gap for gap in gaps if gap is not None]
            assert method == "slack-greedy" or known == sorted(known, reverse=True)
            reached = [k for k in numbers["iterations"][curve][method].values() if k is not None]
            assert reached == sorted(reached)
    json.dumps(document.as_dict(), allow_nan=False)


def test_c_is_chosen_by_cross_validation(made, document):
    chosen = document.numbers["traces"]["generated"]["C"]["curve1"]["bd"]
    assert chosen == choose_C(METHODS["bd"], made.frames, ("curve1",), TINY)["curve1"]


def test_figure_5_says_what_certifies_nothing(document):
    table = document.tables[0]
    certified = {row[1]: row[-1] for row in table.rows}
    assert certified == {"B_D": "yes", "S exact": "yes", "S greedy": "no", "0-1 (hinge)": "yes"}
    assert [figure.name for figure in document.figures] == ["figure5"]
    drawing = document.figures[0].draw()
    assert [axes.get_title() for axes in drawing.axes] == ["Loss 1", "Loss 2", "Loss 3", "Loss 4"]
    lines = {line.get_label(): line.get_linestyle() for line in drawing.axes[0].get_lines()}
    assert (lines["S greedy (no certificate)"], lines["$B_D$"]) == ("--", "-")
