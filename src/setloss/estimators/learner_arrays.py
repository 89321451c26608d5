"""What a decision was learned from, as arrays of a model file: held-out scores, labels, weights and folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import ArchiveError
from setloss.bags import Bags
from setloss.decisions.calibration import Widths
from setloss.decisions.held_out import HeldOut
from setloss.decisions.potentials import BagPotentials, LabelPotentials
from setloss.decisions.rules import BAG_RULES, LABEL_RULES, RuleLearner, count_loss
from setloss.estimators.linear_model import LearnedDecision

PREFIX = "held_out_"
NAMES = ("scores", "truth", "known", "weights", "folds", "offsets")
MEMBERS = tuple(PREFIX + name for name in NAMES)


def learned_arrays(model: LearnedDecision) -> dict[str, NDArray[Any]]:
    """The held-out data of a model that has learned a decision."""
    data = model.learner_.data
    arrays = {name: getattr(data, name) for name in NAMES[:-1]}
    if data.bags is not None:
        arrays["offsets"] = data.bags.offsets
    return {PREFIX + name: np.asarray(array) for name, array in arrays.items()}


def learned_facts(model: LearnedDecision) -> dict[str, Any]:
    """The name of the rule, how strongly potentials were shrunk, and the losses that "auto" compared."""
    widths = model.learner_.widths
    losses = {name: list(pair) for name, pair in getattr(model, "rule_losses_", {}).items()}
    return {"rule": model.rule_name_, "widths": [widths.bias, widths.counts], "losses": losses}


def restore_learned(model: LearnedDecision, facts: Any, content: dict[str, Any], labels: int | None) -> None:
    """Give a model back what it had learned, for `labels` labels or, if None, for bags; or an `ArchiveError`."""
    data = _held_out(content, labels)
    names = BAG_RULES if labels is None else LABEL_RULES
    family = BagPotentials() if labels is None else LabelPotentials.seen(data.truth.sum(axis=1), labels)
    if not isinstance(facts, dict) or facts["rule"] not in names:
        raise ArchiveError("has a decision that is not known")
    widths, losses = facts["widths"], facts["losses"]
    if not (_are_positive(widths) and len(widths) == 2):
        raise ArchiveError("has no two positive widths")
    if not isinstance(losses, dict) or not all(_are_numbers(pair) for pair in losses.values()):
        raise ArchiveError("has losses of rules that are no numbers")
    model.learner_ = RuleLearner(data, family, Widths(*widths))
    model.rule_name_ = facts["rule"]
    model._keep(model.learner_.rule(model.rule_name_, count_loss(model._loss())))
    if losses:
        model.rule_losses_ = {str(name): (float(pair[0]), float(pair[1])) for name, pair in losses.items()}


def _held_out(content: dict[str, Any], labels: int | None) -> HeldOut:
    scores, truth, known, weights, folds = (np.asarray(content[name]) for name in MEMBERS[:-1])
    bags = None if labels is not None else _bags(np.asarray(content[MEMBERS[-1]]))
    n = weights.size
    shape = (n, labels) if bags is None else (bags.elements,)
    if n == 0 or scores.shape != shape or truth.shape != shape or known.shape != shape or folds.shape != (n,):
        raise ArchiveError("has held-out scores and labels of different shapes")
    if bags is not None and len(bags) != n:
        raise ArchiveError(f"has {n} weights for {len(bags)} bags")
    kinds = [array.dtype.kind for array in (scores, truth, known, weights, folds)]
    if kinds != ["f", "b", "b", "f", "i"] or weights.shape != (n,):
        raise ArchiveError("has held-out data of other types than numbers and truth values")
    if not (np.all(np.isfinite(scores)) and np.all(np.isfinite(weights)) and np.all(weights > 0)):
        raise ArchiveError("has held-out scores or weights that are not finite and positive")
    return HeldOut(scores, truth, known, weights, folds.astype(np.intp), bags)


def _bags(offsets: NDArray[Any]) -> Bags:
    try:
        return Bags.from_offsets(offsets)
    except ValueError as error:
        raise ArchiveError(f"has bags that are none: {error}") from None


def _are_numbers(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(value) in (int, float) for value in pair)


def _are_positive(values: Any) -> bool:
    """Whether these are positive numbers, neither too large nor too small to be squared."""
    if not isinstance(values, list):
        return False
    return all(type(value) in (int, float) and 1e-100 < value < 1e100 for value in values)
