"""Figures of a decomposition: l, f and g as curves or heat maps (the paper's Figure 3).

matplotlib is imported on first use, and pyplot never: the figures belong to the caller and need no display.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from setloss.decomposition import Decomposition
from setloss.setfunctions.set_function import SetFunction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"l": "#D55E00", "f": "#0072B2", "g": "#009E73"}
"""Okabe and Ito's vermillion, blue and bluish green: the paper's red, blue and green, safe for all eyes."""

LABELS = {"l": "loss $l$", "f": "submodular $f$", "g": "supermodular $g$"}
MARKERS = {"l": "o", "f": "s", "g": "^"}

MAX_POINTS = 2000
"""Longer curves are sampled at this many sizes; heat maps at a fifth of it either way."""


def plot_decomposition(decomposition: Decomposition) -> Figure:
    """A figure of l, f and g.

    One group: three curves against the number of mistakes. Two groups: three heat maps over false negatives
    and false positives, on one colour scale.

    Examples
    --------
    >>> from setloss import decompose
    >>> figure = plot_decomposition(decompose(SetFunction.symmetric([0, 1, 1, 2])))
    >>> [line.get_text() for line in figure.axes[0].get_legend().get_texts()]
    ['loss $l$', 'submodular $f$', 'supermodular $g$']
    """
    if find_spec("matplotlib") is None:
        raise ImportError("figures need matplotlib; install it with: pip install 'setloss[plot]'")
    loss = decomposition.loss
    parts = {"l": loss, "f": decomposition.submodular, "g": decomposition.supermodular}
    if len(loss.sizes) == 1:
        return _curves(parts)
    if len(loss.sizes) == 2:
        return _heat_maps(parts)
    raise ValueError(f"a set function of {len(loss.sizes)} groups cannot be drawn; those of one or two groups can")


def _curves(parts: dict[str, SetFunction]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    p = parts["l"].p
    sizes = _sampled(p, MAX_POINTS)
    figure = Figure(figsize=(4.2, 3.1), layout="constrained")
    axes = figure.add_subplot(xlabel="number of mistakes $|A|$", ylabel="value")
    axes.axhline(0, color="0.7", linewidth=0.8, zorder=0)
    for name, function in parts.items():
        # l lies below f and g, and wide, so that it still shows where one of them is zero and the other is l.
        width = 3.4 if name == "l" else 1.5
        marker = MARKERS[name] if p <= 30 else ""
        axes.plot(sizes, function.at(sizes), marker, ls="-", color=COLOURS[name], label=LABELS[name], linewidth=width)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=3)
    return figure


def _heat_maps(parts: dict[str, SetFunction]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    grid = np.ix_(*(_sampled(n, MAX_POINTS // 5) for n in parts["l"].sizes))
    tables = {name: np.asarray(function.at(*grid)) for name, function in parts.items()}
    rows, columns = (n + 1 for n in parts["l"].sizes)
    figure = Figure(figsize=(7.2, 2.85), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    for axes, (name, table) in zip(panels, tables.items(), strict=True):
        extent = (-0.5, columns - 0.5, -0.5, rows - 0.5)
        image = axes.imshow(table, origin="lower", aspect="auto", extent=extent, **_colour_scale(tables.values()))
        axes.set_title(LABELS[name], color=COLOURS[name], fontsize="medium")
        axes.set_xlabel("false positives")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    panels[0].set_ylabel("false negatives")
    figure.colorbar(image, ax=panels)
    return figure


def _colour_scale(tables: Any) -> dict[str, Any]:
    """One scale for all three: from 0 upwards, or diverging around 0 where something is negative."""
    low, high = min(float(table.min()) for table in tables), max(float(table.max()) for table in tables)
    reach = max(-low, high) or 1.0
    negative = low < -1e-9 * reach
    return {"cmap": "RdBu_r" if negative else "viridis", "vmin": -reach if negative else 0.0, "vmax": reach}


def _sampled(size: int, points: int) -> Any:
    """0, ..., size, or about `points` of them evenly."""
    return np.unique(np.linspace(0, size, min(size, points) + 1).round().astype(np.intp))
