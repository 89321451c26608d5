"""Figures: what is drawn where, in which colours, and what is refused."""

import numpy as np
import pytest

from helpers.children import printed
from setloss import Dice, Jaccard, SetFunction, decompose
from setloss.losses import PAPER_CURVES
from setloss.plots import COLOURS, plot_decomposition

pytest.importorskip("matplotlib")


def parts(decomposition):
    return {"l": decomposition.loss, "f": decomposition.submodular, "g": decomposition.supermodular}


def test_one_group_is_three_curves_against_the_number_of_mistakes():
    decomposition = decompose(PAPER_CURVES["curve3"].on_counts(10, 0))
    (axes,) = plot_decomposition(decomposition).axes
    lines = {line.get_color(): line for line in axes.lines if len(line.get_xdata()) == 11}
    for letter, function in parts(decomposition).items():
        np.testing.assert_array_equal(lines[COLOURS[letter]].get_xdata(), np.arange(11))
        np.testing.assert_array_equal(lines[COLOURS[letter]].get_ydata(), function.table)
    assert len({line.get_marker() for line in lines.values()}) == 3
    assert len(axes.get_legend().get_texts()) == 3
    assert "mistakes" in axes.get_xlabel()


def test_two_groups_are_three_heat_maps_on_one_scale():
    decomposition = decompose(Dice().on_counts(5, 7))
    panels = [axes for axes in plot_decomposition(decomposition).axes if axes.images]
    for axes, (letter, function) in zip(panels, parts(decomposition).items(), strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), function.table)
        assert image.get_clim() == (0.0, 1.0)
        assert image.get_extent() == [-0.5, 7.5, -0.5, 5.5]
        assert axes.title.get_color() == COLOURS[letter]
        assert all(tick == round(tick) for tick in (*axes.get_xticks(), *axes.get_yticks()))
    assert (panels[0].get_xlabel(), panels[0].get_ylabel()) == ("false positives", "false negatives")


def test_negative_values_get_a_scale_that_diverges_around_zero():
    table = [[max(n + q - 2, 0) - 1.5 * max(n + q - 4, 0) for q in range(4)] for n in range(4)]
    decomposition = decompose(SetFunction.from_table(table))
    assert decomposition.submodular.table.min() < 0
    image = plot_decomposition(decomposition).axes[0].images[0]
    low, high = image.get_clim()
    assert low == -high
    assert image.get_cmap().name == "RdBu_r"


def test_what_is_large_is_sampled_and_what_cannot_be_drawn_is_refused(monkeypatch):
    figure = plot_decomposition(decompose(Jaccard().on_counts(1000, 3000)))
    assert figure.axes[0].images[0].get_array().shape == (401, 401)
    with pytest.raises(ValueError, match="a set function of 3 groups cannot be drawn"):
        plot_decomposition(decompose(SetFunction.from_values(np.zeros(8))))
    monkeypatch.setattr("setloss.plots.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"figures need matplotlib; install it with: pip install 'setloss\[plot\]'"):
        decompose(Dice().on_counts(3, 3)).plot()


def test_figures_do_not_touch_pyplot():
    drawn = "from setloss import Dice, decompose; decompose(Dice().on_counts(2, 2)).plot()"
    printed(f"{drawn}; import sys; assert 'matplotlib.pyplot' not in sys.modules")
