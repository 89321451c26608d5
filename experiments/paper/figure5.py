"""Figure 5: the primal-dual gap by cutting-plane iterations, losses 1 to 4, each with B_D, S and 0-1.

All curves come from the same loop, one-slack cutting planes without line search: solve the program over the planes,
add the plane at its solution. Primal is the best objective so far, dual the value of the program, the gap relative
to the primal. With S greedy there is no primal: what its search sees can lie below the true objective, so that
its "gap" certifies nothing, and it is drawn dashed.

Every surrogate runs at the C of Table 2's grid whose cross-validated loss is least: the slopes of S are up to 2 p
times those of the loss, so one C for all would regularise each differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.document import Cell, Document, Figure, ResultTable
from experiments.drawing import STYLES, clean, in_figures, legend_above, panels
from experiments.inexact_slack import PlainCuttingPlane, bag_problem
from experiments.paper.artefact import Settings
from experiments.paper.tracks import CURVES, paper_like, protocol_for, real
from experiments.protocol import in_parallel, log
from experiments.tracks.data import Frames, TrackProblem
from experiments.tracks.protocol import METHODS, Protocol, choose_C
from setloss.solvers import Limits, solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

DRAWN = ("bd", "slack", "slack-greedy", "hinge")
LEVELS = ("1e-1", "1e-2", "1e-3")


@dataclass(frozen=True)
class Trace:
    """The relative gap after each iteration, whether it is a certificate, and the C of the run."""

    C: float
    gaps: tuple[float, ...]
    certifies: bool

    def iterations_to(self, level: float) -> int | None:
        """The first iteration with a gap of at most `level`; None where there is none."""
        reached = [k for k, gap in enumerate(self.gaps, 1) if gap <= level]
        return reached[0] if reached else None


Traces = dict[str, dict[str, Trace]]
"""By loss and method."""


def make_figure5(settings: Settings) -> Document:
    """Generated tracks (the paper's own where a user has them), and Spoken Arabic Digits where they are found."""
    problems = [*paper_like(settings), *(p for p in real(settings) if p.name == "arabic-digits-sex")]
    limit = 1000 if settings.full else 300
    return compare(problems, protocol_for(settings), limit)


def compare(problems: Sequence[TrackProblem], protocol: Protocol, max_iter: int) -> Document:
    """Trace every loss and method on every data set, on all of its bags."""
    tables, figures = [], []
    numbers: dict[str, Any] = {}
    for k, problem in enumerate(problems):
        found = traces(problem, protocol, max_iter)
        tables.append(_table(problem, found, max_iter))
        figures.append(_figure(k, problem, found))
        numbers[problem.name] = _numbers(found)
    title = "Figure 5. The gap by cutting-plane iterations"
    return Document("figure5", title, tuple(tables), tuple(figures), {"traces": numbers, "max_iter": max_iter})


def traces(problem: TrackProblem, protocol: Protocol, max_iter: int) -> Traces:
    """Every loss and method."""
    jobs = [(curve, method) for curve in CURVES for method in DRAWN]
    calls = [(problem.frames, curve, method, protocol, max_iter) for curve, method in jobs]
    found: Traces = {curve: {} for curve in CURVES}
    running = in_parallel(trace_at_best_C, calls)
    for (curve, method), one in zip(jobs, running, strict=True):
        found[curve][method] = one
        log.info("gaps of %s: loss %s, %s", problem.title, curve[-1], METHODS[method].label)
    return found


def trace_at_best_C(frames: Frames, loss: str, method: str, protocol: Protocol, max_iter: int) -> Trace:
    """One run on all bags at the C of least held-out loss, until a gap of 1e-3 or `max_iter`."""
    C = choose_C(METHODS[method], frames, (loss,), protocol)[loss]
    exact = method != "slack-greedy"
    X = StandardScaler().fit_transform(frames.X) if frames.standardise else frames.X
    task = bag_problem(X, frames.y, frames.groups, C, 1.0, loss, method if exact else ("greedy", 2.0))
    solution = solve(task, PlainCuttingPlane(exact=exact), Limits(float(LEVELS[-1]), max_iter))
    return Trace(C, tuple(float(record.gap) for record in solution.history), exact)


def _numbers(found: Traces) -> dict[str, Any]:
    def of(value: Callable[[Trace], Any]) -> dict[str, Any]:
        return {loss: {method: value(one) for method, one in by.items()} for loss, by in found.items()}

    return {
        "iterations": of(lambda one: {level: one.iterations_to(float(level)) for level in LEVELS}),
        "gaps": of(lambda one: [gap if np.isfinite(gap) else None for gap in one.gaps]),
        "C": of(lambda one: one.C),
    }


def _table(problem: TrackProblem, found: dict[str, Traces], max_iter: int) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for curve, by_method in found.items():
        for method, one in by_method.items():
            reached = [one.iterations_to(float(level)) for level in LEVELS]
            cells = [f"> {max_iter}" if count is None else count for count in reached]
            certified = "yes" if one.certifies else "no"
            rows.append((f"loss {curve[-1]}", METHODS[method].label, f"{one.C:.2g}", *cells, certified))
    note = (
        f"{problem.words}. Training on all bags; C for each surrogate and loss by cross-validation. S greedy ends "
        "when its search finds nothing more, which bounds nothing."
    )
    columns = ("loss", "surrogate", "C", *(f"to gap {level}" for level in LEVELS), "certified")
    return ResultTable(f"{problem.title}: cutting-plane iterations", columns, tuple(rows), note)


def _figure(k: int, problem: TrackProblem, found: Traces) -> Figure:
    caption = (
        f"{problem.title} ({problem.shape}): relative primal-dual gap by cutting-plane iterations, each surrogate at "
        "a C that cross-validation chooses. The gap of S greedy (dashed) is what its approximate search sees and "
        "certifies nothing. The table has every C."
    )
    name = "figure5" if k == 0 else f"figure5_{problem.name.replace('-', '_')}"
    return Figure(name, caption, partial(draw, found))


def draw(found: Traces) -> Drawing:
    """One panel per loss, the gap on a logarithmic scale."""
    figure, axes = panels(4, (10.0, 2.7), sharey=True, sharex=True)
    for one, (curve, by_method) in zip(axes, found.items(), strict=True):
        _panel(one, by_method)
        one.set_title(f"Loss {curve[-1]}", fontsize=10)
    axes[0].set_ylabel("relative gap", fontsize=9)
    axes[0].set_ylim(5e-4, 1.3)
    figure.supxlabel("cutting-plane iterations", fontsize=9)
    legend_above(figure, axes[0])
    return figure


def _panel(axes: Axes, by_method: dict[str, Trace]) -> None:
    for method, one in by_method.items():
        style = STYLES[method]
        label = in_figures(METHODS[method].label) + ("" if one.certifies else " (no certificate)")
        gaps = np.clip(one.gaps, 6e-4, 1.0)
        steps = np.arange(1, len(gaps) + 1)
        width = 1.5 if one.certifies else 0.9
        axes.plot(steps, gaps, style.line, color=style.colour, linewidth=width, label=label)
        axes.plot(steps[-1:], gaps[-1:], style.marker, color=style.colour, markersize=4)
    axes.set_yscale("log")
    axes.axhline(1e-3, color="0.8", linewidth=0.8, zorder=0)
    axes.grid(axis="y", color="0.92", linewidth=0.6)
    clean(axes)
