"""``--method counts`` and ``--decision``: train, predict for any loss, evaluate with what the model expects."""

import csv

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.command_line import complaint, parsed, run
from setloss import CostCurve, Hamming, Tversky
from setloss.estimators import BagClassifier, CountClassifier, CountClassifierCV, SetClassifier, SetDecisionCV
from setloss.estimators import load as load_model
from setloss.estimators import save as save_model

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops")


@pytest.fixture(scope="module")
def data():
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 4)).round(3)
    scores = X @ generator.standard_normal((4, 5)) + generator.standard_normal((60, 5))
    Y = (np.argsort(np.argsort(-scores, axis=1), axis=1) < 2).astype(int)  # two labels each
    return X, Y


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    X, Y = data
    names = [*(f"x{i}" for i in range(4)), *(f"label_{j}" for j in range(5))]
    pandas.DataFrame(np.hstack([X, Y]), columns=names).to_csv(folder / "sets.csv", index=False)
    np.savez(folder / "tracks.npz", X=X, y=Y[:, 0], groups=np.repeat(np.arange(20), 3))
    run("train", folder / "sets.csv", "--labels", "label_", "--method", "counts", "--no-standardize",
        "--model", folder / "model.skops")  # fmt: skip
    return folder


def loaded(path):
    """The model of a file, for arrays: without the names of its features."""
    model = load_model(path)
    del model.feature_names_in_
    return model


def trained(data, **options):
    return CountClassifier(loss="dice", tol=1e-3, **options).fit(*data)


def test_the_file_holds_the_model_of_the_library(folder, data):
    found, expected = loaded(folder / "model.skops"), trained(data)
    for name in ("coef_", "intercept_", "counts_", "counts_coef_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    found.set_params(loss="jaccard")
    np.testing.assert_array_equal(found.predict(data[0]), expected.set_params(loss="jaccard").predict(data[0]))


@pytest.mark.parametrize("loss", [None, "jaccard", "hamming"])
def test_one_model_predicts_for_every_loss(folder, data, loss):
    extra = [] if loss is None else ["--loss", loss]
    lines = run("predict", folder / "model.skops", folder / "sets.csv", *extra).stdout.splitlines()
    header, *rows = csv.reader(lines)
    assert header == [f"label_{j}" for j in range(5)]
    expected = trained(data).set_params(loss=loss or "dice").predict(data[0])
    np.testing.assert_array_equal(np.array(rows, dtype=float), expected)


def test_evaluate_has_expected_beside_observed_losses(folder, data):
    document = parsed("evaluate", folder / "model.skops", folder / "sets.csv", "--json")
    model = trained(data)
    assert document["operator"] == "counts"
    assert document["losses"]["dice"]["expected"] == pytest.approx(model.expected_loss(data[0]).mean())
    assert document["losses"]["dice"]["mean"] == pytest.approx(model.losses(*data).mean())
    said = run("evaluate", folder / "model.skops", folder / "sets.csv").stdout
    assert f"expected {model.expected_loss(data[0]).mean():.4f}  (its own)" in said


def test_c_by_cross_validation_on_standardised_features(folder, data, tmp_path):
    options = ["--cv", "3", "--Cs", "0.1,1", "--standardize", "--model", tmp_path / "cv.skops", "--json"]
    document = parsed("train", folder / "sets.csv", "--labels", "label_", "--method", "counts", *options)
    X, Y = data
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = CountClassifierCV(loss="dice", Cs=[0.1, 1.0], cv=3, tol=1e-3).fit(Z, Y)
    assert document["C"] == expected.C_
    assert [row["loss"] for row in document["cv"]] == pytest.approx(expected.cv_results_["loss"])
    np.testing.assert_array_equal(loaded(tmp_path / "cv.skops").predict(X), expected.predict(Z))
    words = run("train", folder / "sets.csv", "--labels", "label_", "--method", "counts", *options[:-1]).stdout
    assert "counts, C = " in words


def test_a_limit_is_said(folder, tmp_path):
    options = ["--max-iter", "1", "--tol", "1e-9", "--model", tmp_path / "m.skops"]
    result = run("train", folder / "sets.csv", "--labels", "label_", "--method", "counts", *options, code=4)
    assert "iteration limit after 1 iterations" in result.stderr


def test_a_method_may_be_an_operator(folder, tmp_path):
    document = parsed(
        "train", folder / "sets.csv", "--labels", "label_", "--method", "margin", "--tol", "0.5", "--json",
        "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert document["operator"] == "margin"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "counts", "--operator", "bd"], "give one of --method, --operator and --operators"),
        (["--method", "counts", "--decision", "top-k"], "give one of --method counts and --decision"),
        (["--decision", "vote"], "SetClassifier has no decision 'vote'; the names are sign, counts"),
        (["--loss", "math:hypot"], "math:hypot is code, and a model file holds none"),
        (["--method", "count"], "there is no operator 'count'"),
    ],
)
def test_methods_that_cannot_be(folder, tmp_path, arguments, words):
    said = complaint("train", folder / "sets.csv", "--labels", "label_", "--model", tmp_path / "m.skops", *arguments)
    assert words in said


def test_checkpoints_and_limits_of_time(folder, tmp_path):
    common = ["--labels", "label_", "--method", "counts", "--checkpoint", tmp_path / "c.npz", "--json"]
    options = ["--max-iter", "3", "--tol", "1e-9", "--model", tmp_path / "m.skops"]
    run("train", folder / "sets.csv", *common, *options, code=4)
    resumed = parsed("train", folder / "sets.csv", *common, "--max-time", "600", "--model", tmp_path / "m.skops")
    assert resumed["status"] == "converged"


@pytest.mark.parametrize("rule", ["counts", "threshold", "auto"])
def test_label_sets_with_a_decision(folder, data, tmp_path, rule):
    model = tmp_path / "m.npz"
    options = ["--labels", "label_", "--decision", rule, "--no-standardize", "--model", model, "--json"]
    document = parsed("train", folder / "sets.csv", *options)
    expected = SetClassifier(decision=rule, random_state=0).fit(*data)
    assert document["decision"] == expected.rule_name_
    assert document["training_loss"] == pytest.approx(1 - expected.score(*data))
    rows = list(csv.reader(run("predict", model, folder / "sets.csv", "--loss", "jaccard").stdout.splitlines()))[1:]
    other = expected.set_params(loss="jaccard").predict(data[0])
    np.testing.assert_array_equal(np.array(rows, dtype=float), other)
    found = parsed("evaluate", model, folder / "sets.csv", "--json")["losses"]["dice"]
    assert found["expected"] == pytest.approx(expected.set_params(loss="dice").expected_loss(data[0]).mean())


@pytest.mark.parametrize("option", [["--method", "counts"], ["--decision", "vote"]], ids=str)
def test_tracks_are_decided_by_the_bag(folder, data, tmp_path, option):
    model = tmp_path / "m.npz"
    tracks = np.load(folder / "tracks.npz")
    parts = [tracks[name] for name in ("X", "y", "groups")]
    document = parsed("train", folder / "tracks.npz", *option, "--no-standardize", "--model", model, "--json")
    expected = BagClassifier(decision=option[1], random_state=0).fit(*parts)
    assert document["training_loss"] == pytest.approx(1 - expected.score(*parts))
    rows = list(csv.reader(run("predict", model, folder / "tracks.npz").stdout.splitlines()))[1:]
    np.testing.assert_array_equal([int(label) for _, label in rows], expected.predict(parts[0], parts[2]))
    found = parsed("evaluate", model, folder / "tracks.npz", "--json")["losses"]["dice"]
    assert found["expected"] == pytest.approx(expected.expected_loss(parts[0], parts[2]).mean())


def test_models_of_other_classifiers_predict_too(folder, data, tmp_path):
    X, Y = data
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(4)])
    wrapped = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))
    model = SetDecisionCV(wrapped, cv=2).fit(frame, pandas.DataFrame(Y, columns=[f"label_{j}" for j in range(5)]))
    save_model(model, tmp_path / "m.skops")
    rows = list(csv.reader(run("predict", tmp_path / "m.skops", folder / "sets.csv").stdout.splitlines()))
    assert rows[0] == [f"label_{j}" for j in range(5)]
    np.testing.assert_array_equal(np.array(rows[1:], dtype=float), model.predict(frame))
    found = parsed("evaluate", tmp_path / "m.skops", folder / "sets.csv", "--json")
    assert found["losses"]["dice"]["mean"] == pytest.approx(1 - model.score(frame, Y))
    assert found["C"] is None


OWN = "def mistakes(truth, said):\n    return (truth != said).sum()\n"


def test_a_loss_may_have_weights_or_knots_or_be_code(folder, data, tmp_path, monkeypatch):
    model = trained(data)
    (tmp_path / "own_losses.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    for given, loss in (
        (["--loss", "tversky", "--alpha", "0.2", "--beta", "0.9"], Tversky(0.2, 0.9)),
        (["--knots", "0:0,0.5:1,1:1"], CostCurve([(0, 0), (0.5, 1), (1, 1)])),
        (["--loss", "own_losses:mistakes"], Hamming(False)),
    ):
        lines = run("predict", folder / "model.skops", folder / "sets.csv", *given).stdout.splitlines()
        rows = np.array(list(csv.reader(lines))[1:], dtype=float)
        np.testing.assert_array_equal(rows, model.set_params(loss=loss).predict(data[0]))
    said = complaint("predict", folder / "model.skops", folder / "sets.csv", "--loss", "own_losses:nothing")
    assert "--loss own_losses:nothing: there is no such callable" in said


def test_other_models_are_refused(folder, tmp_path):
    model = tmp_path / "m.skops"
    run("train", folder / "sets.csv", "--labels", "label_", "--decision", "sign", "--tol", "0.5", "--model", model)
    assert "--loss is for models that decide for the set" in complaint(
        "predict", model, folder / "sets.csv", "--loss", "jaccard"
    )
    said = complaint("predict", folder / "model.skops", folder / "sets.csv", "--loss", "f7")
    assert "there is no loss 'f7'" in said
