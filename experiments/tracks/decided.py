"""Any frame classifier, decided for the bag: counts, a vote and a threshold on the same scores of `BagDecisionCV`.

The outer folds are those of the protocol; rules learn on scores held out by folds inside the training part that keep
the same units together. A classifier is trained once for each fold and question, for all rules and losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.document import Cell, ResultTable, lowest
from experiments.estimate import Estimate
from experiments.tracks.data import TrackProblem
from experiments.tracks.protocol import Protocol, stratified_folds
from setloss.estimators.elements import Standardizer

BASES = {"logistic": "logistic regression", "trees": "extra trees", "boosting": "boosting", "slack": "slack (Dice)"}
RULES = ("counts", "vote", "threshold")
INNER = 5

Judged = dict[tuple[str, str, str], list[float]]
"""By base model, rule and loss: the mean loss of every fold; for the rule "expected", what counts expected."""


def judge_decided(
    problem: TrackProblem, protocol: Protocol, losses: Sequence[str], bases: Sequence[str] = tuple(BASES)
) -> Judged:
    """Every base model with every rule, judged by every loss on the test bags of every outer fold."""
    from joblib import Parallel, delayed

    fold, used = protocol.outer_folds(problem)
    jobs = list(product(used, bases, problem.targets.values()))
    running = Parallel(n_jobs=protocol.n_jobs, return_as="generator")(
        delayed(_judge)(problem, y, fold, k, base, losses, protocol.seed) for k, base, y in jobs
    )
    questions: dict[tuple[int, str], list[dict[tuple[str, str], float]]] = {}
    for done, ((k, base, _), losses_of_rules) in enumerate(zip(jobs, running, strict=True), 1):
        questions.setdefault((k, base), []).append(losses_of_rules)
        protocol.progress(done / len(jobs), f"{problem.title}: fold {k + 1}, {BASES[base]} and its decisions")
    found: Judged = {}
    for (_, base), answers in questions.items():
        for rule, loss in answers[0]:
            found.setdefault((base, rule, loss), []).append(float(np.mean([one[rule, loss] for one in answers])))
    return found


def _judge(
    problem: TrackProblem,
    y: NDArray[np.bool_],
    fold: NDArray[np.intp],
    k: int,
    base: str,
    losses: Sequence[str],
    seed: int,
) -> dict[tuple[str, str], float]:
    from threadpoolctl import threadpool_limits

    from setloss.estimators import BagDecisionCV

    train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
    inner = stratified_folds(problem.units[train], problem.strata[train], INNER, seed + 1)
    splits = [(np.flatnonzero(inner != j), np.flatnonzero(inner == j)) for j in range(INNER)]
    found = {}
    rule_named = "decision" if base == "slack" else "rule"
    features = Standardizer.of(problem.X[train]) if base == "slack" else Standardizer.identity(problem.X.shape[1])
    known, new = features.apply(problem.X[train]), features.apply(problem.X[test])
    with threadpool_limits(1):
        model = _slack(splits) if base == "slack" else BagDecisionCV(_base_model(base), cv=splits)
        model.fit(known, y[train], problem.groups[train])
        for loss in losses:
            for rule in RULES:
                model.set_params(loss=loss, **{rule_named: rule})
                found[rule, loss] = float(model.losses(new, y[test], problem.groups[test]).mean())
            model.set_params(**{rule_named: "counts"})
            found["expected", loss] = float(model.expected_loss(new, problem.groups[test]).mean())
    return found


def _slack(splits: list[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> Any:
    """Trained for Dice of the bag by slack rescaling; its folds choose C and hold out the scores."""
    from setloss.estimators import BagClassifierCV

    return BagClassifierCV("dice", "slack", Cs=(0.01, 0.1, 1.0), cv=splits, tol=1e-2, max_iter=300)


def _base_model(base: str) -> Any:
    if base == "logistic":
        return None  # the default of BagDecisionCV
    if base == "trees":
        from sklearn.ensemble import ExtraTreesClassifier

        return ExtraTreesClassifier(100, min_samples_leaf=3, random_state=0)
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=8, random_state=0)


def decided_tables(problem: TrackProblem, found: Judged, losses: Sequence[str]) -> list[ResultTable]:
    """Losses of every base model and rule; then counts minus the vote, fold by fold, and expected losses."""
    bases = list(dict.fromkeys(base for base, _, _ in found))
    rows: list[tuple[Cell, ...]] = [
        (f"{BASES[base]} + {rule}", *(Estimate.of(found[base, rule, loss]) for loss in losses))
        for base in bases
        for rule in RULES
    ]
    note = f"{problem.shape}; {problem.note}. Mean loss of a bag and its standard error over folds. Bold: the lowest."
    compared: list[tuple[Cell, ...]] = []
    for base in bases:
        pairs = [np.subtract(found[base, "counts", loss], found[base, "vote", loss]) for loss in losses]
        compared.append((f"{BASES[base]}: counts - vote", *(Estimate.of(pair) for pair in pairs)))
        expected = [
            f"{np.mean(found[base, 'expected', loss]):.4f} / {np.mean(found[base, 'counts', loss]):.4f}"
            for loss in losses
        ]
        compared.append((f"{BASES[base]}: expected / observed", *expected))
    return [
        ResultTable(f"{problem.title}, decisions", ("model and rule", *losses), tuple(rows), note, lowest(rows)),
        ResultTable(
            f"{problem.title}, counts against the vote",
            ("", *losses),
            tuple(compared),
            "Negative differences: counts has the lower loss. Standard errors are of the differences fold by fold.",
        ),
    ]
