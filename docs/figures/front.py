"""The front figure: a loss with its parts f and g, and its surrogates for p = 2 over the margin plane.

Run ``python docs/figures/front.py`` to write ``docs/figures/front.png``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from setloss import SetFunction, decompose
from setloss.losses import PAPER_CURVES
from setloss.operators import B_D, SlackRescaling
from setloss.plots import COLOURS, LABELS, MARKERS

PAIR = SetFunction.symmetric([0.0, 0.3, 1.0])
"""Two elements: one mistake costs 0.3, both cost 1."""


def draw_parts(axes) -> None:
    """The paper's loss 1 on a track of 12 frames, with f and g."""
    parts = decompose(PAPER_CURVES["curve1"].on_counts(12, 0))
    mistakes = np.arange(13)
    for name, function in (("l", parts.loss), ("f", parts.submodular), ("g", parts.supermodular)):
        style = {"marker": MARKERS[name], "ms": 4 if name != "l" else 7, "color": COLOURS[name]}
        axes.plot(mistakes, function.table, label=LABELS[name], **style)
    axes.set(xlabel="mistakes in a track of 12 frames", ylabel="cost", xticks=range(0, 13, 3))
    axes.set_title("a loss is submodular + supermodular")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)


def convex_closure(margins) -> float:
    """The largest convex function below `PAIR` at the vertices: two planes, since `PAIR` is supermodular."""
    slack = float(np.sum(1 - margins))
    return max(0.3 * slack, 0.7 * slack - 0.4)


def draw_surface(axes, value, title: str, span: tuple[float, float], colour: str) -> None:
    """One surrogate of `PAIR`; the dots are the loss at the vertices of the unit cube."""
    ticks = np.linspace(*span, 41)
    first, second = np.meshgrid(ticks, ticks)
    height = np.vectorize(lambda a, b: value(np.array([a, b])))(first, second)
    axes.plot_surface(first, second, height, color=colour, alpha=0.75, linewidth=0.2, edgecolor="white")
    for mask in ([0, 0], [0, 1], [1, 0], [1, 1]):
        cost = PAIR(np.array(mask, dtype=bool))
        axes.scatter(1 - mask[0], 1 - mask[1], cost, color="black", s=22, depthshade=False, zorder=10)
    axes.set(xlim=(-0.25, 1.25), ylim=(-0.25, 1.25), zlim=(0, 2))
    axes.set(xticks=(0, 1), yticks=(0, 1), zticks=(0, 0.3, 1, 2))
    axes.set_title(title, y=0.98)
    axes.set_xlabel("margin $m_1$", labelpad=-8)
    axes.set_ylabel("margin $m_2$", labelpad=-8)
    axes.tick_params(pad=-2, labelsize=9)
    axes.view_init(22, 38)


def front_figure() -> Figure:
    """All four panels side by side."""
    figure = Figure(figsize=(13.5, 3.6))
    draw_parts(figure.add_axes((0.045, 0.16, 0.2, 0.7)))
    wide, cube = (-0.25, 1.25), (0.0, 1.0)
    surfaces = (
        (SlackRescaling(PAIR), "slack rescaling $S\\,l$", wide, "#0072B2"),
        (B_D(PAIR), "$B_D\\,l = L f + S g$", wide, "#D55E00"),
        (convex_closure, "convex closure (unit cube)", cube, "#009E73"),
    )
    for k, surface in enumerate(surfaces):
        draw_surface(figure.add_axes((0.28 + 0.24 * k, 0.02, 0.23, 0.9), projection="3d"), *surface)
    figure.text(0.635, 0.02, "black dots: the loss of the four sets of mistakes over two elements", ha="center")
    return figure


if __name__ == "__main__":
    front_figure().savefig(Path(__file__).with_suffix(".png"), dpi=130)
