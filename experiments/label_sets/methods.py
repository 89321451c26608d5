"""The methods of the label-set benchmark by name.

``BASE+RULE`` is a scorer and a rule. The bases are "linear" (a logistic regression per label, one C of largest
held-out likelihood) and "trees" (extremely randomised). The rules are those of `SetDecision` and "top-k", all learned
from the same held-out probabilities; "half" is threshold 1/2. "default" is ``SetDecisionCV()``; rivals are in
`experiments.baselines`. Every method decides twice: for an empty set that is predicted empty scoring 1, and 0.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier

from experiments.baselines import RIVALS, TreesEFP
from experiments.label_sets.tuning import Choices, Logistic, loss_of, name_of, preparations
from experiments.protocol import Array
from setloss.estimators import SetDecision, SetDecisionCV
from setloss.losses import Dice

DEFAULT = "default"
PLAIN = ("linear", "trees")
RULES = ("half", "plug-in", "threshold", "top-k", "counts", "auto")
OURS = ("counts", "auto")
"""Rules that others do not have."""

METHODS = (DEFAULT, *(f"{base}+{rule}" for base in PLAIN for rule in RULES), *RIVALS)
"""What a run without `methods` compares."""

LOSSES = (Dice(zero_division=1.0), Dice(zero_division=0.0))
"""The F1 loss for both values of 0/0."""

LABELS = {
    DEFAULT: "SetDecisionCV()",
    "efp": "EFP, p multinomial models",
    "efp-trees": "EFP, one forest",
    "gfm": "GFM, p^2 + 1 models",
    "pcc": "chain, F rule on samples (PCC)",
    "metalabeler": "MetaLabeler",
    "smoothed-thresholds": "a smoothed threshold per label",
    "linear": "logistic",
    "trees": "extra trees",
}


class Decided(NamedTuple):
    """Sets for the test part where 0/0 scores 1 and where it scores 0, and what was chosen."""

    sets: tuple[NDArray[Any], NDArray[Any]]
    chosen: dict[str, Any]


def check_method(name: str) -> None:
    """Refuse a name that is none of a method."""
    base, _, rule = name.partition("+")
    if name != DEFAULT and name not in RIVALS and not (rule in RULES and base in PLAIN):
        raise ValueError(
            f"there is no method {name!r}; they are {DEFAULT}, {', '.join(RIVALS)}, and BASE+RULE with the bases "
            f"{', '.join(PLAIN)} and the rules {', '.join(RULES)}"
        )


def is_ours(name: str) -> bool:
    """Whether a method decides by counts."""
    return name == DEFAULT or name.partition("+")[2] in OURS


def label_of(name: str) -> str:
    """What a method is called."""
    base, plus, rule = name.partition("+")
    return LABELS.get(base, base) + (f" + {rule}" if plus else "")


# ---------------------------------------------------------------- deciding


def decided_sets(names: Sequence[str], scores: Scores, Y: NDArray[Any]) -> dict[str, Decided]:
    """Let methods that differ in their rules decide from the same scores, which `scores_of` their base has."""
    found = {}
    for name in names:
        rule = name.partition("+")[2]
        if rule == "top-k":
            found[name] = Decided((top_k(scores, Y),) * 2, scores.chosen)
            continue
        models = [SetDecision(loss, rule=rule, scores="probabilities").fit(scores.held_out, Y) for loss in LOSSES]
        sets = models[0].predict(scores.test), models[1].predict(scores.test)
        found[name] = Decided(sets, scores.chosen | {"rule": models[0].rule_name_})
    return found


def top_k(scores: Scores, Y: NDArray[Any]) -> NDArray[np.bool_]:
    """The k largest scores of every example of the test part, with the k of least loss on the training part."""
    ranks, new = (np.argsort(np.argsort(-s, axis=1, kind="stable"), axis=1) for s in (scores.held_out, scores.test))
    k = min(range(Y.shape[1] + 1), key=lambda k: float(np.mean(LOSSES[0](Y == 1, ranks < k))))
    return np.asarray(new < k)


def decided_alone(name: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Decided:
    """Train a method that shares nothing with others, and let it decide for `test`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are constant in a fold, fits that end after 1,000 iterations
        if name == DEFAULT:
            model = SetDecisionCV(None, cv=choices.splits(len(Y))).fit(X, Y)
            chosen = {"estimator": " ".join(str(model.estimator_).split()), "rule": model.decision_.rule_name_}
            sets = model.predict(test)
            return Decided((sets, model.set_params(loss=LOSSES[1], rule="auto").predict(test)), chosen)
        rival = RIVALS[name](choices)
        ways = [] if isinstance(rival, TreesEFP) else preparations(X)
        parts = [way.fit_transform(X) for way in ways]
        best = choices.preparation(parts, lambda X: rival.start_loss(X, Y))
        rival.fit(parts[best] if parts else X, Y)
        new = ways[best].transform(test) if parts else test
        counts = {f"{C:g}": number for C, number in sorted(Counter(rival.Cs_).items())}
        chosen = {"preparation": name_of(ways[best]) if ways else "", "models by C": counts}
        return Decided((rival.predict(new), rival.predict(new, 0.0)), chosen)


# ---------------------------------------------------------------- scores


class Scores(NamedTuple):
    """Probabilities of labels: of the training part by models that have not seen their fold, and of the test part."""

    held_out: Array
    test: Array
    chosen: dict[str, Any]


def scores_of(base: str, X: Any, Y: NDArray[Any], test: Any, choices: Choices) -> Scores:
    """Train a base model on X and Y, and on the folds."""
    truth = (np.asarray(Y) == 1).astype(np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are constant in a fold, fits that end after 1,000 iterations
        if base == "trees":
            return Scores(*by_folds(partial(tree_chances, choices=choices), X, truth, test, choices), {})
        ways, few = preparations(X), choices.few_splits(len(Y))
        parts = [way.fit_transform(X) for way in ways]
        best, C = choices.search(parts, lambda X, C: float(np.mean([loss_of(X, z, C, few) for z in truth.T])))
        found = by_folds(partial(linear_chances, C=C), parts[best], truth, ways[best].transform(test), choices)
        return Scores(*found, {"C": C, "preparation": name_of(ways[best])})


def by_folds(chances: Any, X: Any, truth: Any, test: Any, choices: Choices) -> tuple[Array, Array]:
    """Held-out probabilities of all rows, and those of the test part."""
    found = np.empty(truth.shape)
    for train, out in choices.splits(len(truth)):
        found[out] = chances(X[train], truth[train], X[out])
    return found, chances(X, truth, test)


def tree_chances(X: Any, truth: Any, new: Any, choices: Choices) -> Array:
    """Probabilities by one forest for all labels; those of a label that does not vary are what it is."""
    forest = ExtraTreesClassifier(choices.trees, min_samples_leaf=choices.leaf, random_state=choices.seed)
    vary = np.flatnonzero(truth.min(axis=0) < truth.max(axis=0))
    found = np.repeat(truth[:1].astype(np.float64), new.shape[0], axis=0)
    found[:, vary] = np.column_stack([one[:, 1] for one in forest.fit(X, truth[:, vary]).predict_proba(new)])
    return found


def linear_chances(X: Any, truth: Any, new: Any, C: float) -> Array:
    """Probabilities by a logistic regression for each label."""
    return np.column_stack([Logistic(X, z, C).chances(new, 2)[:, 1] for z in truth.T])
