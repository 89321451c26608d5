"""Figure 1 (Dice is neither submodular nor supermodular) and Figure 3 (losses 1 to 4 with their parts)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.document import Document, Figure, ResultTable
from experiments.drawing import SMALL, clean, legend_above, panels
from experiments.paper.artefact import Settings
from experiments.protocol import Array
from setloss import Decomposition, SetFunction, decompose, is_increasing, is_nonnegative
from setloss.losses import PAPER_CURVES, Dice
from setloss.plots import COLOURS, LABELS, MARKERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# ---------------------------------------------------------------- Figure 1

POSITIVES = 10
FALSE_NEGATIVES = np.arange(1, 9)
FALSE_POSITIVES = {"A": 8, "B": 5}
SIDES = {
    "A": ("#D55E00", "o", r"$l(A \cup i) - l(A)$"),
    "B": ("#0072B2", "s", r"$l(B \cup i) - l(B)$,  $B \subset A$"),
}
"""Colour, marker and name of each curve."""


def gains() -> dict[str, Array]:
    """The loss that one more false negative adds to A and to B, for every n_A:

        l(A + i) - l(A)   against   l(B + i) - l(B),      B a subset of A, i an extra false negative

    with m = 10 positives, n_A = 1..8 false negatives, n_B = n_A - 1, and p_A = 8, p_B = 5 false positives. Submodular
    would mean that B always gains more, supermodular that A does.
    """
    found = {}
    for name, false_negatives in (("A", FALSE_NEGATIVES), ("B", FALSE_NEGATIVES - 1)):
        before, after = (
            Dice().value(false_negatives + more, FALSE_POSITIVES[name], POSITIVES, FALSE_POSITIVES["A"])
            for more in (0, 1)
        )
        found[name] = np.asarray(after - before, dtype=np.float64)
    return found


def make_figure1(settings: Settings) -> Document:
    """The gains, and where they cross."""
    both = gains()
    less, more = FALSE_NEGATIVES[both["A"] < both["B"]], FALSE_NEGATIVES[both["A"] > both["B"]]
    note = (
        f"A gains less than B at n_A = {less[0]} to {less[-1]} (as a submodular function would) and more at n_A = "
        f"{more[0]} to {more[-1]} (as a supermodular one would). {POSITIVES} positives; A has {FALSE_POSITIVES['A']} "
        f"false positives, B has {FALSE_POSITIVES['B']} and one false negative less than A."
    )
    rows = [(int(n), f"{a:.4f}", f"{b:.4f}") for n, a, b in zip(FALSE_NEGATIVES, both["A"], both["B"], strict=True)]
    table = ResultTable("Gain of one more false negative", ("n_A", "gain of A", "gain of B"), tuple(rows), note)
    caption = "Loss that one more false negative adds to A and to its subset B: the curves cross."
    numbers = {"less": less.tolist(), "more": more.tolist()}
    title = "Figure 1. Dice is neither submodular nor supermodular"
    return Document("figure1", title, (table,), (Figure("figure1", caption, draw_gains),), numbers)


def draw_gains() -> Drawing:
    """Both curves against n_A; they cross."""
    figure, (axes,) = panels(1, (4.0, 2.8))
    for name, values in gains().items():
        colour, marker, words = SIDES[name]
        axes.plot(FALSE_NEGATIVES, values, color=colour, marker=marker, label=words, markersize=4.5, linewidth=1.6)
    axes.set_ylabel("gain of one more false negative", fontsize=SMALL + 0.5)
    axes.set_xlabel("false negatives $n_A$", fontsize=SMALL + 0.5)
    axes.set_xticks(FALSE_NEGATIVES)
    axes.legend(frameon=False, fontsize=SMALL, loc="upper left")
    clean(axes)
    return figure


# ---------------------------------------------------------------- Figure 3

TRACK_LENGTH = 10


def make_figure3(settings: Settings) -> Document:
    """Values of l, f and g by number of mistakes, and what the text says of them."""
    found = {name: decompose(curve.on_counts(TRACK_LENGTH, 0)) for name, curve in PAPER_CURVES.items()}
    numbers: dict[str, Any] = {}
    for name, answer in found.items():
        numbers[name] = {part: function.table.tolist() for part, function in _parts(answer).items()}
        numbers[name]["certificate"] = str(answer.certificate)
        numbers[name]["f_nonnegative"] = bool(is_nonnegative(answer.submodular))
    rows = [
        (f"loss {name[-1]}", _way(it.loss), _sign(it.submodular), _way(it.submodular), it.certificate.rule)
        for name, it in found.items()
    ]
    note = "B_D extends a loss exactly where its f is never negative (Theorem 4)."
    columns = ("loss", "l", "sign of f", "f", "g certified by")
    table = ResultTable("What the parts are like", columns, tuple(rows), note)
    caption = f"Losses 1 to 4 of a track of {TRACK_LENGTH} frames with their submodular and supermodular parts."
    figure = Figure("figure3", caption, partial(draw_parts, found))
    return Document("figure3", "Figure 3. Losses 1 to 4 and their parts", (table,), (figure,), numbers)


def _parts(answer: Decomposition) -> dict[str, SetFunction]:
    return {"l": answer.loss, "f": answer.submodular, "g": answer.supermodular}


def _way(function: SetFunction) -> str:
    if is_increasing(function):
        return "increasing"
    return "decreasing" if np.all(np.diff(function.table) <= 1e-12) else "neither way"


def _sign(function: SetFunction) -> str:
    if is_nonnegative(function):
        return "never negative"
    return "never positive" if np.all(function.table <= 1e-12) else "both"


def draw_parts(found: dict[str, Decomposition]) -> Drawing:
    """One panel per loss; l is wide and below, so that it shows where f or g equals it."""
    figure, axes = panels(4, (9.2, 2.5))
    for panel, (name, answer) in zip(axes, found.items(), strict=True):
        panel.axhline(0, color="0.75", linewidth=0.8, zorder=0)
        for part, function in _parts(answer).items():
            size, width = (5.5, 3.0) if part == "l" else (3.2, 1.4)
            look: dict[str, Any] = {"color": COLOURS[part], "label": LABELS[part], "marker": MARKERS[part]}
            panel.plot(function.table, markersize=size, linewidth=width, clip_on=False, **look)
        panel.set_title(f"loss {name[-1]}", fontsize=SMALL + 1)
        panel.set_xlabel("mistakes in a track", fontsize=SMALL + 0.5)
        panel.set_xticks(range(0, TRACK_LENGTH + 1, 2))
        clean(panel)
    axes[0].set_ylabel("value", fontsize=SMALL + 0.5)
    legend_above(figure, axes[0])
    return figure
