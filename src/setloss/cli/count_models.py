"""Count models on the command line: which labels and how many are learned together, the loss enters at prediction."""

from __future__ import annotations

import warnings
from typing import Any

from setloss.cli.errors import InputError
from setloss.cli.training_options import TrainingOptions


def is_count_model(model: Any) -> bool:
    """Whether a model decides for the set, instead of by the sign of each score."""
    from setloss.estimators import CountClassifier

    return isinstance(model, CountClassifier)


def fit_counts(examples: Any, objective: Any, training: TrainingOptions) -> Any:
    """The fitted `CountClassifier` of label sets in memory, its C by cross-validation if that is asked for."""
    from sklearn.exceptions import ConvergenceWarning

    from setloss.datasets import LabelSets
    from setloss.estimators import CountClassifier, CountClassifierCV
    from setloss.standardization import Standardizer

    if not isinstance(examples, LabelSets):
        raise InputError("--method counts is for label sets; for tracks use BagDecisionCV in Python")
    shared: dict[str, Any] = {
        "loss": objective,
        "tol": training.tol,
        "max_iter": training.max_iter,
        "fit_intercept": not training.no_intercept,
    }
    if training.cv is None:
        model = CountClassifier(C=training.single()["C"], **shared)
    else:
        model = CountClassifierCV(Cs=training.path(), cv=training.cv, **shared)
    try:
        features = Standardizer.of(examples.X) if training.standardize else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the summary says it
            model.fit(examples.X if features is None else features.apply(examples.X), examples.Y)
    except ValueError as error:
        raise InputError(str(error)) from None
    if features is not None:
        features.fold(model)
    return model


def summary_of_counts(model: Any, values: Any, training: TrainingOptions) -> dict[str, Any]:
    """How the training ended, in the words of the other methods."""
    document: dict[str, Any] = {
        "status": "converged" if model.dual_gap_ <= training.tol else "iteration limit",
        "gap": float(model.dual_gap_),
        "tol": training.tol,
        "primal": float(model.objective_),
        "dual": float(model.objective_ * (1 - model.dual_gap_)),
        "iterations": int(model.n_iter_),
        "passes": None,
        "seconds": None,
        "loss": model.loss if isinstance(model.loss, str) else repr(model.loss),
        "operator": "counts",
        "C": float(getattr(model, "C_", None) or model.C),
        "training_loss": float(values.mean()),
        "sets": len(values),
        "features": int(model.n_features_in_),
        "standardized": training.standardize,
    }
    if training.cv is not None:
        found = model.cv_results_
        rows = zip(found["C"], found["loss"], strict=True)
        document["cv"] = [
            {"C": C, "operator": "counts", "loss": loss, "error": None, "gap": None} for C, loss in rows
        ]
    return document


def labels_of(model: Any, X: Any, loss: Any = None) -> Any:
    """Predicted labels (n, p) as bool; for a loss of its own choosing if one is given."""
    from setloss.decisions import decide

    scores, counts, objective = _decision(model, X)
    return decide(scores, objective if loss is None else loss, counts=counts).sets


def expected_of(model: Any, X: Any, chosen: Any, loss: Any) -> Any:
    """What a count model expects of chosen sets, for every example."""
    from setloss.decisions import expected_losses_of

    scores, counts, _ = _decision(model, X)
    return expected_losses_of(chosen, scores, loss, counts=counts)


def _decision(model: Any, X: Any) -> tuple[Any, Any, Any]:
    """Scores, potentials and loss; names of features have been compared already, and an array has none."""
    names = vars(model).pop("feature_names_in_", None)
    scores, counts = model._scores_and_counts(X)
    if names is not None:
        model.feature_names_in_ = names
    return scores, counts, model._loss()
