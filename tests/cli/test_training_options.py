"""Options of ``setloss train``: which classifiers they stand for, and what contradicts itself."""

import pytest

from setloss.cli.training_options import LinearOptions, TrainingOptions, estimator_for


@pytest.mark.parametrize("method", ["slack", "bd", "hinge", "logistic", "trees"])
@pytest.mark.parametrize("label_sets", [True, False])
def test_methods_give_classifiers_of_their_kind(method, label_sets):
    model = estimator_for(TrainingOptions(method), LinearOptions(C="0.1,1"), "jaccard", label_sets)
    kinds = {
        "logistic": "LabelwiseClassifier" if label_sets else "LogisticRegression",
        "trees": "ExtraTreesClassifier",
    }
    scorer = model.estimator[-1] if isinstance(model.estimator, list) else model.estimator
    assert type(scorer).__name__ == kinds.get(method, "SetClassifier")
    assert getattr(scorer, "operator", method) == method
    assert getattr(scorer, "C", 1.0) == 1.0
    assert model.loss == "jaccard"


def test_what_is_asked_for_is_passed_on():
    model = estimator_for(TrainingOptions("logistic", "half", 3, "macro", 2), LinearOptions(), "f1", True)
    assert (model.rule, model.cv, model.average, model.n_jobs) == ("half", 3, "macro", 2)
    assert estimator_for(TrainingOptions("trees", jobs=2), LinearOptions(), "f1", False).estimator.n_jobs == 2
