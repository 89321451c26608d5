"""Figure 1: Dice is neither submodular nor supermodular, for two curves of marginal gains cross.

    l(A + i) - l(A)   against   l(B + i) - l(B),      B a subset of A, i an extra false negative

with m = 10 positives, n_A = 1..8 false negatives, n_B = n_A - 1, and p_A = 8, p_B = 5 false positives. Submodular
would mean that B always gains more, supermodular that A does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.document import Document, Figure, ResultTable
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.drawing import SMALL, clean, panels
from setloss.losses import Dice
from setloss.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

POSITIVES = 10
FALSE_NEGATIVES = np.arange(1, 9)
FALSE_POSITIVES = {"A": 8, "B": 5}
COLOURS = {"A": "#D55E00", "B": "#0072B2"}
MARKERS = {"A": "o", "B": "s"}


def gains() -> dict[str, Array]:
    """The loss that one more false negative adds to A and to B, for every n_A."""
    found = {}
    for name, false_negatives in (("A", FALSE_NEGATIVES), ("B", FALSE_NEGATIVES - 1)):
        at = [
            Dice().value(false_negatives + more, FALSE_POSITIVES[name], POSITIVES, FALSE_POSITIVES["A"])
            for more in (0, 1)
        ]
        found[name] = np.asarray(at[1] - at[0], dtype=np.float64)
    return found


def make(settings: Settings) -> Document:
    """The gains, and where they cross."""
    both = gains()
    less = FALSE_NEGATIVES[both["A"] < both["B"]]
    more = FALSE_NEGATIVES[both["A"] > both["B"]]
    note = (
        f"A gains less than B at n_A = {_range(less)} (as a submodular function would) and more at n_A = "
        f"{_range(more)} (as a supermodular one would). {POSITIVES} positives; A has {FALSE_POSITIVES['A']} false "
        f"positives, B has {FALSE_POSITIVES['B']} and one false negative less than A."
    )
    rows = [(int(n), f"{a:.4f}", f"{b:.4f}") for n, a, b in zip(FALSE_NEGATIVES, both["A"], both["B"], strict=True)]
    table = ResultTable("Gain of one more false negative", ("n_A", "gain of A", "gain of B"), tuple(rows), note)
    caption = "Loss that one more false negative adds to A and to its subset B: the curves cross."
    numbers = {
        "n_A": FALSE_NEGATIVES.tolist(),
        "gain_A": both["A"].tolist(),
        "gain_B": both["B"].tolist(),
        "less": less.tolist(),
        "more": more.tolist(),
    }
    return Document("figure1", FIGURE1.title, (table,), (Figure("figure1", caption, draw),), numbers)


def _range(values: NDArray[Any]) -> str:
    return "none" if not len(values) else f"{values[0]} to {values[-1]}" if len(values) > 1 else str(values[0])


def draw() -> Drawing:
    """Both curves against n_A, and their difference, which changes its sign."""
    figure, (axes, difference) = panels(2, (7.0, 2.8))
    both = gains()
    words = {"A": r"$l(A \cup i) - l(A)$", "B": r"$l(B \cup i) - l(B)$,  $B \subset A$"}
    for name, values in both.items():
        style: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 4.5, "linewidth": 1.6}
        axes.plot(FALSE_NEGATIVES, values, label=words[name], **style)
    axes.set_ylabel("gain of one more false negative", fontsize=SMALL + 0.5)
    axes.legend(frameon=False, fontsize=SMALL, loc="upper left")
    lead = both["A"] - both["B"]
    difference.bar(FALSE_NEGATIVES, lead, color=[COLOURS["A" if value > 0 else "B"] for value in lead], width=0.7)
    difference.axhline(0, color="0.3", linewidth=0.8)
    difference.set_ylabel("gain of $A$ less gain of $B$", fontsize=SMALL + 0.5)
    difference.annotate(
        "as a supermodular $l$ would",
        (0.98, 0.93),
        xycoords="axes fraction",
        ha="right",
        color=COLOURS["A"],
        fontsize=SMALL,
    )
    difference.annotate(
        "as a submodular $l$ would", (0.02, 0.06), xycoords="axes fraction", color=COLOURS["B"], fontsize=SMALL
    )
    for panel in (axes, difference):
        panel.set_xlabel("false negatives $n_A$", fontsize=SMALL + 0.5)
        panel.set_xticks(FALSE_NEGATIVES)
        clean(panel)
    return figure


FIGURE1 = Artefact("figure1", "Figure 1. Dice is neither submodular nor supermodular", make)
