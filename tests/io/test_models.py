"""Model files: every estimator comes back, functions and foreign types do not, nothing runs, no data are kept."""

import collections
import functools
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import setloss
from helpers.forged import change, text
from setloss.cli.commands import InputError, LossOptions
from setloss.cli.model_and_data import TrainedModel
from setloss.estimators import SetClassifier, SetClassifierCV, SetDecisionCV
from setloss.io.models import ModelFileError, load, save
from setloss.losses import CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky, from_counts

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def label_sets(n=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, :3] + rng.normal(size=(n, 3)) > 0).astype(np.int64)


X, Y = label_sets()
GROUPS = np.arange(80) // 4


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def returned(model, path, *data, **beside):
    """The model from its file, after a comparison of predictions."""
    setloss.save(model, path)
    found = setloss.load(path)
    np.testing.assert_array_equal(found.predict(*data, **beside), model.predict(*data, **beside))
    return found


CLASSIFIERS = [
    make_pipeline(SimpleImputer(), StandardScaler(), MultiOutputClassifier(LogisticRegression())),
    make_pipeline(OneHotEncoder(handle_unknown="ignore"), MultiOutputClassifier(LogisticRegression())),
    make_pipeline(FunctionTransformer(np.arcsinh), KNeighborsClassifier()),
    OneVsRestClassifier(CalibratedClassifierCV(LinearSVC(), cv=2)),
    OneVsRestClassifier(SVC()),
    OneVsRestClassifier(SGDClassifier(loss="log_loss")),
    OneVsRestClassifier(GradientBoostingClassifier(n_estimators=2)),
    ClassifierChain(HistGradientBoostingClassifier(max_iter=2)),
    MultiOutputClassifier(GaussianNB()),
    RandomForestClassifier(3),
    MLPClassifier(max_iter=5),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: str(model)[:40])
def test_classifiers_and_pipelines_come_back(path, classifier):
    returned(classifier.fit(X, Y), path, X)


LOSSES = ["f1", Dice(), Jaccard(), FBeta(2.0), Tversky(0.5, 0.2), Hamming(), CostCurve([(0, 0), (0.5, 0.8), (1, 1)])]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_linear_models_come_back_for_every_loss(path, loss):
    found = returned(SetClassifier(loss=loss, max_iter=5).fit(X, Y), path, X)
    assert found.loss == loss
    np.testing.assert_array_equal(found.coef_, returned(found, path, X).coef_)


def test_bags_and_searches_come_back(path):
    returned(SetClassifier(max_iter=5).fit(X, Y[:, 0], groups=GROUPS), path, X, groups=GROUPS)
    returned(SetDecisionCV(cv=3).fit(X, Y[:, 0], groups=GROUPS), path, X, groups=GROUPS)
    assert returned(SetDecisionCV(CLASSIFIERS[0], cv=3).fit(X, Y), path, X).loss == "f1"
    returned(SetClassifierCV(max_iter=5, cv=3, Cs=[0.1, 1]).fit(X, Y), path, X)


@pytest.mark.parametrize(
    "make",
    [lambda: SetClassifier(max_iter=5), lambda: SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=3)],
)
def test_a_file_holds_no_training_data(path, make):
    sizes = []
    for n in (200, 2000):
        save(make().fit(*label_sets(n)), path)
        sizes.append(path.stat().st_size)
    assert max(sizes) < 20_000
    assert abs(sizes[1] - sizes[0]) < 500


def test_nothing_is_fitted_when_a_model_is_loaded(path, monkeypatch):
    model = SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=3).fit(X, Y)
    save(model, path)
    for kind in (SetDecisionCV, LogisticRegression):
        monkeypatch.setattr(kind, "fit", None)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


# ------------------------------------------------------------------ what is refused


def own_loss(misses, alarms, positives, negatives):
    return misses + alarms


FUNCTIONS = [lambda x: x, functools.partial(np.clip, a_min=0, a_max=1), np.testing.assert_equal]


@pytest.mark.parametrize("function", [*FUNCTIONS, own_loss], ids=["lambda", "partial", "numpy", "loss"])
def test_functions_are_not_saved(path, function):
    model = make_pipeline(FunctionTransformer(), SetClassifier(max_iter=5)).fit(X, Y)
    if function is own_loss:
        model[-1].loss = from_counts(function)
    else:
        model[0].func = function
    with pytest.raises(ModelFileError, match=r"function .* cannot be saved: files hold no code; use a loss"):
        save(model, path)
    assert not path.exists()


class Foreign(LogisticRegression):
    """A classifier of another package."""


Foreign.__module__ = "foreign.models"


@pytest.fixture
def foreign(monkeypatch):
    """The package that has the classifier."""
    module = type(sys)("foreign.models")
    module.Foreign = Foreign
    monkeypatch.setitem(sys.modules, "foreign", type(sys)("foreign"))
    monkeypatch.setitem(sys.modules, "foreign.models", module)


@pytest.mark.usefixtures("foreign")
def test_types_of_other_packages_are_loaded_when_they_are_trusted(path):
    model = SetDecisionCV(OneVsRestClassifier(Foreign()), cv=3).fit(X, Y)
    save(model, path)
    with pytest.raises(ModelFileError, match=r"holds foreign.models.Foreign, .*load it with trusted=\['foreign'\]"):
        load(path)
    for trusted in (["foreign"], "foreign", ["foreign.models.Foreign"]):
        np.testing.assert_array_equal(load(path, trusted=trusted).predict(X), model.predict(X))


@pytest.mark.usefixtures("foreign")
def test_all_that_is_missing_is_asked_for_at_once(path):
    """LightGBM needs an OrderedDict as well; each message used to name one package."""
    model = Foreign().fit(X, Y[:, 0])
    model.scores_ = collections.defaultdict(collections.OrderedDict)
    save(model, path)
    for given, asked in (
        ([], ["collections.OrderedDict", "foreign"]),
        (["foreign"], ["foreign", "collections.OrderedDict"]),
    ):
        with pytest.raises(ModelFileError, match=re.escape(f"trusted={asked}") + "$"):
            load(path, trusted=given)
        with pytest.raises(InputError, match=f"load it with --trusted {','.join(asked)}$"):
            TrainedModel.read(path, ",".join(given) or None, LossOptions())
    found = load(path, trusted=["collections.OrderedDict", "foreign"])
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


@pytest.mark.parametrize("how", ["text", "gone", "another"])
def test_changed_parts_are_one_sentence(path, how):
    """Every part of a genuine pipeline in turn becomes a text, nothing, or another part; what loads is a model."""
    model = make_pipeline(StandardScaler(), SetClassifier(max_iter=5)).fit(X, Y)
    save(model, path)
    good = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    places = list(_places(schema["content"], ()))
    assert len(places) > 50
    for place, other in zip(places, reversed(places), strict=True):
        path.write_bytes(good)
        new = {"text": text("wrong"), "gone": None, "another": _get(schema["content"], other)}[how]
        change(path, lambda found, place=place, new=new: _put(found["content"], place, new))
        try:
            assert hasattr(load(path), "predict")
        except ModelFileError as error:
            assert "\n" not in str(error)  # noqa: PT017 (or a model)


def _places(node, place):
    content = node.get("content")
    for key, child in content.items() if isinstance(content, dict) else enumerate(content or ()):
        if isinstance(child, dict) and key != "content":
            yield (*place, key)
            yield from _places(child, (*place, key))
    if isinstance(content, dict) and "__loader__" in content:
        yield from _places(content, (*place, None))


def _put(node, place, value):
    for key in place[:-1]:
        node = node["content"] if key is None else node["content"][key]
    inside = node if place[-1] is None else node["content"]
    inside["content" if place[-1] is None else place[-1]] = value


def _get(node, place):
    for key in place:
        node = node["content"] if key is None else node["content"][key]
    return node


def test_a_damaged_file_is_a_model_or_refused(path):
    save(LogisticRegression().fit(X, Y[:, 0]), path)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(40):
        content = bytearray(good)
        content[rng.integers(len(good))] ^= 1 + rng.integers(255)
        path.write_bytes(content[: rng.choice([len(good), rng.integers(1, len(good))])])
        try:
            load(path)
        except ModelFileError as error:
            assert "\n" not in str(error)  # noqa: PT017 (or a model)


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(path, monkeypatch):
    save(LogisticRegression().fit(X, Y[:, 0]), path)
    with zipfile.ZipFile(path, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", bytes(2 * 10**6))
    load(path)
    monkeypatch.setattr("setloss.io.models.MOST_UNPACKED", 10**6)
    with pytest.raises(ModelFileError, match=r"unpacks to 2.* bytes, more than 1000000 and 100 times its size"):
        load(path)


def test_what_is_no_model_is_refused(path, tmp_path):
    from skops.io import dump

    for content in (b"", b"PK\x03\x04 and no more", np.random.default_rng(0).bytes(3000)):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="cannot be read as a model"):
            load(path)
    dump({"a": 1}, path)
    with pytest.raises(ModelFileError, match="holds a dict, not a model"):
        load(path)
    with pytest.raises(ModelFileError, match=r"is no file; give the path of a model"):
        load(tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match=r"end in .skops"):
        load(tmp_path / "model.npz")


def test_what_cannot_be_written_is_told(path, tmp_path):
    with pytest.raises(ModelFileError, match="not been fitted; call fit before save"):
        save(SetClassifier(), path)
    fitted = LogisticRegression().fit(X, Y[:, 0])
    with pytest.raises(ModelFileError, match=r"end in .skops"):
        save(fitted, tmp_path / "model.pkl")
    with pytest.raises(ModelFileError, match=r"missing/model.skops cannot be written"):
        save(fitted, tmp_path / "missing" / "model.skops")


def test_importing_setloss_is_light():
    code = "import sys, setloss, setloss.io; print([m for m in ('skops', 'sklearn', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
