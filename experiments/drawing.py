"""How figures look: panels, colours and markers of methods, legends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

SMALL = 8.5
"""Size of small type."""


@dataclass(frozen=True)
class Style:
    """How one method is drawn."""

    colour: str
    marker: str
    line: str = "-"


STYLES = {
    "bd": Style("#0072B2", "o"),
    "slack": Style("#009E73", "s"),
    "slack-greedy": Style("#009E73", "P", "--"),
    "hinge": Style("#E69F00", "h"),
}
"""Okabe and Ito's colours, safe for all eyes; markers and line styles tell methods apart without colour."""


def panels(columns: int, size: tuple[float, float], rows: int = 1, **shared: Any) -> tuple[Drawing, list[Axes]]:
    """A figure of rows x columns panels, `size` in inches being that of the whole; pyplot is not involved."""
    from matplotlib.figure import Figure as Drawing

    figure = Drawing(figsize=size, layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).ravel())


def clean(axes: Axes) -> None:
    """Axes without top and right side, small type."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL)


def legend_above(figure: Drawing, axes: Axes) -> None:
    """One legend for all panels, in a row above them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=SMALL)


def in_figures(label: str) -> str:
    """The name of a method with the paper's symbol set as mathematics."""
    return label.replace("B_D", "$B_D$")
