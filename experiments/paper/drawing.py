"""Panels in one plain look: no box around the axes, a legend without a frame, type of the size of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL = 8.5


def panels(columns: int, size: tuple[float, float], rows: int = 1, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure of rows x columns panels, `size` in inches being that of the whole; pyplot is not involved."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).ravel())


def in_figures(label: str) -> str:
    """The name of a method with the paper's symbol set as mathematics."""
    return label.replace("B_D", "$B_D$")


def clean(axes: Axes) -> None:
    """Axes without top and right side, small type."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)
