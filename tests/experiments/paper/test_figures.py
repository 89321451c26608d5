"""Figures 1 and 3: numbers by hand, drawings that hold what they say, the registry."""

from fractions import Fraction

import numpy as np
import pytest

from experiments.paper import figures
from experiments.paper.artefact import ARTEFACTS, Settings, in_order, maker


def dice(false_negatives, false_positives, positives=10):
    return Fraction(false_negatives + false_positives, 2 * positives - false_negatives + false_positives)


def test_figure_1_gains_are_those_of_the_formula():
    found = figures.gains()
    for k, n in enumerate(range(1, 9)):
        assert found["A"][k] == pytest.approx(float(dice(n + 1, 8) - dice(n, 8)), abs=1e-15)
        assert found["B"][k] == pytest.approx(float(dice(n, 5) - dice(n - 1, 5)), abs=1e-15)


def test_figure_1_curves_cross_between_4_and_5():
    numbers = figures.make_figure1(Settings()).numbers
    assert numbers["more"] == [1, 2, 3, 4]
    assert numbers["less"] == [5, 6, 7, 8]


def test_figure_1_draws_two_curves_and_their_difference():
    curves, difference = figures.draw_gains().axes
    assert len(curves.lines) == 2
    assert [bar.get_height() > 0 for bar in difference.patches] == [True] * 4 + [False] * 4


def test_figure_3_parts_add_up_and_have_the_signs_of_the_text():
    numbers = figures.make_figure3(Settings()).numbers
    for name, parts in numbers.items():
        np.testing.assert_allclose(np.add(parts["f"], parts["g"]), parts["l"], atol=1e-12)
        assert min(parts["g"]) >= 0
        assert parts["f_nonnegative"] == (name in ("curve1", "curve2"))
    assert numbers["curve1"]["l"][10] == pytest.approx(2 / 3)
    assert numbers["curve2"]["l"][10] == pytest.approx(2)
    assert numbers["curve4"]["l"][10] == pytest.approx(0.5)


def test_figure_3_properties_are_those_of_the_text():
    rows = {row[0]: row[1:4] for row in figures.make_figure3(Settings()).tables[0].rows}
    assert rows == {
        "loss 1": ("increasing", "never negative", "increasing"),
        "loss 2": ("increasing", "never negative", "neither way"),
        "loss 3": ("increasing", "never positive", "decreasing"),
        "loss 4": ("neither way", "never positive", "decreasing"),
    }


def test_figure_3_has_a_panel_per_loss_with_three_curves():
    panels = figures.make_figure3(Settings()).figures[0].draw().axes
    assert [panel.get_title() for panel in panels] == ["loss 1", "loss 2", "loss 3", "loss 4"]
    assert all(len([line for line in panel.lines if len(line.get_xdata()) == 11]) == 3 for panel in panels)


def test_names_come_in_the_paper_s_order_each_once_and_have_a_maker():
    assert in_order(["table3", "figure1", "table3"]) == ("figure1", "table3")
    assert in_order(None) == ARTEFACTS
    assert all(maker(name).__name__ == f"make_{name}" for name in ARTEFACTS)
    with pytest.raises(ValueError, match=r"there is no artefact 'table9'; the names are figure1, "):
        in_order(["table1", "table9"])
