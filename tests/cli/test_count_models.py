"""``--method counts``: train, predict for any loss, evaluate with what the model expects, against the library."""

import csv

import numpy as np
import pytest

from helpers.command_line import complaint, parsed, run
from setloss.estimators import CountClassifier, CountClassifierCV
from setloss.estimators import load as load_model

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
    run("train", folder / "sets.csv", "--labels", "label_", "--method", "counts", "--model", folder / "model.skops")
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
        (["--method", "counts", "--checkpoint", "c.npz"], "--checkpoint goes without --method counts"),
        (["--method", "counts", "--max-time", "3"], "--max-time goes without --method counts"),
        (["--method", "count"], "there is no operator 'count'"),
    ],
)
def test_methods_that_cannot_be(folder, tmp_path, arguments, words):
    said = complaint("train", folder / "sets.csv", "--labels", "label_", "--model", tmp_path / "m.skops", *arguments)
    assert words in said


def test_tracks_and_other_models_are_refused(folder, tmp_path):
    model = tmp_path / "m.skops"
    said = complaint("train", folder / "tracks.npz", "--method", "counts", "--model", model)
    assert "--method counts is for label sets" in said
    run("train", folder / "sets.csv", "--labels", "label_", "--tol", "0.5", "--model", model)
    assert "--loss is for models of --method counts" in complaint(
        "predict", model, folder / "sets.csv", "--loss", "jaccard"
    )
    said = complaint("predict", folder / "model.skops", folder / "sets.csv", "--loss", "f7")
    assert "there is no loss 'f7'" in said
