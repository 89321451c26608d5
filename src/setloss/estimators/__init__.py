"""scikit-learn estimators: sets are the rows of y, or are named by `groups`."""

from setloss.estimators.classifier_cv import SetClassifierCV
from setloss.estimators.decision_cv import SetDecisionCV
from setloss.estimators.features import FeatureScaleWarning
from setloss.estimators.set_classifier import SetClassifier
from setloss.estimators.set_decision import SetDecision
from setloss.estimators.set_layout import UngroupedWarning

__all__ = [
    "FeatureScaleWarning",
    "SetClassifier",
    "SetClassifierCV",
    "SetDecision",
    "SetDecisionCV",
    "UngroupedWarning",
]
