"""Operators against what people use now, on real bags of frames: tables of losses, ranks and seconds.

Every method is judged twice: frame by frame, and with a majority vote over the bag, which is open to anybody who
knows that the frames of a bag share one label. C is chosen for each way of judging on its own. Then classifiers of
frames are decided for the bag, by counts and by a vote; see `experiments.tracks.decided`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from experiments.document import Cell, Document, ResultTable, lowest
from experiments.estimate import Estimate
from experiments.metrics import average_ranks
from experiments.tracks.data import TrackProblem
from experiments.tracks.decided import BASES, decided_tables, judge_decided
from experiments.tracks.methods import METHODS, Budget
from experiments.tracks.protocol import (
    FULL_GRID,
    LOSSES,
    QUICK_GRID,
    TRAINED,
    VOTE,
    Protocol,
    TrackOutcomes,
    run_protocol,
)

COMPETITORS = ("linear-svc", "logistic")
QUICK = Protocol(Cs=QUICK_GRID, outer=5, inner=2, votes=(False, True), budget=Budget(1e-2, 100))
FULL = Protocol(Cs=FULL_GRID, outer=10, inner=3, votes=(False, True), budget=Budget(1e-2, 300))


def benchmark(
    problem: TrackProblem,
    protocol: Protocol,
    methods: Sequence[str] = tuple(METHODS),
    losses: Sequence[str] = LOSSES,
    bases: Sequence[str] = tuple(BASES),
) -> Document:
    """One data set: a table without the vote, one with it, and B_D and S against the competitors."""
    found = run_protocol(problem, methods, losses, protocol.share(0, TRAINED))
    tables = [_losses_table(problem, found, methods, losses, protocol, vote=vote) for vote in protocol.votes]
    tables.append(_differences(problem, found, losses, protocol))
    decided = judge_decided(problem, protocol.share(TRAINED, 1 - TRAINED), losses, bases)
    tables += decided_tables(problem, decided, losses)
    outcomes = {loss: {key: asdict(found[at, key]) for at, key in found if at == loss} for loss in losses}
    decisions = {" ".join(key): values for key, values in decided.items()}
    numbers = {"shape": problem.shape, "note": problem.note, "outcomes": outcomes, "decisions": decisions}
    return Document(f"tracks-{problem.name}", f"{problem.title}: losses of bags", tuple(tables), numbers=numbers)


def rank_table(documents: Mapping[str, Document], *, vote: bool) -> ResultTable:
    """The mean rank of every method over data sets and losses; those that do not suit every loss are left out."""
    cells = {
        f"{name} {loss}": {
            key: float(np.mean(outcome["losses"])) for key, outcome in by_key.items() if key.endswith(VOTE) == vote
        }
        for name, document in documents.items()
        for loss, by_key in document.numbers["outcomes"].items()
    }
    everywhere = set.intersection(*(set(by_key) for by_key in cells.values()))
    ranks = average_ranks(
        {cell: {key: by_key[key] for key in by_key if key in everywhere} for cell, by_key in cells.items()},
        lower_is_better=True,
    )
    rows = tuple((_label(key), round(rank, 2)) for key, rank in sorted(ranks.items(), key=lambda item: item[1]))
    how = "majority vote" if vote else "frame by frame"
    note = f"1 is best; {len(cells)} pairs of data set and loss, {len(ranks)} methods."
    return ResultTable(f"Mean rank, {how}", ("method", "mean rank"), rows, note)


def summary(documents: Mapping[str, Document]) -> Document:
    """Ranks over all data sets, then the tables of each."""
    ranks = [rank_table(documents, vote=vote) for vote in (False, True)]
    tables = [table for document in documents.values() for table in document.tables]
    return Document("tracks", "Losses of bags of frames", (*ranks, *tables))


def follow_each(
    problems: Sequence[Callable[[], TrackProblem]], protocol: Protocol, progress: Callable[[float, str], None]
) -> Iterator[tuple[TrackProblem, Protocol]]:
    """Each problem with a protocol whose progress is the share of the whole."""
    follow = replace(protocol, progress=progress)
    for k, load in enumerate(problems):
        yield load(), follow.share(k / len(problems), 1 / len(problems))


def _label(key: str) -> str:
    plain = key.removesuffix(VOTE)
    return METHODS[plain].label + (" + vote" if key.endswith(VOTE) else "")


def _losses_table(
    problem: TrackProblem,
    found: TrackOutcomes,
    methods: Sequence[str],
    losses: Sequence[str],
    protocol: Protocol,
    *,
    vote: bool,
) -> ResultTable:
    keys = [method + VOTE * vote for method in methods]
    keys = [key for key in keys if any((loss, key) in found for loss in losses)]
    rows: list[tuple[Cell, ...]] = []
    for key in keys:
        mine = [found.get((loss, key)) for loss in losses]
        seconds = float(np.mean([np.mean(outcome.seconds) for outcome in mine if outcome is not None]))
        rows.append((_label(key), *(None if one is None else one.estimate for one in mine), round(seconds, 2)))
    how = "majority vote over the bag" if vote else "frame by frame"
    note = (
        f"{problem.shape}; {problem.note}. Mean loss of a bag and its standard error over {protocol.outer} folds; C "
        f"from {', '.join(f'{C:g}' for C in protocol.Cs)} by {protocol.inner} inner folds. Seconds per fold and "
        "loss, the choice of C included, all questions together. Bold: the lowest mean."
    )
    return ResultTable(f"{problem.title}, {how}", ("method", *losses, "seconds"), tuple(rows), note, lowest(rows))


def _differences(
    problem: TrackProblem, found: TrackOutcomes, losses: Sequence[str], protocol: Protocol
) -> ResultTable:
    """Paired differences by fold of B_D and S to each competitor."""
    rows: list[tuple[Cell, ...]] = []
    for vote in protocol.votes:
        for ours in ("bd", "slack"):
            for theirs in COMPETITORS:
                keys = [method + VOTE * vote for method in (ours, theirs)]
                if not all((loss, key) in found for loss in losses for key in keys):
                    continue
                cells = [_paired(found, loss, *keys) for loss in losses]
                rows.append((f"{_label(keys[0])} - {_label(keys[1])}", *cells))
    note = "Negative: ours has the lower loss. Mean and standard error of the differences fold by fold."
    return ResultTable(f"{problem.title}, differences", ("difference", *losses), tuple(rows), note)


def _paired(found: TrackOutcomes, loss: str, ours: str, theirs: str) -> Estimate:
    return Estimate.of(np.subtract(found[loss, ours].losses, found[loss, theirs].losses))
