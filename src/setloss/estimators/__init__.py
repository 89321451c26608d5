"""scikit-learn estimators for label sets and for bags of frames, and safe files for them."""

from setloss.estimators.bag_decision import BagDecisionCV
from setloss.estimators.bags import BagClassifier, UngroupedWarning
from setloss.estimators.count_classifier import CountClassifier, CountClassifierCV
from setloss.estimators.cross_validation import BagClassifierCV, SetClassifierCV
from setloss.estimators.decision import SetDecisionCV
from setloss.estimators.elements import FeatureScaleWarning
from setloss.estimators.persistence import load, save
from setloss.estimators.sets import SetClassifier
from setloss.estimators.skops_files import ModelFileError

__all__ = [
    "BagClassifier",
    "BagClassifierCV",
    "BagDecisionCV",
    "CountClassifier",
    "CountClassifierCV",
    "FeatureScaleWarning",
    "ModelFileError",
    "SetClassifier",
    "SetClassifierCV",
    "SetDecisionCV",
    "UngroupedWarning",
    "load",
    "save",
]
