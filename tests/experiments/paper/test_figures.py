"""Figures 1 and 3: numbers by hand, parts that add up, and drawings that show them."""

from fractions import Fraction

import numpy as np
import pytest

from experiments.paper import figures
from experiments.paper.artefact import Settings


def dice(false_negatives, false_positives, positives=10):
    return Fraction(false_negatives + false_positives, 2 * positives - false_negatives + false_positives)


def test_figure_1_gains_are_those_of_the_formula_and_cross():
    found, numbers = figures.gains(), figures.make_figure1(Settings()).numbers
    for k, n in enumerate(range(1, 9)):
        assert found["A"][k] == pytest.approx(float(dice(n + 1, 8) - dice(n, 8)), abs=1e-15)
        assert found["B"][k] == pytest.approx(float(dice(n, 5) - dice(n - 1, 5)), abs=1e-15)
    assert (numbers["more"], numbers["less"]) == ([1, 2, 3, 4], [5, 6, 7, 8])
    drawn = figures.draw_gains().axes[0].lines
    np.testing.assert_array_equal([line.get_ydata() for line in drawn], [found["A"], found["B"]])


def test_figure_3_parts_add_up_and_have_the_properties_of_the_text():
    document = figures.make_figure3(Settings())
    for name, parts in document.numbers.items():
        np.testing.assert_allclose(np.add(parts["f"], parts["g"]), parts["l"], atol=1e-12)
        assert min(parts["g"]) >= 0
        assert parts["f_nonnegative"] == (name in ("curve1", "curve2"))
    assert [document.numbers[f"curve{k}"]["l"][10] for k in (1, 2, 4)] == pytest.approx([2 / 3, 2, 0.5])
    assert [row[:4] for row in document.tables[0].rows] == [
        ("loss 1", "increasing", "never negative", "increasing"),
        ("loss 2", "increasing", "never negative", "neither way"),
        ("loss 3", "increasing", "never positive", "decreasing"),
        ("loss 4", "neither way", "never positive", "decreasing"),
    ]
    panels = document.figures[0].draw().axes
    assert [panel.get_title() for panel in panels] == ["loss 1", "loss 2", "loss 3", "loss 4"]
