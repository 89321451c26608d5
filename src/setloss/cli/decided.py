"""Models that decide for the whole set, on the command line: count models, and rules learned from held-out scores."""

from __future__ import annotations

from typing import Any

from setloss.cli.models import for_arrays, label_count


def decides_for_sets(model: Any) -> bool:
    """Whether a model decides for the set, and expects a loss of it, instead of by the sign of each score."""
    return hasattr(model, "expected_loss")


def chosen_sets(model: Any, X: Any, groups: Any, loss: Any = None) -> Any:
    """Predicted labels (n, p) as bool, one column for tracks; for another loss than its own if one is given."""
    with for_arrays(model) as judge:
        judge.loss = model.loss if loss is None else loss
        predicted = judge.predict(X) if groups is None else judge.predict(X, groups)
        return (predicted == model.classes_[1]).reshape(len(predicted), -1)


def chances(model: Any, X: Any, groups: Any) -> Any:
    """The probability of every label (n, p), one column for tracks."""
    with for_arrays(model) as judge:
        if groups is not None:
            return judge.predict_proba(X, groups)[:, 1:]
        found = judge.predict_proba(X)
        return found if found.shape[1] == label_count(model) else found[:, 1:]  # of both classes of a single label


def expected_of(model: Any, X: Any, groups: Any, chosen: Any, loss: Any) -> Any:
    """What a model expects of chosen sets, for every example or bag."""
    with for_arrays(model) as judge:
        return judge.expected_loss(X) if groups is None else judge.expected_loss(X, groups)
