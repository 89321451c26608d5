"""Table 2: tracks of frames trained with every surrogate of losses 1 to 4, judged by the same loss.

The paper's face tracks are not public. In their place stand generated tracks of the same shape, whose parameters
were chosen by the 0-1 row alone (`benchmarks/track_tuning.py`), and two sets of real utterances. A user who has the
face tracks puts them in the data folder (`experiments.tracks.data.buffy`).

The last rows are beyond the paper: logistic regression of frames, decided for the track by counts and by a vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from experiments.document import Cell, Document, ResultTable, lowest
from experiments.estimate import Estimate
from experiments.paper.artefact import Artefact, Settings
from experiments.paper.numbers import printed
from experiments.paper.tracks import CURVES, paper_like, protocol_for, real
from experiments.tracks.data import TrackProblem
from experiments.tracks.decided import judge_decided
from experiments.tracks.methods import METHODS
from experiments.tracks.protocol import TRAINED, Protocol, TrackOutcomes, run_protocol

PAPER_ROWS = ("bd", "hinge", "slack-greedy")
ROWS = (
    *PAPER_ROWS,
    "slack-released",
    "slack",
    "slack@1",
    "bd@1",
    "bd-monotone",
    "bd-monotone@1",
    "hinge-per-bag",
    "lovasz-jaccard",
)
"""The paper's three, then ours."""

DECIDED = ("counts", "vote")
"""How logistic regression of frames is decided in the last rows."""

Losses = dict[tuple[str, str], list[float]]
"""By loss and row: the mean loss of every fold."""


def make(settings: Settings) -> Document:
    """All data sets at the sizes the settings ask for."""
    return compare(settings, paper_like(settings), real(settings), protocol_for(settings))


def compare(
    settings: Settings,
    like_the_paper: Sequence[TrackProblem],
    others: Sequence[TrackProblem],
    protocol: Protocol,
    rows: Sequence[str] = ROWS,
) -> Document:
    """Run the protocol on every data set; the paper's numbers stand beside those of the first kind."""
    problems = [*like_the_paper, *others]
    tables, losses, details, decisions = [], {}, {}, {}
    follow = replace(protocol, progress=settings.progress)
    for k, problem in enumerate(problems):
        here = follow.share(k / len(problems), 1 / len(problems))
        found = run_protocol(problem, rows, CURVES, here.share(0, TRAINED))
        judged = judge_decided(problem, here.share(TRAINED, 1 - TRAINED), CURVES, ("logistic",))
        decided = {(curve, rule): judged["logistic", rule, curve] for rule in DECIDED for curve in CURVES}
        beside = problem in like_the_paper
        tables.append(_table(problem, found, decided, protocol, rows, beside=beside))
        decisions[problem.name] = {rule: {curve: decided[curve, rule] for curve in CURVES} for rule in DECIDED}
        losses[problem.name] = {
            curve: {row: list(found[curve, row].losses) for row in rows if (curve, row) in found} for curve in CURVES
        }
        details[problem.name] = _details(problem, found)
    numbers = {"losses": losses, "decisions": decisions, "details": details, "protocol": _settings(protocol)}
    return Document("table2", TABLE2.title, tuple(tables), numbers=numbers)


def _table(
    problem: TrackProblem,
    found: TrackOutcomes,
    decided: Losses,
    protocol: Protocol,
    rows: Sequence[str],
    *,
    beside: bool,
) -> ResultTable:
    estimates = {key: outcome.estimate for key, outcome in found.items()}
    estimates |= {key: Estimate.of(losses) for key, losses in decided.items()}
    labels = {row: METHODS[row].label for row in rows} | {rule: f"logistic + {rule}" for rule in DECIDED}
    cells: list[tuple[Cell, ...]] = []
    for row, label in labels.items():
        ours = [estimates.get((curve, row)) for curve in CURVES]
        theirs = [printed("table2", row, curve) for curve in CURVES] if beside else []
        pairs = zip(ours, theirs, strict=True) if beside else ((one,) for one in ours)
        cells.append((label, *(cell for pair in pairs for cell in pair)))
    names = [(f"loss {k}", "paper") if beside else (f"loss {k}",) for k in range(1, 5)]
    columns = ("trained with", *(name for pair in names for name in pair))
    title = f"{problem.title}: test loss by training surrogate"
    return ResultTable(title, columns, tuple(cells), _note(problem, found, protocol), lowest(cells))


def _note(problem: TrackProblem, found: TrackOutcomes, protocol: Protocol) -> str:
    fits = [ok for (_, row), outcome in found.items() if _exact(row) for fold in outcome.certified for ok in fold]
    used = protocol.outer_used or protocol.outer
    return (
        f"{problem.shape}{'; ' if problem.note else ''}{problem.note}. Mean and standard error over {used} folds "
        f"of {protocol.outer}; C from {_grid(protocol)} by {protocol.inner} inner folds. Bold: the lowest mean of a "
        f"column, whether or not it is lower by more than its error. {fits.count(False)} of {len(fits)} exact fits "
        f"ended after {protocol.budget.max_iter} iterations, before a relative gap of {protocol.budget.tol:g}; S "
        f"greedy and S as released have no certificate at all. {_edges(found, protocol)}"
    )


def _edges(found: TrackOutcomes, protocol: Protocol) -> str:
    chosen = [C for outcome in found.values() for fold in outcome.Cs for C in fold]
    low, high = (chosen.count(edge) for edge in (min(protocol.Cs), max(protocol.Cs)))
    return f"Of {len(chosen)} choices of C {low} are the smallest and {high} the largest of the grid."


def _exact(row: str) -> bool:
    return METHODS[row].kind not in ("slack-greedy", "slack-released")


def _grid(protocol: Protocol) -> str:
    return ", ".join(f"{C:.2g}" for C in protocol.Cs)


def _details(problem: TrackProblem, found: TrackOutcomes) -> dict[str, Any]:
    outcomes = {curve: {row: asdict(found[c, row]) for c, row in found if c == curve} for curve in CURVES}
    return {"shape": problem.shape, "note": problem.note, "outcomes": outcomes}


def _settings(protocol: Protocol) -> dict[str, Any]:
    return {
        "Cs": list(protocol.Cs),
        "outer": protocol.outer,
        "inner": protocol.inner,
        "tol": protocol.budget.tol,
        "max_iter": protocol.budget.max_iter,
        "seed": protocol.seed,
    }


TABLE2 = Artefact("table2", "Table 2. Losses 1 to 4 on tracks of frames", make)
