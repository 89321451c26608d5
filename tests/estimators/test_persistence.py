"""Model files: a round trip for every kind and loss; whatever is not a model of setloss is refused, unexecuted."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import setloss
from helpers.estimator_data import frame_data, label_data
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, from_counts, from_set_function
from setloss.estimators import (
    BagClassifier,
    BagClassifierCV,
    ModelFileError,
    SetClassifier,
    SetClassifierCV,
    load,
    save,
)
from setloss.losses import NAMED_LOSSES

pd = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")
dump, skops_load = skops_io.dump, skops_io.load


LOSSES = [
    *NAMED_LOSSES,
    Dice(),
    Jaccard(),
    Tversky(0.3, 0.7),
    FBeta(2.0),
    Hamming(False, 2.0, 0.5),
    CostCurve([(0, 0), (0.2, 0), (1, 1)]),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.fixture(scope="module")
def fitted():
    return SetClassifier().fit(*label_data())


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_set_classifier_comes_back_for_every_loss(path, loss):
    X, Y = label_data()
    model = SetClassifier(loss, C=0.3, scale=1.0, fit_intercept=False).fit(X, Y)
    save(model, path)
    back = load(path)
    assert type(back) is SetClassifier
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.score(X, Y) == model.score(X, Y)
    assert back.get_params() == model.get_params()
    assert (back.n_iter_, back.dual_gap_) == (model.n_iter_, model.dual_gap_)


@pytest.mark.parametrize("names", [(0, 1), (-1.0, 1.0), ("no", "yes"), (False, True)])
@pytest.mark.parametrize("dtype", [None, object])
def test_a_bag_classifier_comes_back_with_its_classes(path, names, dtype):
    X, y, groups = frame_data()
    labels = np.array(names, dtype=dtype)[y]
    model = BagClassifier("curve1").fit(X, labels, groups=groups)
    save(model, path)
    back = load(path)
    assert type(back) is BagClassifier
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.score(X, labels, groups=groups) == model.score(X, labels, groups=groups)


def test_a_single_label_stays_one_dimensional(path):
    X, Y = label_data(p=1)
    save(SetClassifier().fit(X, Y[:, 0]), path)
    assert load(path).predict(X).shape == (len(X),)


def test_column_names_come_back(path):
    X, Y = label_data()
    table = pd.DataFrame(X, columns=list("abcde"))
    save(SetClassifier().fit(table, Y), path)
    back = load(path)
    assert back.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        back.predict(table[list("edcba")])


def test_cross_validated_models_are_saved_as_the_chosen_one(path):
    X, Y = label_data()
    model = SetClassifierCV(Cs=[0.1, 1.0], operators=["slack"], cv=2).fit(X, Y)
    save(model, path)
    back = load(path)
    assert type(back) is SetClassifier
    assert (back.C, back.operator) == (model.C_, "slack")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    F, y, groups = frame_data()
    bags = BagClassifierCV(Cs=[0.1, 1.0], cv=2).fit(F, y, groups=groups)
    save(bags, path)
    np.testing.assert_array_equal(load(path).predict(F), bags.predict(F))


@pytest.mark.parametrize("C", [np.float64(1.0), np.float32(1.0), np.int64(1)])
def test_parameters_may_be_numpy_numbers(path, C):
    X, Y = label_data()
    model = SetClassifier(C=C).fit(X, Y)
    save(model, path)
    assert load(path).C == 1.0


def test_a_loaded_model_can_be_saved_again_and_fitted_again(path, fitted):
    X, Y = label_data()
    save(fitted, path)
    save(load(path), path)
    np.testing.assert_array_equal(load(path).fit(X, Y).coef_, fitted.coef_)


def test_paths_may_be_strings_and_files_are_overwritten(path, fitted):
    path.write_text("something else")
    save(fitted, str(path))
    assert load(str(path)).n_features_in_ == 5


def test_what_belongs_to_one_run_is_not_saved(path, tmp_path):
    X, Y = label_data()
    model = SetClassifier(callbacks=[print], checkpoint=str(tmp_path / "c.npz"), warm_start=True, max_iter=999)
    model.set_params(callbacks=[lambda record: None]).fit(X, Y)
    save(model, path)
    back = load(path)
    assert (list(back.callbacks), back.checkpoint, back.warm_start, back.max_iter) == ([], None, False, 999)


# ---------------------------------------------------------------- what cannot be saved


def test_an_unfitted_model_is_not_saved(path):
    with pytest.raises(ModelFileError, match="not fitted; call fit before save"):
        save(SetClassifier(), path)
    assert not path.exists()


@pytest.mark.parametrize(
    "loss", [from_set_function(SetFunction.symmetric([0, 1, 1, 2])), from_counts(lambda n, q, m, r: 1.0 * n + q)]
)
def test_a_loss_that_is_code_or_a_table_is_not_saved(path, loss):
    X, Y = label_data()
    with pytest.raises(ModelFileError, match="the loss is code or a table of yours"):
        save(SetClassifier(loss, "slack").fit(X, Y), path)
    assert not path.exists()


def test_a_loss_that_only_shares_its_name_with_one_of_ours_is_not_saved(path, fitted):
    impostor = type("Dice", (Hamming,), {})
    with pytest.raises(ModelFileError):
        save(SetClassifier(impostor(), "hinge").fit(*label_data()), path)


def test_other_objects_are_not_saved(path):
    from sklearn.svm import LinearSVC

    X, Y = label_data()
    with pytest.raises(ModelFileError, match="a LinearSVC cannot be saved"):
        save(LinearSVC().fit(X, Y[:, 0]), path)


def test_a_missing_folder_is_named(tmp_path, fitted):
    with pytest.raises(ModelFileError, match=r"the folder of .* does not exist"):
        save(fitted, tmp_path / "nowhere" / "model.skops")


def test_a_folder_is_no_file_to_save_to(tmp_path, fitted):
    with pytest.raises(ModelFileError):
        save(fitted, tmp_path)


# ---------------------------------------------------------------- what is not loaded


def altered(path, model, **changes):
    """The file of `model` with some of its content replaced; header fields by name, arrays too."""
    save(model, path)
    content = skops_load(path, trusted=[])
    header = json.loads(content["header"])
    arrays = {name: changes.pop(name) for name in list(changes) if name in content}
    dump(content | arrays | {"header": json.dumps(header | changes)}, path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="there is no model file"):
        load(tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="is a folder; give the name of a model file"):
        load(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, fitted, share):
    save(fitted, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ModelFileError, match="not a setloss model, or it is damaged"):
        load(path)


def test_a_file_with_a_flipped_byte_is_refused_or_the_same(path, fitted):
    X, _ = label_data()
    save(fitted, path)
    content = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(content), size=150):
        broken = bytearray(content)
        broken[place] ^= 0x55
        path.write_bytes(bytes(broken))
        try:
            found = load(path)
        except ModelFileError:
            continue
        np.testing.assert_array_equal(found.predict(X), fitted.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_are_refused(path, seed):
    path.write_bytes(np.random.default_rng(seed).bytes(2000))
    with pytest.raises(ModelFileError, match="not a setloss model"):
        load(path)


def test_another_format_is_refused_with_both_versions(path, fitted):
    altered(path, fitted, format="setloss-model-2", version="9.9")
    with pytest.raises(ModelFileError, match=f"written by setloss 9.9; setloss {setloss.__version__} reads"):
        load(path)


def test_the_file_carries_the_version(path, fitted):
    save(fitted, path)
    header = json.loads(skops_load(path, trusted=[])["header"])
    assert (header["format"], header["version"]) == ("setloss-model-1", setloss.__version__)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "RandomForest"},
        {"loss": "os.system"},
        {"loss": {"type": "CallableLoss", "fields": {"function": "print"}}},
        {"loss": {"type": "Dice", "fields": {"beta": 1}}},
        {"parameters": {"operator": "bd", "unknown": 1}},
        {"parameters": ["bd"]},
        {"n_features_in": 4},
        {"coef": np.zeros(5)},
        {"coef": np.zeros((2, 5))},
        {"coef": np.full((3, 5), np.nan)},
        {"coef": np.full((3, 5), "a")},
        {"classes": np.array([0, 1, 2])},
        {"classes": np.array([0])},
        {"kind": "BagClassifier"},
    ],
    ids=str,
)
def test_content_that_is_no_model_is_refused(path, fitted, changes):
    altered(path, fitted, **changes)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("content", [{}, {"header": "{}"}, {"header": "[]"}, {"header": 3}, [1, 2], "text", 5])
def test_a_skops_file_of_something_else_is_refused(path, content):
    dump(content, path)
    with pytest.raises(ModelFileError):
        load(path)


class Bomb:
    """Leaves a trace if anybody builds it."""

    def __init__(self):
        self.fuse = "lit"

    def __setstate__(self, state):
        Path(state["trace"]).write_text("boom")

    def __getstate__(self):
        return self.__dict__


def test_a_foreign_object_is_refused_and_not_built(path, tmp_path):
    bomb = Bomb()
    bomb.trace = str(tmp_path / "trace")
    dump({"header": "{}", "bomb": bomb}, path)
    with pytest.raises(ModelFileError, match="types that are not part of a setloss model; it is not loaded"):
        load(path)
    assert not (tmp_path / "trace").exists()


def test_a_pickle_is_refused_and_not_executed(path, tmp_path):
    trace = tmp_path / "trace"
    path.write_bytes(b"cbuiltins\nopen\n(V" + str(trace).encode() + b"\nVw\ntR.")
    with pytest.raises(ModelFileError):
        load(path)
    assert not trace.exists()


@pytest.mark.parametrize("suffix", [".npz", ".model"])
def test_a_model_of_arrays_needs_no_other_package(tmp_path, suffix, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    X, Y = label_data()
    table = pd.DataFrame(Y, columns=[f"label {j}" for j in range(Y.shape[1])])
    model = SetClassifier(loss=Tversky(0.3, 0.8), C=0.5).fit(X, table)
    setloss.save(model, tmp_path / f"m{suffix}")
    again = setloss.load(tmp_path / f"m{suffix}")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.loss, again.C) == (model.loss, 0.5)
    assert again.label_names_.tolist() == table.columns.tolist()
    with pytest.raises(ModelFileError, match=r"a name that ends in \.npz needs nothing"):
        setloss.save(model, tmp_path / "m.skops")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"other": np.zeros(2)}, "has a member that is no part"),
        ({"header": np.zeros(3)}, "a header that is no text"),
        ({"header": np.array("[]")}, "a header that is no dictionary"),
        ({"header": np.array("{}")}, "KeyError"),
        ({"header": np.array({}, dtype=object)}, "holds Python objects"),
    ],
)
def test_an_archive_of_arrays_that_is_no_model_is_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFileError, match=words):
        setloss.load(tmp_path / "m.npz")
