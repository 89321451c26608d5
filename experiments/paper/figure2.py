"""Figure 2: the data of the toy problem, with the lines that training draws through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.document import Cell, Document, Figure, ResultTable
from experiments.paper import toy
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.drawing import SMALL, clean, in_figures, panels
from experiments.style import STYLES
from experiments.tracks.methods import Frames, LinearRule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

LINES = ("hinge", "bd", "slack-greedy")
SHOWN_BAGS = 60
"""Bags in the picture; the lines are trained on all."""


def make(settings: Settings) -> Document:
    """The setting of each variant, and one draw from it."""
    return picture(settings, toy.sizes_for(settings), toy.family_for(settings))


def picture(settings: Settings, sizes: toy.Sizes, family: tuple[toy.Setting, ...] = toy.FAMILY) -> Document:
    """Search, draw, and train the methods whose lines are shown."""
    tables, drawn, numbers = [], {}, {}
    for k, (variant, homogeneous) in enumerate(toy.VARIANTS.items()):
        settings.progress(k / len(toy.VARIANTS), f"{variant} bags, searching a setting")
        found = toy.search(homogeneous, sizes, settings.seed, family)
        frames = toy.draw(found.setting, homogeneous, sizes.train, settings.seed, toy.PICTURE, int(homogeneous))
        rules = {method: toy.train(method, frames, sizes) for method in LINES}
        drawn[variant] = (frames, rules)
        tables.append(_family(variant, found))
        numbers[variant] = {
            "setting": {"distance": found.setting.distance, "angle": found.setting.angle},
            "family": [
                {"distance": setting.distance, "angle": setting.angle, "wrong": wrong, "dice": dice}
                for setting, wrong, dice in zip(found.settings, found.wrong, found.dice, strict=True)
            ],
            "lines": {key: [*rule.weights.tolist(), rule.intercept] for key, rule in rules.items()},
        }
    caption = (
        f"{SHOWN_BAGS * toy.BAG_SIZE} elements of the toy problem, the negatives from two Gaussians, and the lines "
        "of three trainings: positive is below and to the left. In the right panel every element draws its own label."
    )
    figure = Figure("figure2", caption, lambda: draw(drawn))
    return Document("figure2", FIGURE2.title, tuple(tables), (figure,), numbers)


def _family(variant: str, found: toy.ToySearch) -> ResultTable:
    """Wrong elements of the hinge, distances downwards, angles to the right."""
    angles = list(dict.fromkeys(setting.angle for setting in found.settings))
    distances = list(dict.fromkeys(setting.distance for setting in found.settings))
    wrong = dict(zip(found.settings, found.wrong, strict=True))
    rows: list[tuple[Cell, ...]] = [
        (f"{distance:g}", *(f"{wrong[toy.Setting(distance, angle)]:.3f}" for angle in angles))
        for distance in distances
    ]
    place = (distances.index(found.setting.distance), 1 + angles.index(found.setting.angle))
    return ResultTable(
        f"Wrong elements of 6 with the hinge, {variant} bags",
        ("distance of the negatives", *(f"{angle:g} degrees apart" for angle in angles)),
        tuple(rows),
        "Bold: the setting nearest to the 0.537 of the paper's 0-1 row; Table 1 uses it.",
        frozenset({place}),
    )


def draw(drawn: dict[str, tuple[Frames, dict[str, LinearRule]]]) -> Drawing:
    """A panel per variant: points in grey, the trained lines in the colours of their methods."""
    figure, axes = panels(len(drawn), (7.2, 3.5), sharex=True, sharey=True)
    for panel, (variant, (frames, rules)) in zip(axes, drawn.items(), strict=True):
        shown = frames.part(frames.groups < SHOWN_BAGS)
        _points(panel, shown)
        limits = (-3.2, 6.8)
        for method, rule in rules.items():
            _line(panel, rule, method, limits)
        panel.set(xlim=limits, ylim=limits, aspect="equal")
        panel.set_title(f"{variant} bags", fontsize=SMALL + 1)
        clean(panel)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=SMALL)
    return figure


def _points(panel: Axes, frames: Frames) -> None:
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "positive": (frames.y, {"marker": "+", "color": "#222222", "s": 22, "linewidths": 0.9}),
        "negative": (~frames.y, {"marker": "o", "facecolors": "none", "edgecolors": "#999999", "s": 11, "lw": 0.7}),
    }
    for label, (chosen, style) in kinds.items():
        panel.scatter(*frames.X[chosen].T, label=label, **style)


def _line(panel: Axes, rule: LinearRule, method: str, limits: tuple[float, float]) -> None:
    """Where the score is 0."""
    style = STYLES[method]
    along = np.linspace(*limits, 2)
    first, second = rule.weights
    across = -(rule.intercept + first * along) / second if abs(second) >= abs(first) else along
    along = along if abs(second) >= abs(first) else -(rule.intercept + second * along) / first
    panel.plot(along, across, color=style.colour, linestyle=style.line, linewidth=1.8, label=in_figures(style.label))


FIGURE2 = Artefact("figure2", "Figure 2. The toy problem", make)
