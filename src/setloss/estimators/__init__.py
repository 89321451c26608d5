"""scikit-learn estimators for label sets and for bags of frames."""

from typing import TYPE_CHECKING, Any

from setloss.lazy import imported_name

if TYPE_CHECKING:
    from setloss.estimators.bag_classifier import BagClassifier, UngroupedWarning
    from setloss.estimators.decision_cv import BagDecisionCV, SetDecisionCV
    from setloss.estimators.elements import FeatureScaleWarning
    from setloss.estimators.search import BagClassifierCV, SetClassifierCV
    from setloss.estimators.set_classifier import SetClassifier
    from setloss.estimators.set_decision import SetDecision

__all__ = [
    "BagClassifier",
    "BagClassifierCV",
    "BagDecisionCV",
    "FeatureScaleWarning",
    "SetClassifier",
    "SetClassifierCV",
    "SetDecision",
    "SetDecisionCV",
    "UngroupedWarning",
]

_HOMES = {
    "BagClassifier": ".bag_classifier",
    "BagClassifierCV": ".search",
    "BagDecisionCV": ".decision_cv",
    "FeatureScaleWarning": ".elements",
    "SetClassifier": ".set_classifier",
    "SetClassifierCV": ".search",
    "SetDecision": ".set_decision",
    "SetDecisionCV": ".decision_cv",
    "UngroupedWarning": ".bag_classifier",
}
"""The module of every name: workers of Dask take `elements` from here, and need no scikit-learn for it."""


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for."""
    return imported_name(__name__, _HOMES, name)
