"""Files of decisions: a round trip for classifiers of many kinds; functions and types of others are refused."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from helpers.estimator_data import frame_data, label_data
from setloss import Dice, load, save
from setloss.estimators import (
    BagClassifier,
    BagDecisionCV,
    CountClassifier,
    CountClassifierCV,
    ModelFileError,
    SetClassifier,
    SetClassifierCV,
    SetDecisionCV,
)
from setloss.estimators.set_decision import default_estimators

pd = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")

LINEAR = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize(
    "estimator",
    [
        LINEAR,
        default_estimators(np.zeros((1, 1)))[1],
        ClassifierChain(LogisticRegression()),
        ExtraTreesClassifier(4, random_state=0),
        MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=3, random_state=0)),
        MultiOutputClassifier(GradientBoostingClassifier(n_estimators=3, random_state=0)),
        MLPClassifier((4,), tol=1.0, n_iter_no_change=2, random_state=0),
        SetClassifier(Dice(), C=0.1),
        make_pipeline(StandardScaler(), SetClassifier(C=0.1)),
        CountClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_decisions_come_back_with_their_classifier(path, estimator):
    X, Y = label_data()
    model = SetDecisionCV(estimator, "jaccard", rule="counts", cv=2).fit(X, Y)
    save(model, path)
    again = load(path)
    assert isinstance(again, SetDecisionCV)
    assert type(again.estimator_) is type(estimator)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.expected_loss(X), model.expected_loss(X), atol=1e-12)
    np.testing.assert_array_equal(again.set_params(loss="f1").predict(X), model.set_params(loss="f1").predict(X))
    assert again.fit(X, Y).score(X, Y) == pytest.approx(model.score(X, Y))


@pytest.mark.parametrize("options", [{"rule": "auto"}, {"rule": "top-k"}, {"average": "macro"}], ids=str)
def test_rules_and_names_come_back(path, options):
    X, Y = label_data()
    table = pd.DataFrame(2 * Y - 1, columns=["a", "b", "c"])
    frame = pd.DataFrame(X, columns=list("pqrst"))
    model = SetDecisionCV(LINEAR, cv=2, **options).fit(frame, table)
    save(model, path)
    again = load(path)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert (again.rule_name_, again.cv, again.label_names_.tolist()) == (model.rule_name_, 2, ["a", "b", "c"])
    assert getattr(again, "rule_losses_", None) == getattr(model, "rule_losses_", None)
    assert again.feature_names_in_.tolist() == list("pqrst")
    pd.testing.assert_frame_equal(
        again.set_output(transform="pandas").predict(frame), model.set_output(transform="pandas").predict(frame)
    )


@pytest.mark.parametrize("rule", ["counts", "vote", "auto"])
def test_decisions_for_bags_come_back(path, rule):
    X, y, groups = frame_data()
    names = np.where(y == 1, "yes", "no")
    model = BagDecisionCV(rule=rule, cv=2).fit(X, names, groups)
    save(model, path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(X, groups), model.predict(X, groups))
    np.testing.assert_allclose(again.predict_proba(X, groups), model.predict_proba(X, groups), atol=1e-12)


@pytest.mark.parametrize("suffix", ["npz", "skops"])
def test_learned_decisions_of_linear_models_come_back(tmp_path, suffix):
    path = tmp_path / f"m.{suffix}"
    X, Y = label_data()
    for model in (SetClassifier(decision="counts"), SetClassifierCV(Cs=[0.1, 1.0], cv=2, decision="threshold")):
        save(model.fit(X, Y), path)
        again = load(path)
        assert again.decision == model.decision
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    F, y, groups = frame_data()
    bags = BagClassifier(decision="auto").fit(F, y, groups=groups)
    save(bags, path)
    np.testing.assert_array_equal(load(path).predict(F, groups), bags.predict(F, groups))
    counts = CountClassifierCV(Cs=[0.1, 1.0], cv=2).fit(X, Y)
    save(counts, path)
    assert load(path).C == counts.C_
    np.testing.assert_array_equal(load(path).predict(X), counts.predict(X))


# ---------------------------------------------------------------- what is not written


class Own(BaseEstimator):
    """A scaler that nobody but us has."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (make_pipeline(Own(), LINEAR), r"Own inside cannot be saved: files hold estimators of scikit-learn"),
        (make_pipeline(FunctionTransformer(np.tanh), LINEAR), "numpy.*inside cannot be saved"),
        (KNeighborsClassifier(), "KDTree inside cannot be saved"),
    ],
    ids=["own type", "function", "k-d tree"],
)
def test_what_would_not_be_read_is_not_written(path, estimator, words):
    model = SetDecisionCV(estimator, cv=2).fit(*label_data())
    with pytest.raises(ModelFileError, match=words):
        save(model, path)
    assert not path.exists()


def test_a_classifier_needs_skops(tmp_path):
    model = SetDecisionCV(LINEAR, cv=2).fit(*label_data())
    with pytest.raises(ModelFileError, match=r"give a name that ends in \.skops"):
        save(model, tmp_path / "m.npz")
    with pytest.raises(ModelFileError, match="not fitted"):
        save(SetDecisionCV(), tmp_path / "m.skops")


# ---------------------------------------------------------------- hostile files


@pytest.fixture(scope="module")
def trees():
    return SetDecisionCV(ExtraTreesClassifier(2, random_state=0), cv=2).fit(*label_data())


@pytest.fixture(scope="module")
def content(trees, tmp_path_factory):
    """What the file of a model holds."""
    path = tmp_path_factory.mktemp("trees") / "model.skops"
    save(trees, path)
    return skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))


def altered(path, content, **changes):
    """The file of a model with some of its content replaced, header fields by name."""
    header = json.loads(content["header"])
    parts = {name: changes.pop(name) for name in list(changes) if name in content}
    skops_io.dump(content | parts | {"header": json.dumps(header | changes)}, path)


def test_a_type_that_is_not_listed_is_refused_before_anything_is_imported(path, trees, tmp_path, monkeypatch):
    (tmp_path / "hostile.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\nclass Bomb: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    save(trees, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    schema["content"]["estimator"] |= {"__module__": "hostile", "__class__": "Bomb"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match="types that are not part of a setloss model; it is not loaded"):
        load(path)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("place", ["estimator", "header", "classes"])
def test_functions_and_foreign_types_are_refused_wherever_they_stand(path, content, place):
    for foreign in (FunctionTransformer(np.tanh), KNeighborsClassifier().fit(*label_data()), np.tanh):
        if place == "header":
            skops_io.dump(content | {"more": foreign}, path)
        else:
            altered(path, content, **{place: foreign})
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"estimator": np.zeros(3)},
        {"varying": np.array([0, 7])},
        {"constants": np.array(["a", "b", "c"])},
        {"floor": 0.7},
        {"parameters": {"rule": "vote", "average": "samples"}},
        {"parameters": {"rule": "counts"}},
        {"parameters": {"rule": "counts", "average": "samples", "cv": 0}},
        {"decided": {"rule": "sign", "widths": [1.0, 1.0], "losses": {}}},
        {"decided": {"rule": "counts", "widths": [1.0], "losses": {}}},
        {"decided": {"rule": "counts", "widths": [10**400, 1.0], "losses": {}}},
        {"decided": {"rule": "counts", "widths": [1.0, 1e-300], "losses": {}}},
        {"decided": {"rule": "counts", "widths": [1.0, 1.0], "losses": {"counts": "none"}}},
        {"held_out_scores": np.full((18, 3), np.nan)},
        {"held_out_scores": np.zeros((18, 2))},
        {"held_out_weights": np.zeros(18)},
        {"held_out_weights": np.array(1.0)},
        {"held_out_truth": np.zeros((18, 3))},
        {"classes": np.array([1, 0])},
    ],
    ids=str,
)
def test_content_that_is_no_decision_is_refused(path, content, changes):
    altered(path, content, **changes)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("field", ["left_child", "right_child", "feature"])
def test_trees_whose_nodes_lead_astray_are_refused(path, trees, field):
    save(trees, path)
    content = skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))
    tree = content["estimator"].estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"][field][0] = 10**6 if field == "feature" else 0
    tree.__setstate__(state)
    skops_io.dump(content, path)
    with pytest.raises(ModelFileError, match="nodes lead out of it"):
        load(path)


def test_boosted_trees_whose_nodes_lead_astray_are_refused(path):
    boosting = MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=2))
    save(SetDecisionCV(boosting, cv=2).fit(*label_data(80)), path)
    content = skops_io.load(path, trusted=skops_io.get_untrusted_types(file=path))
    content["estimator"].estimators_[0]._predictors[0][0].nodes["left"][0] = 10**6
    skops_io.dump(content, path)
    with pytest.raises(ModelFileError, match="nodes lead out of it"):
        load(path)


def test_content_that_is_written_again_as_it_was_is_a_decision(path, content, trees):
    altered(path, content)
    np.testing.assert_array_equal(load(path).predict(label_data()[0]), trees.predict(label_data()[0]))
