"""`SetDecisionCV` and `BagDecisionCV` in model files: the classifier by skops, all else as arrays and names."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from setloss.archives import ArchiveError
from setloss.decisions.rules import BAG_RULES, LABEL_RULES
from setloss.estimators.bag_decision import BagDecisionCV
from setloss.estimators.label_scores import LabelScorer
from setloss.estimators.learner_arrays import learned_arrays, learned_facts, restore_learned
from setloss.estimators.linear_model import CertifiedFit
from setloss.estimators.set_decision import AVERAGES, SetDecisionCV
from setloss.estimators.skops_files import ESTIMATOR, check_estimator
from setloss.estimators.tree_checks import check_trees

DECISIONS: dict[str, type[SetDecisionCV] | type[BagDecisionCV]] = {
    "SetDecisionCV": SetDecisionCV,
    "BagDecisionCV": BagDecisionCV,
}
MEMBERS = ("varying", "constants")
FOR_TRAINING = {"callbacks": (), "checkpoint": None, "random_state": None, "warm_start": False}
"""Parameters that only training needs, and what a file has in their place."""


def decision_content(model: SetDecisionCV | BagDecisionCV) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header of a decision, and its arrays with the classifier among them."""
    scorer = model.scorer_
    estimator = _lean(scorer.estimator)
    check_estimator(estimator, type(model).__name__)
    parameters: dict[str, Any] = {"rule": model.rule}
    if isinstance(model, SetDecisionCV):
        parameters["average"] = model.average
    if isinstance(model.cv, int | str):
        parameters["cv"] = model.cv
    header = {"parameters": parameters, "floor": float(model._floor), "decided": learned_facts(model)}
    arrays = {"varying": scorer.varying, "constants": scorer.constants, **learned_arrays(model)}
    return header, arrays | {ESTIMATOR: estimator}


def _lean(estimator: Any) -> Any:
    """A copy without what only training needs: models of ours keep neither history nor callbacks."""
    if isinstance(estimator, Pipeline):
        pipeline = copy.copy(estimator)
        pipeline.steps = [(name, _lean(step)) for name, step in estimator.steps]
        return pipeline
    if not isinstance(estimator, CertifiedFit):
        return estimator
    model: Any = copy.copy(estimator)
    for name in ("solution_", "rule_", "rule_status_", "learner_"):
        model.__dict__.pop(name, None)
    known = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in FOR_TRAINING.items() if name in known})


def rebuild_decision(header: dict[str, Any], content: dict[str, Any], loss: Any) -> Any:
    """The estimator of a file, with the loss already read."""
    sets = header["kind"] == "SetDecisionCV"
    model = DECISIONS[header["kind"]](loss=loss, **_checked_parameters(header["parameters"], sets))
    estimator = content[ESTIMATOR]
    if not isinstance(estimator, BaseEstimator):
        raise ArchiveError("has no estimator where one should be")
    check_trees(estimator)
    constants, varying = np.asarray(content["constants"]), np.asarray(content["varying"])
    p = constants.size
    if constants.shape != (p,) or constants.dtype.kind != "f" or not np.all(np.isfinite(constants)):
        raise ArchiveError("has scores of constant labels that are no numbers")
    if varying.dtype.kind != "i" or not np.all(np.isin(varying, np.arange(p))) or np.any(np.diff(varying) <= 0):
        raise ArchiveError(f"has labels beyond the {p} that there are")
    floor = header["floor"]
    if type(floor) is not float or not 0 < floor < 0.5:
        raise ArchiveError("has a smallest chance that is none")
    model._floor = floor
    model.scorer_ = LabelScorer(estimator, varying.astype(np.intp), constants)
    model.estimator_ = estimator
    model.estimator = estimator if model.cv == "prefit" else clone(estimator)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(model, name, getattr(estimator, name))
    restore_learned(model, header["decided"], content, p if sets else None)
    return model


def _checked_parameters(parameters: Any, sets: bool) -> dict[str, Any]:
    known = {"rule": (*(LABEL_RULES if sets else BAG_RULES), "auto")} | ({"average": AVERAGES} if sets else {})
    if not isinstance(parameters, dict) or not set(known) <= set(parameters) <= {*known, "cv"}:
        raise ArchiveError("has parameters that are not those of a decision")
    if any(parameters[name] not in values for name, values in known.items()):
        raise ArchiveError("has a rule or an average that is not known")
    cv = parameters.get("cv", 5)
    if cv != "prefit" and (type(cv) is not int or cv < 2):
        raise ArchiveError("has a number of folds that is none")
    return parameters
