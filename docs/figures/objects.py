"""Dice of nuclei by their size, for networks trained with a set per image and with a set per object.

Made with version 0.2, whose benchmark had a method with a set per object; run
``python docs/figures/objects.py results/segmentation.json`` to write ``docs/figures/objects.png``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

LABELS = {"ce+soft-dice": "cross-entropy + soft Dice", "default": "SetLoss()", "objects": 'SetLoss(over="groups")'}
STYLES = {
    "ce+soft-dice": {"color": "0.5", "marker": "s"},
    "default": {"color": "#0072B2", "marker": "o"},
    "objects": {"color": "#D55E00", "marker": "^"},
}
BINS = 8
TICKS = (2, 3, 5, 10, 20)


def draw(methods: list[dict]) -> Figure:
    """Left: mean Dice of the nuclei of every size; right: the share of which nothing was found."""
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for method in methods:
        name, sizes = method["method"], np.array(method["objects"][0]["sizes"])
        dice = np.array([seed["dice"] for seed in method["objects"]])
        edges = np.quantile(sizes, np.linspace(0, 1, BINS + 1)[1:-1])
        place = np.searchsorted(edges, sizes)
        middle = [np.median(sizes[place == b]) for b in range(BINS)]
        found = dice.mean(0), (dice == 0).mean(0)
        for axis, values in zip(axes, found, strict=True):
            axis.plot(middle, [values[place == b].mean() for b in range(BINS)], label=LABELS[name], **STYLES[name])
    axes[0].set(xscale="log", xlabel="pixels of a nucleus", ylabel="mean Dice")
    axes[1].set(xscale="log", xlabel="pixels of a nucleus", ylabel="share missed")
    axes[0].legend(frameon=False)
    for axis in axes:
        axis.set_xticks(TICKS, labels=[str(tick) for tick in TICKS])
        axis.minorticks_off()
        axis.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    numbers = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["numbers"]["nuclei"]
    draw([one for one in numbers if one["method"] in LABELS]).savefig(Path(__file__).with_suffix(".png"), dpi=150)
