"""Expected F1 of the k largest scores of one example, for three beliefs about the number of positives.

Run ``python docs/figures/decisions.py`` to write ``docs/figures/decisions.png``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from setloss.decisions import CountModel, decide, expected_losses

SCORES = np.array([[0.3, -0.2, -0.4, -0.9, -1.1, -1.4, -1.6, -2.0, -2.3, -2.6]])
"""Log-odds of ten labels: threshold 0 chooses the first only."""

BELIEFS = {
    "independent labels": (None, "#0072B2", "o"),
    "exactly one label": (np.array([-np.inf, 0.0]), "#D55E00", "s"),
    "three to five labels": (np.array([-np.inf] * 3 + [0.0] * 3), "#009E73", "^"),
}


def decisions_figure() -> Figure:
    """Left the chance of each number of positives, right the expected F1 of each choice."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, (counts, colour, marker) in BELIEFS.items():
        chances = CountModel(SCORES, counts).count_probabilities[0]
        left.plot(range(len(chances)), chances, color=colour, marker=marker, label=name)
        scores = 1 - expected_losses(SCORES, "f1", counts=counts)[0]
        right.plot(range(len(scores)), scores, color=colour, marker=marker, ms=4, label=name)
        best = decide(SCORES, "f1", counts=counts)
        right.plot(best.sizes, 1 - best.expected_loss, "o", ms=13, mfc="none", mew=1.8, color=colour)
    left.set(xlabel="number of positives", ylabel="probability")
    right.set(xlabel="k, the number of labels chosen", ylabel="expected F1")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, frameon=False, loc="outside upper center", ncols=len(names))
    return figure


if __name__ == "__main__":
    decisions_figure().savefig(Path(__file__).with_suffix(".png"), dpi=110)
