"""Figure 5: the primal-dual gap by cutting-plane iterations, losses 1 to 4, each with B_D, S and 0-1.

All curves come from the same loop, one-slack cutting planes without line search: solve the program over the planes,
add the plane at its solution. Primal is the best objective so far, dual the value of the program, the gap relative
to the primal. With S greedy there is no primal: what its search sees can lie below the true objective, so that
its "gap" certifies nothing, and it is drawn dashed.

Every surrogate runs at the C of Table 2's grid whose cross-validated loss is least. One C for all would mean nothing,
for the slopes of S are up to 2 p times those of the loss; yet C decides more than the surrogate does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.document import Cell, Document, Figure, ResultTable
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.drawing import SMALL, clean, panels
from experiments.paper.tracks import CURVES, paper_like, protocol_for, real
from experiments.running import Progress, part_of
from experiments.style import STYLES
from experiments.tracks.data import TrackProblem
from experiments.tracks.methods import METHODS
from experiments.tracks.protocol import Protocol, best_C
from setloss.bags import Bags
from setloss.estimators.elements import Standardizer
from setloss.losses import loss_named
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Limits, Problem, solve

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
    status: str

    def iterations_to(self, level: float) -> int | None:
        """The first iteration with a gap of at most `level`; None where there is none."""
        reached = [k for k, gap in enumerate(self.gaps, 1) if gap <= level]
        return reached[0] if reached else None


Traces = dict[str, dict[str, Trace]]
"""By loss and method."""


def make(settings: Settings) -> Document:
    """Generated tracks (the paper's own where a user has them), and Spoken Arabic Digits where they are found."""
    problems = [*paper_like(settings), *(p for p in real(settings) if p.name == "arabic-digits-sex")]
    return compare(
        settings, problems, protocol_for(settings), 1000 if settings.full else 40 if settings.quick else 300
    )


def compare(settings: Settings, problems: Sequence[TrackProblem], protocol: Protocol, max_iter: int) -> Document:
    """Trace every loss and method on every data set, on all of its bags."""
    found: dict[str, Traces] = {}
    for k, problem in enumerate(problems):
        follow = part_of(settings.progress, k / len(problems), 1 / len(problems))
        found[problem.name] = traces(problem, protocol, max_iter, follow)
    tables = tuple(_table(problem, found[problem.name], max_iter) for problem in problems)
    figures = tuple(_figure(k, problem, found[problem.name]) for k, problem in enumerate(problems))
    return Document("figure5", FIGURE5.title, tables, figures, _numbers(found, max_iter))


def traces(problem: TrackProblem, protocol: Protocol, max_iter: int, progress: Progress) -> Traces:
    """Every loss and method."""
    from joblib import Parallel, delayed

    jobs = [(curve, method) for curve in CURVES for method in DRAWN]
    running = Parallel(n_jobs=protocol.n_jobs, return_as="generator")(
        delayed(trace)(problem, loss, method, protocol, max_iter) for loss, method in jobs
    )
    found: Traces = {curve: {} for curve in CURVES}
    for number, ((curve, method), one) in enumerate(zip(jobs, running, strict=True), 1):
        found[curve][method] = one
        progress(number / len(jobs), f"{problem.title}: loss {curve[-1]}, {STYLES[method].label}")
    return found


def trace(problem: TrackProblem, loss: str, method: str, protocol: Protocol, max_iter: int) -> Trace:
    """One run on the first question of the data set, until a gap of 1e-3 or `max_iter`."""
    from experiments.paper.inexact import PlainCuttingPlane, inexact_slack

    y = next(iter(problem.targets.values()))
    bags = Bags.from_groups(problem.groups)
    order = np.arange(len(y)) if bags.order is None else bags.order
    offsets, truth = bags.offsets, y[order]
    exact = method != "slack-greedy"
    surrogate = batch_surrogate(loss_named(loss), truth, offsets, method if exact else "slack")
    if not exact:
        surrogate = inexact_slack(loss_named(loss), truth, surrogate.bags, "greedy", 2.0)
    C = best_C(problem, METHODS[method], loss, protocol)
    task = Problem(
        Design.of(Standardizer.of(problem.X).apply(problem.X) if problem.standardise else problem.X, 1.0),
        surrogate,
        np.where(truth, 1.0, -1.0),
        order.astype(np.int64),
        np.zeros(len(y), dtype=np.int64),
        np.full(len(offsets) - 1, C),
    )
    solution = solve(task, PlainCuttingPlane(exact=exact), Limits(float(LEVELS[-1]), max_iter))
    return Trace(C, tuple(float(record.gap) for record in solution.history), exact, str(solution.status))


def _numbers(found: dict[str, Traces], max_iter: int) -> dict[str, Any]:
    iterations: dict[str, Any] = {}
    gaps: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    for data, by_loss in found.items():
        for loss, by_method in by_loss.items():
            for method, one in by_method.items():
                reached = {level: one.iterations_to(float(level)) for level in LEVELS}
                iterations.setdefault(data, {}).setdefault(loss, {})[method] = reached
                known = [gap if np.isfinite(gap) else None for gap in one.gaps]
                gaps.setdefault(data, {}).setdefault(loss, {})[method] = known
                chosen.setdefault(data, {}).setdefault(loss, {})[method] = one.C
    return {"iterations": iterations, "gaps": gaps, "C": chosen, "max_iter": max_iter}


def _table(problem: TrackProblem, found: Traces, max_iter: int) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for curve, by_method in found.items():
        for method, one in by_method.items():
            reached = [one.iterations_to(float(level)) for level in LEVELS]
            cells = [f"> {max_iter}" if k is None else k for k in reached]
            certified = "yes" if one.certifies else "no"
            rows.append((f"loss {curve[-1]}", STYLES[method].label, f"{one.C:.2g}", *cells, certified))
    note = (
        f"{problem.shape}{'; ' if problem.note else ''}{problem.note}. Training on all bags, C for each "
        "surrogate and loss by cross-validation, which decides more than the surrogate: with the smallest C within "
        "one standard error of the best, fewer iterations are needed throughout. S greedy ends when its search finds "
        "nothing more, which bounds nothing."
    )
    columns = ("loss", "surrogate", "C", *(f"to gap {level}" for level in LEVELS), "certified")
    return ResultTable(f"{problem.title}: cutting-plane iterations", columns, tuple(rows), note)


def _figure(k: int, problem: TrackProblem, found: Traces) -> Figure:
    caption = (
        f"{problem.title} ({problem.shape}): relative primal-dual gap by cutting-plane iterations, each "
        "surrogate at a C that cross-validation chooses. The gap of S greedy (dashed) is what its "
        "approximate search sees and certifies nothing. The table has every C."
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
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=SMALL)
    return figure


def _panel(axes: Axes, by_method: dict[str, Trace]) -> None:
    for method, one in by_method.items():
        style = STYLES[method]
        label = style.label.replace("B_D", "$B_D$") + ("" if one.certifies else " (no certificate)")
        width = 1.5 if one.certifies else 0.9
        gaps = np.minimum(one.gaps, 1.0)
        steps = np.arange(1, len(gaps) + 1)
        axes.plot(steps, np.maximum(gaps, 6e-4), style.line, color=style.colour, linewidth=width, label=label)
        axes.plot(steps[-1:], np.maximum(gaps[-1:], 6e-4), style.marker, color=style.colour, markersize=4)
    axes.set_yscale("log")
    axes.axhline(1e-3, color="0.8", linewidth=0.8, zorder=0)
    axes.grid(axis="y", color="0.92", linewidth=0.6)
    clean(axes)


FIGURE5 = Artefact("figure5", "Figure 5. The gap by cutting-plane iterations", make)
