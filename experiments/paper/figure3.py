"""Figure 3: the paper's losses 1 to 4 for a track of ten frames, each with its parts l = f + g."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.document import Document, Figure, ResultTable
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.drawing import SMALL, clean, panels
from setloss import decompose, is_increasing, is_nonnegative
from setloss.decomposition import Decomposition
from setloss.losses import PAPER_CURVES
from setloss.plots import COLOURS, LABELS, MARKERS
from setloss.setfunctions.set_function import SetFunction

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TRACK_LENGTH = 10


def parts_of_all() -> dict[str, Decomposition]:
    """D of every loss, certified."""
    return {name: decompose(curve.on_counts(TRACK_LENGTH, 0)) for name, curve in PAPER_CURVES.items()}


def make(settings: Settings) -> Document:
    """Values of l, f and g by number of mistakes, and what the text says of them."""
    found = parts_of_all()
    numbers: dict[str, Any] = {}
    for name, answer in found.items():
        numbers[name] = {part: function.table.tolist() for part, function in _parts(answer).items()}
        numbers[name]["certificate"] = str(answer.certificate)
        numbers[name]["f_nonnegative"] = bool(is_nonnegative(answer.submodular))
    caption = f"Losses 1 to 4 of a track of {TRACK_LENGTH} frames with their submodular and supermodular parts."
    figure = Figure("figure3", caption, lambda: draw(found))
    return Document("figure3", FIGURE3.title, (_properties(found),), (figure,), numbers)


def _parts(answer: Decomposition) -> dict[str, SetFunction]:
    return {"l": answer.loss, "f": answer.submodular, "g": answer.supermodular}


def _properties(found: dict[str, Decomposition]) -> ResultTable:
    rows = [
        (f"loss {name[-1]}", _way(it.loss), _sign(it.submodular), _way(it.submodular), it.certificate.rule)
        for name, it in found.items()
    ]
    note = "B_D extends a loss exactly where its f is never negative (Theorem 4)."
    return ResultTable(
        "What the parts are like", ("loss", "l", "sign of f", "f", "g certified by"), tuple(rows), note
    )


def _way(function: SetFunction) -> str:
    if is_increasing(function):
        return "increasing"
    return "decreasing" if np.all(np.diff(function.table) <= 1e-12) else "neither way"


def _sign(function: SetFunction) -> str:
    if is_nonnegative(function):
        return "never negative"
    return "never positive" if np.all(function.table <= 1e-12) else "both"


def draw(found: dict[str, Decomposition]) -> Drawing:
    """One panel per loss; l is wide and below, so that it shows where f or g equals it."""
    figure, axes = panels(4, (9.2, 2.5))
    mistakes = np.arange(TRACK_LENGTH + 1)
    for panel, (name, answer) in zip(axes, found.items(), strict=True):
        panel.axhline(0, color="0.75", linewidth=0.8, zorder=0)
        for part, function in _parts(answer).items():
            wide = part == "l"
            panel.plot(
                mistakes,
                function.table,
                color=COLOURS[part],
                label=LABELS[part],
                marker=MARKERS[part],
                markersize=5.5 if wide else 3.2,
                linewidth=3.0 if wide else 1.4,
                clip_on=False,
            )
        panel.set_title(f"loss {name[-1]}", fontsize=SMALL + 1)
        panel.set_xlabel("mistakes in a track", fontsize=SMALL + 0.5)
        panel.set_xticks(range(0, TRACK_LENGTH + 1, 2))
        clean(panel)
    axes[0].set_ylabel("value", fontsize=SMALL + 0.5)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=SMALL)
    return figure


FIGURE3 = Artefact("figure3", "Figure 3. Losses 1 to 4 and their parts", make)
