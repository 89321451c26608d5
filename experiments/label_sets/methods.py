"""The methods of the label-set benchmark by name: every operator of ours, and what people use instead.

``loss:operator`` is ours, with ``@1`` for scale 1 where the operator has a scale (2, as printed, without it); the
Lovász hinge of Jaccard is its B_D, printed and monotone, since Jaccard is submodular and increasing. A name may end
in ``+threshold`` (a validated global threshold), ``+top-k`` or ``+plug-in``; with ``/`` between operators
cross-validation chooses among them: ``dice:slack/bd@1``. Base models with the rules of `SetDecisionCV` are in
`experiments.label_sets.decided`.
"""

from __future__ import annotations

from typing import Any

from experiments.label_sets import decided
from experiments.label_sets.chosen import ChosenLabelSets, SelectionSettings
from experiments.style import STYLES, Style
from setloss.losses import NAMED_LOSSES
from setloss.operators.names import OPERATOR_NAMES

COMPETITORS = {
    "svm": Style("LinearSVC", "#000000", "<"),
    "logistic": Style("logistic", "#555555", ">"),
    "chain": Style("classifier chain", "#555555", "*"),
}
RULES = {"threshold": "threshold", "top-k": "top k", "plug-in": "plug-in"}
"""Endings of names, and how they are written in tables."""

OPERATORS = (
    "dice:bd", "dice:bd@1", "dice:bd-monotone", "dice:bd-monotone@1", "dice:slack", "dice:slack@1", "dice:margin",
    "dice:margin@1", "jaccard:lovasz", "jaccard:slack", "jaccard:slack@1", "jaccard:margin", "jaccard:margin@1",
    "dice:slack@1+threshold", "hinge", "svm", "svm+threshold", "logistic", "logistic+threshold", "logistic+plug-in",
    "logistic+top-k", "chain",
)  # fmt: skip
"""Linear models with C chosen for each of them: all operators, and what people use instead."""

METHODS = (*decided.NAMES, "dice:slack@1")
"""What a run without `methods` compares: every base model with every rule, and the best operator."""


def is_ours(name: str) -> bool:
    """Whether the scores are trained for a set-level loss (or by the hinge, its limit case), or decided by counts."""
    if decided.is_decided(name):
        return name.partition("+")[2] in ("", *decided.OURS)
    return _parts(name)[0] not in COMPETITORS


def make_method(name: str, choice: SelectionSettings) -> ChosenLabelSets:
    """The unfitted estimator; a `ValueError` says which names there are."""
    scorer, rule = _parts(name)
    scorers = [_competitor(scorer)] if scorer in COMPETITORS else [_ours(part, choice) for part in _named(scorer)]
    folds, seed = choice.folds, choice.seed
    return ChosenLabelSets(
        scorers, rule or "sign", Cs=choice.Cs, folds=folds, criterion=choice.criterion, random_state=seed
    )


def style_of(name: str) -> Style:
    """How a method is drawn and called: ours in the colour of the operator, the first one of several."""
    if decided.is_decided(name):
        return decided.style_of_decided(name)
    scorer, rule = _parts(name)
    ending = f" + {RULES[rule]}" if rule else ""
    if scorer in COMPETITORS:
        style = COMPETITORS[scorer]
        return Style(style.label + ending, style.colour, style.marker)
    parts = _named(scorer)
    first = STYLES[parts[0][1]]
    labels = " or ".join(STYLES[o].label + (f", c = {c}" if _has_scale(o) else "") for _, o, c in parts)
    loss = "" if scorer == "hinge" else f" ({parts[0][0].capitalize()})"
    return Style(f"{labels}{loss}{ending}", first.colour, first.marker)


def _parts(name: str) -> tuple[str, str]:
    scorer, plus, rule = name.partition("+")
    if plus and rule not in RULES:
        raise ValueError(f"{name!r} ends in +{rule}; the endings are {', '.join(f'+{known}' for known in RULES)}")
    if scorer not in COMPETITORS:
        _named(scorer)
    if rule == "plug-in" and scorer not in ("logistic", "chain"):
        raise ValueError(f"{name!r}: the plug-in rule needs probabilities; it goes with logistic and chain only")
    return scorer, rule


def _named(scorer: str) -> list[tuple[str, str, int]]:
    """(loss, operator, scale) of every operator in ``loss:operator[@1]/operator...``; hinge needs no loss."""
    loss, colon, operators = scorer.partition(":")
    if not colon:
        loss, operators = "dice", scorer
    found = []
    for text in operators.split("/"):
        operator, _, scale = text.partition("@")
        known = operator in OPERATOR_NAMES and scale in ("", "1", "2") and loss in NAMED_LOSSES
        if not known or not (colon or operator == "hinge") or (scale and not _has_scale(operator)):
            raise ValueError(
                f"there is no method {scorer!r}; they are {', '.join((*METHODS, *OPERATORS))}, or "
                f"LOSS:OPERATOR[@1] with the operators {', '.join(OPERATOR_NAMES)}"
            )
        found.append((loss, operator, int(scale or 2)))
    return found


def _has_scale(operator: str) -> bool:
    return operator not in ("lovasz", "hinge")


def _ours(part: tuple[str, str, int], choice: SelectionSettings) -> Any:
    from setloss.estimators import SetClassifier

    loss, operator, scale = part
    return SetClassifier(
        loss,
        operator,
        scale=float(scale),
        tol=choice.tol,
        max_iter=choice.max_iter,
        intercept_scaling=choice.intercept_scaling,
        warm_start=True,
        random_state=choice.seed,
    )


def _competitor(scorer: str) -> Any:
    from experiments.label_sets.competitors import Chain, OneAgainstRest

    return Chain() if scorer == "chain" else OneAgainstRest("svm" if scorer == "svm" else "logistic")
