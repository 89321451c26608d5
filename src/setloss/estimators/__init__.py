"""scikit-learn estimators for label sets and for bags of frames."""

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
