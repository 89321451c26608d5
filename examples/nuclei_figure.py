"""The figure of `segment_nuclei.py`: images, masks, and what each method got right and wrong."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from nuclei_data import Images, Masks, Nuclei
from numpy.typing import NDArray

FOUND, MISSED, FALSE = (0.93, 0.93, 0.93), (0.90, 0.62, 0.0), (0.34, 0.71, 0.91)
"""Light grey, orange and sky blue: told apart by all eyes, and by their lightness in print."""


def draw(data: Nuclei, predicted: dict[str, Masks]) -> Figure:
    """A row per image, a column per method, half of each side shown; below, the Dice of the whole image."""
    shown = _choose(data.masks, predicted)
    columns = 2 + len(predicted)
    figure = Figure(figsize=(1.32 * columns, 1.5 * len(shown) + 0.85), layout="constrained")
    grid: Any = figure.subplots(len(shown), columns, squeeze=False)
    for axes, i in zip(grid, shown, strict=True):
        backdrop, window = _light(data.images[i]), _busiest(data.masks[i])
        axes[0].imshow(backdrop[window], cmap="gray", vmin=0, vmax=1)
        axes[1].imshow(data.masks[i][window], cmap="gray", vmin=0, vmax=1.07)
        axes[0].set_xlabel(f"{data.masks[i].mean():.1%} nuclei", fontsize=8)
        for panel, mask in zip(axes[2:], predicted.values(), strict=True):
            panel.imshow(_overlay(backdrop, mask[i], data.masks[i])[window])
            panel.set_xlabel(f"Dice {_dice(mask[i], data.masks[i]):.3f}", fontsize=8)
    for axes, name in zip(grid[0], ("image", "mask", *predicted), strict=True):
        axes.set_title("\n".join(fill(part, 13) for part in name.split(", ")), fontsize=9)
    for axes in grid.flat:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    names = ((FOUND, "found"), (MISSED, "missed"), (FALSE, "false alarm"))
    patches = [Patch(facecolor=colour, edgecolor="0.5", label=label) for colour, label in names]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _choose(truth: Masks, predicted: dict[str, Masks]) -> list[int]:
    """Few, some and many nuclei by rank, and the image on which the methods differ most; no hand-picking."""
    order = np.argsort(truth.mean((1, 2)), kind="stable")
    ranked = [int(order[round(share * (len(order) - 1))]) for share in (0.1, 0.5, 0.9)]
    scores = np.array([[_dice(p, t) for p, t in zip(masks, truth, strict=True)] for masks in predicted.values()])
    contested = [int(i) for i in np.argsort(-np.ptp(scores, 0), kind="stable") if i not in ranked]
    return [*ranked, *contested[:1]]


def _busiest(truth: Masks) -> tuple[slice, slice]:
    """The window of half the side that holds most of the mask: mistakes at rims are too thin to see otherwise."""
    side, steps = len(truth) // 2, range(0, len(truth) - len(truth) // 2 + 1, 4)
    windows = [(slice(top, top + side), slice(left, left + side)) for top in steps for left in steps]
    return max(windows, key=lambda window: int(truth[window].sum()))


def _dice(predicted: Masks, truth: Masks) -> float:
    total = predicted.sum() + truth.sum()
    return float(2 * (predicted & truth).sum() / total) if total else 1.0


def _light(image: Images) -> NDArray[np.floating]:
    """Brightness in [0, 1], the dark half lifted: fluorescence is dim."""
    low, high = np.quantile(image, [0.01, 0.998])
    return np.sqrt(np.clip((image - low) / max(high - low, 1e-6), 0, 1))


def _overlay(backdrop: NDArray[np.floating], predicted: Masks, truth: Masks) -> NDArray[np.floating]:
    picture = np.repeat(0.35 * backdrop[..., None], 3, axis=2)
    for colour, chosen in ((FOUND, predicted & truth), (MISSED, truth & ~predicted), (FALSE, predicted & ~truth)):
        picture[chosen] = colour
    return picture
