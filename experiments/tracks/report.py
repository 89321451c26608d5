"""The benchmark on tracks: operators frame by frame, and any frame classifier decided for the bag.

A decision learns from scores that folds inside the training part hold out, which keep the same units together. A
classifier is trained once for each fold, for all rules and losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.document import Cell, Document, Estimate, ResultTable, lowest
from experiments.protocol import Array, in_parallel, log
from experiments.tracks.data import Frames, TrackProblem
from experiments.tracks.protocol import FULL_GRID, LOSSES, METHODS, USUAL_GRID, Protocol, run_protocol
from setloss.estimators import SetDecision
from setloss.losses import loss_named

USUAL = Protocol(Cs=USUAL_GRID, outer=5, inner=2, tol=1e-2, max_iter=100)
FULL = Protocol(Cs=FULL_GRID, outer=10, inner=3, tol=1e-2, max_iter=300)
BASES = {"logistic": "logistic regression", "trees": "extra trees", "boosting": "boosting"}
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "trees": ExtraTreesClassifier(100, min_samples_leaf=3, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0),
}
RULES = ("vote", "threshold", "counts")
INNER = 5
"""Folds that hold out scores for decisions."""

Judged = dict[tuple[str, str, str], list[float]]
"""By base model, rule and loss: the mean loss of every fold."""


def benchmark(
    problem: TrackProblem,
    protocol: Protocol,
    methods: Sequence[str] = tuple(METHODS),
    losses: Sequence[str] = LOSSES,
    bases: Sequence[str] = tuple(BASES),
) -> Document:
    """One data set: operators and competitors frame by frame, then frame classifiers decided for the bag."""
    found = run_protocol(problem, methods, losses, protocol)
    decided = judge_decided(problem, protocol, losses, bases)
    rows = {METHODS[key].label: [found.get((loss, key)) for loss in losses] for key in methods}
    frames: list[tuple[Cell, ...]] = [
        (label, *(None if one is None else Estimate.of(one.losses) for one in mine))
        for label, mine in rows.items()
        if any(mine)
    ]
    pairs = dict.fromkeys((base, rule) for base, rule, _ in decided)
    bags: list[tuple[Cell, ...]] = [
        (f"{BASES[b]} + {r}", *(Estimate.of(decided[b, r, loss]) for loss in losses)) for b, r in pairs
    ]
    note = (
        f"{problem.words}. Mean loss of a bag and its standard error over {protocol.outer} folds; C from "
        f"{protocol.grid} by {protocol.inner} inner folds. Bold: the lowest mean."
    )
    tables = tuple(
        ResultTable(f"{problem.title}, {how}", ("method", *losses), tuple(cells), note, lowest(cells))
        for how, cells in (("frame by frame", frames), ("decided for the bag", bags))
    )
    outcomes = {loss: {key: asdict(found[at, key]) for at, key in found if at == loss} for loss in losses}
    decisions = {" ".join(key): values for key, values in decided.items()}
    numbers = {"shape": problem.shape, "note": problem.note, "outcomes": outcomes, "decisions": decisions}
    return Document(f"tracks-{problem.name}", f"{problem.title}: losses of bags", tables, numbers=numbers)


def judge_decided(
    problem: TrackProblem,
    protocol: Protocol,
    losses: Sequence[str],
    bases: Sequence[str] = tuple(BASES),
    rules: Sequence[str] = RULES,
) -> Judged:
    """Every base model with every rule, judged by every loss on the test bags of every outer fold."""
    fold, used = protocol.outer_folds(problem)
    jobs = list(product(used, bases))
    calls = [(problem.frames, fold == k, base, losses, rules, protocol.seed) for k, base in jobs]
    judged: Judged = {}
    for (k, base), found in zip(jobs, in_parallel(_judge, calls), strict=True):
        for (rule, loss), value in found.items():
            judged.setdefault((base, rule, loss), []).append(value)
        log.info("%s: fold %d, %s and its decisions", problem.title, k + 1, BASES[base])
    return judged


def _judge(
    frames: Frames, inside: NDArray[np.bool_], base: str, losses: Sequence[str], rules: Sequence[str], seed: int
) -> dict[tuple[str, str], float]:
    train, test = frames.part(~inside), frames.part(inside)
    held_out, scores = _scores(base, train, test, seed)
    said = {"vote": majority(scores > 0, test.groups)}

    def decided(rule: str, name: str) -> SetDecision:
        y = train.y.astype(np.int64)
        return SetDecision(name, rule=rule, scores="log-odds").fit(held_out, y, groups=train.groups)

    counts = decided("counts", losses[0])
    found = {}
    for rule, name in product(rules, losses):
        if rule != "vote":
            model = counts.set_params(loss=name) if rule == "counts" else decided(rule, name)
            said[rule] = model.predict(scores, groups=test.groups) == 1
        found[rule, name] = float(np.mean(loss_named(name)(test.y, said[rule], groups=test.groups)))
    return found


def majority(positive: NDArray[np.bool_], groups: NDArray[Any]) -> NDArray[np.bool_]:
    """What most elements of each bag say; a tie is negative."""
    bag = np.unique(groups, return_inverse=True)[1]
    return np.asarray(np.bincount(bag, positive) > np.bincount(bag) / 2)[bag]


def _scores(base: str, train: Frames, test: Frames, seed: int) -> tuple[Array, Array]:
    """Held-out scores of the training frames, and scores of the test frames."""
    folds, model = PredefinedSplit(train.folds(INNER, seed + 1)), clone(MODELS[base])
    held_out = cross_val_predict(model, train.X, train.y, cv=folds, method="predict_proba")
    found = (held_out, model.fit(train.X, train.y).predict_proba(test.X))
    first, second = (logit(np.clip(chances[:, 1], 1e-6, 1 - 1e-6)) for chances in found)
    return first, second
