"""The commands train, predict and evaluate: numbers against the library, a sentence per bad input, Ctrl-C."""

import csv
import importlib.util
import json
import signal
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from scipy.sparse import csr_array

from experiments.generators import make_toy
from helpers.command_line import complaint, interrupted, parsed, run
from setloss import CostCurve, FBeta, Tversky, loss_named
from setloss.io import read as load
from setloss.decisions.rules import LABEL_RULES
from setloss.defaults import ENOUGH_TO_LEARN
from setloss.estimators import BagClassifier, BagClassifierCV, SetClassifier, SetClassifierCV
from setloss.estimators import load as load_model

for library in ("pandas", "pyarrow", "skops"):
    pytest.importorskip(library)


SET_FILES = {
    "sets.npz": {},
    "sparse.npz": {},
    "sets.csv": {"labels": "label_"},
    "sets.parquet": {"labels": ["label_0", "label_1", "label_2"]},
    "sets.arff": {},
    "last.arff": {"labels": 3},
    "sets.svm": {},
}
TRACK_FILES = {"tracks.npz": {}, "tracks.csv": {}, "tracks.parquet": {"group": "bag", "label": "face"}}
SHOWN = ["dice", "jaccard", "hamming"]
SUMMARY = [
    "status", "gap", "tol", "primal", "dual", "iterations", "passes", "seconds", "loss", "operator",
    "decision", "C", "training_loss", "sets", "features", "standardized", "model",
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One problem of label sets and one of tracks, in every format."""
    folder = tmp_path_factory.mktemp("files")
    generator = np.random.default_rng(3)
    X = generator.standard_normal((40, 4)).round(3)
    Y = (X @ generator.standard_normal((4, 3)) + 0.5 * generator.standard_normal((40, 3)) > 0).astype(np.int8)
    _write_sets(folder, X, Y)
    toy = make_toy(25, 4, random_state=1)
    _write_tracks(folder, toy.X.round(4), toy.y, toy.groups)
    return folder


def _write_sets(folder, X, Y):
    import pandas

    np.savez(folder / "sets.npz", X=X, Y=Y)
    sparse = csr_array(np.where(np.abs(X) < 0.4, 0, X))
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr, "shape": sparse.shape}
    np.savez(folder / "sparse.npz", Y=Y, **parts)
    columns = {f"x{j}": X[:, j] for j in range(4)} | {f"label_{j}": Y[:, j] for j in range(3)}
    pandas.DataFrame(columns).to_csv(folder / "sets.csv", index=False)
    pandas.DataFrame(columns).to_parquet(folder / "sets.parquet")
    names = [f"@attribute {name} {'{0,1}' if name[0] == 'l' else 'numeric'}" for name in columns]
    rows = [",".join(map(str, (*x, *y))) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    for name in ("sets", "last"):
        (folder / f"{name}.arff").write_text("\n".join(["@relation r", *names, "@data", *rows, ""]))
    labels = "".join(f'<label name="label_{j}"></label>' for j in range(3))
    (folder / "sets.xml").write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">{labels}</labels>')
    lines = [
        ",".join(map(str, np.flatnonzero(y))) + " " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x))
        for x, y in zip(X.tolist(), Y, strict=True)
    ]
    (folder / "sets.svm").write_text("\n".join(lines) + "\n")


def _write_tracks(folder, X, y, groups):
    import pandas

    np.savez(folder / "tracks.npz", X=X, y=y, groups=groups)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "group": groups, "label": y})
    frame.to_csv(folder / "tracks.csv", index=False)
    frame.rename(columns={"group": "bag", "label": "face"}).to_parquet(folder / "tracks.parquet")


@pytest.fixture
def folder(tmp_path, monkeypatch, files):
    """An empty folder to work in, with links to the files."""
    monkeypatch.chdir(tmp_path)
    for file in files.iterdir():
        Path(file.name).symlink_to(file)
    return tmp_path


SIGN = ("--decision", "sign")


def train(*arguments):
    """The summary of a training on features as they are, unless --standardize is said."""
    plain = () if "--standardize" in arguments else ("--no-standardize",)
    return parsed("train", *arguments, *plain, "--model", "m.skops", "--json")


def options(reading):
    given = []
    for name, value in reading.items():
        given += [f"--{name}", ",".join(value) if isinstance(value, list) else str(value)]
    return given


def saved():
    """The model file without its names, to predict with arrays."""
    model = load_model("m.skops")
    vars(model).pop("feature_names_in_", None)
    return model


def table(text):
    rows = list(csv.reader(text.splitlines()))
    return rows[0], rows[1:]


# ------------------------------------------------------------------ round trips


@pytest.mark.parametrize("file", SET_FILES)
def test_label_sets_from_file_to_model_to_labels_to_losses(folder, file):
    reading = options(SET_FILES[file])
    data = load(file, **SET_FILES[file])
    decision = "auto" if file.endswith(".npz") else "sign"
    model = SetClassifier(C=0.5, random_state=0, decision=decision).fit(data.X, data.Y)
    document = train(file, *reading, "--C", 0.5, decision=decision)
    assert list(document) == SUMMARY
    assert document["status"] == "converged"
    assert (document["primal"], document["dual"]) == (model.solution_.primal, model.solution_.dual)
    assert (document["gap"], document["iterations"]) == (model.dual_gap_, model.n_iter_)
    assert document["training_loss"] == pytest.approx(1 - model.score(data.X, data.Y))
    assert (document["loss"], document["operator"], document["C"]) == ("dice", "slack", 0.5)
    assert (document["sets"], document["features"], document["model"]) == (40, 4, "m.skops")
    np.testing.assert_array_equal(saved().coef_, model.coef_)
    np.testing.assert_array_equal(saved().intercept_, model.intercept_)

    header, rows = table(run("predict", "m.skops", file, *reading).stdout)
    assert len(header) == 3
    np.testing.assert_array_equal(np.array(rows, dtype=int), model.predict(data.X))
    run("predict", "m.skops", file, *reading, "--scores", "--out", "s.npy")
    np.testing.assert_array_equal(np.load("s.npy"), model.decision_function(data.X))

    found = parsed("evaluate", "m.skops", file, *reading, "--json")
    assert list(found["losses"]) == SHOWN
    for name, row in found["losses"].items():
        values = loss_named(name)(data.Y, model.predict(data.X))
        assert row["mean"] == pytest.approx(values.mean())
        assert row["error"] == pytest.approx(values.std(ddof=1) / np.sqrt(40))


@pytest.mark.parametrize("file", TRACK_FILES)
def test_tracks_from_file_to_model_to_labels_to_losses(folder, file):
    reading = options(TRACK_FILES[file])
    data = load(file, **TRACK_FILES[file])
    decision = "auto" if file.endswith(".npz") else "sign"
    model = BagClassifier("curve1", "slack", C=0.1, scale=1.0, random_state=0, decision=decision)
    model.fit(data.X, data.y, data.groups)
    words = ("--loss", "curve1", "--operator", "slack", "--C", 0.1, "--scale", 1)
    document = train(file, *reading, *words, decision=decision)
    assert list(document) == SUMMARY
    assert (document["primal"], document["dual"]) == (model.solution_.primal, model.solution_.dual)
    assert document["training_loss"] == pytest.approx(1 - model.score(data.X, data.y, data.groups))
    assert (document["loss"], document["operator"], document["sets"]) == ("curve1", "slack", 25)
    np.testing.assert_array_equal(saved().coef_, model.coef_)

    header, rows = table(run("predict", "m.skops", file, *reading).stdout)
    assert header == ["group", "prediction"]
    np.testing.assert_array_equal(np.array(rows, dtype=int)[:, 0], data.groups)
    np.testing.assert_array_equal(np.array(rows, dtype=int)[:, 1], model.predict(data.X, data.groups))
    run("predict", "m.skops", file, *reading, "--scores", "--out", "s.csv")
    _, rows = table(Path("s.csv").read_text())
    np.testing.assert_array_equal(np.array(rows, dtype=float)[:, 1], model.decision_function(data.X))

    found = parsed("evaluate", "m.skops", file, *reading, "--json")
    assert (found["loss"], found["operator"], found["C"], found["sets"]) == ("curve1", "slack", 0.1, 25)
    for name, row in found["losses"].items():
        values = model.set_params(loss=loss_named(name)).losses(data.X, data.y, data.groups)
        assert row["mean"] == pytest.approx(values.mean())
        assert row["error"] == pytest.approx(values.std(ddof=1) / np.sqrt(25))


@pytest.mark.parametrize(
    ("arguments", "loss"),
    [
        (("--loss", "tversky", "--alpha", 0.3, "--beta", 0.7), Tversky(0.3, 0.7)),
        (("--loss", "FBeta", "--beta", 2), FBeta(2.0)),
        (("--knots", "0:0,1/4:1,1:1"), CostCurve(((0, 0), (0.25, 1), (1, 1)))),
    ],
)
def test_losses_with_parameters_are_kept_and_evaluated(folder, arguments, loss):
    data = load("sets.npz")
    document = train("sets.npz", *arguments)
    assert document["loss"] == repr(loss)
    assert saved().loss == loss
    found = parsed("evaluate", "m.skops", "sets.npz", "--json")
    assert list(found["losses"]) == [*SHOWN, repr(loss)]
    assert found["losses"][found["loss"]]["mean"] == pytest.approx(document["training_loss"])
    assert found["losses"][found["loss"]]["mean"] == pytest.approx(loss(data.Y, saved().predict(data.X)).mean())


def test_f1_is_dice(folder):
    train("sets.npz", "--loss", "F1")
    assert list(parsed("evaluate", "m.skops", "sets.npz", "--json")["losses"]) == SHOWN


def test_options_of_the_solver_arrive(folder):
    document = train(
        "sets.npz", "--solver", "frank_wolfe", "--tol", 0.05, "--no-intercept", "--seed", 7, "--max-time", 5000
    )
    data = load("sets.npz")
    options = {"solver": "frank_wolfe", "tol": 0.05, "fit_intercept": False, "random_state": 7, "decision": "sign"}
    expected = SetClassifier(**options).fit(data.X, data.Y)
    assert document["primal"] == expected.solution_.primal
    assert document["tol"] == 0.05
    assert saved().intercept_.tolist() == [0, 0, 0]


@pytest.mark.parametrize("intercept", [True, False])
def test_standardised_features_are_folded_into_the_model(folder, intercept):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = load("tracks.csv")
    X = np.column_stack([1000 * data.X[:, 0] - 500, 0.01 * data.X[:, 1], np.full(len(data.y), 7.0)])
    np.savez("units.npz", X=X, y=data.y, groups=data.groups)
    decision = "auto" if intercept else "sign"
    model = BagClassifier(C=0.3, fit_intercept=intercept, random_state=0, decision=decision)
    expected = make_pipeline(StandardScaler(), model)
    expected.fit(X, data.y, bagclassifier__groups=data.groups)
    more = () if intercept else ("--no-intercept",)
    document = train("units.npz", "--C", 0.3, "--standardize", *more, decision=decision)
    assert document["standardized"] is True
    assert document["primal"] == pytest.approx(model.solution_.primal)
    np.testing.assert_allclose(saved().decision_function(X), expected.decision_function(X), atol=1e-9)
    found = parsed("evaluate", "m.skops", "units.npz", "--json")["losses"]["dice"]["mean"]
    assert found == pytest.approx(document["training_loss"])
    more += () if intercept else SIGN
    by_default = parsed("train", "units.npz", "--C", 0.3, *more, "--model", "m.skops", "--json")
    assert by_default == document | {"seconds": ANY}


def test_sparse_features_are_scaled_and_not_centred(folder):
    from sklearn.preprocessing import MaxAbsScaler

    data = load("sparse.npz")
    document = train("sparse.npz", "--standardize")
    scaler = MaxAbsScaler()
    model = SetClassifier(random_state=0).fit(scaler.fit_transform(data.X), data.Y)
    assert document["primal"] == pytest.approx(model.solution_.primal)
    np.testing.assert_allclose(saved().coef_ * scaler.scale_, model.coef_, atol=1e-9)
    np.testing.assert_allclose(saved().intercept_, model.intercept_)


def test_the_words_say_that_features_were_standardised(folder):
    said = run("train", "tracks.npz", *SIGN, "--model", "m.skops").stdout
    assert "features, standardised for the training; the model takes them as they are" in said
    assert "standardised" not in run("train", "tracks.npz", "--no-standardize", *SIGN, "--model", "m.skops").stdout


def test_single_precision_stays_single(folder):
    data = load("tracks.csv")
    np.savez("single.npz", X=data.X.astype(np.float32), y=data.y, groups=data.groups)
    double = train("tracks.npz", "--standardize")
    assert train("single.npz", "--standardize")["primal"] == pytest.approx(double["primal"], rel=2e-3)


def test_missing_labels_are_left_out(folder):
    data = load("sets.npz")
    Y = data.Y.astype(float)
    Y[0], Y[1, 2] = np.nan, np.nan
    np.savez("holes.npz", X=data.X, Y=Y)
    model = SetClassifier(random_state=0).fit(data.X, Y)
    document = train("holes.npz", decision="auto")
    assert document["sets"] == 39
    assert document["training_loss"] == pytest.approx(1 - model.score(data.X, Y))
    found = parsed("evaluate", "m.skops", "holes.npz", "--json")
    assert found["sets"] == 39
    assert found["losses"]["dice"]["mean"] == pytest.approx(document["training_loss"])


def test_one_set_has_no_standard_error(folder):
    data = load("sets.npz")
    train("sets.npz")
    np.savez("one.npz", X=data.X[:1], Y=data.Y[:1])
    assert parsed("evaluate", "m.skops", "one.npz", "--json")["losses"]["dice"]["error"] is None
    assert "+-" not in run("evaluate", "m.skops", "one.npz").stdout


# ------------------------------------------------------------------ cross-validation


def test_cv_of_label_sets_is_the_librarys(folder):
    data = load("sets.npz")
    expected = SetClassifierCV(Cs=[0.01, 1], operators=["bd", "hinge"], cv=3, random_state=0).fit(data.X, data.Y)
    document = train("sets.npz", "--cv", 3, "--Cs", "0.01,1", "--operators", "bd,hinge", decision="auto")
    assert list(document) == [*SUMMARY[:-1], "cv", "model"]
    assert (document["C"], document["operator"]) == (expected.C_, expected.operator_)
    assert [row["loss"] for row in document["cv"]] == expected.cv_results_["loss"]
    assert [row["operator"] for row in document["cv"]] == ["bd", "bd", "hinge", "hinge"]
    np.testing.assert_array_equal(saved().coef_, expected.coef_)
    assert (saved().C, saved().operator) == (expected.C_, expected.operator_)


def test_cv_of_tracks_is_the_librarys(folder):
    data = load("tracks.npz")
    options = {"Cs": [0.01, 0.1, 1, 10], "cv": 2, "random_state": 0, "decision": "sign"}
    expected = BagClassifierCV(**options).fit(data.X, data.y, data.groups)
    document = train("tracks.npz", "--cv", 2)
    assert document["C"] == expected.C_
    assert [row["error"] for row in document["cv"]] == expected.cv_results_["error"]
    words = run("train", "tracks.npz", "--cv", 2, *SIGN, "--model", "m.skops").stdout
    assert words.count("+-") == 4


def test_candidates_that_did_not_converge_are_counted(folder):
    result = run("train", "tracks.npz", "--cv", 2, "--max-iter", 1, "--model", "m.skops", code=4)
    assert "4 of 4 candidates were compared at gaps above 3.0e-03" in result.stderr


# ------------------------------------------------------------------ for people


def test_words(folder):
    data = load("tracks.csv")
    few = data.groups < 10
    np.savez("few.npz", X=data.X[few], y=data.y[few], groups=data.groups[few])
    lines = run("train", "few.npz", "--model", "m.skops").stdout.splitlines()
    assert lines[1] == "dice with slack, C = 1, cut at 0: too few sets to learn more (20, or ask with --decision)"
    lines = run("train", "tracks.csv", "--model", "m.skops").stdout.splitlines()
    assert lines[0].startswith("converged: gap ")
    assert lines[1] == "dice with slack, C = 1, decided by counts"
    assert lines[2].startswith("training loss 0.")
    assert lines[3].startswith("2 features (a, b), standardised for the training")
    assert lines[4] == "model written to m.skops"
    lines = run("evaluate", "m.skops", "tracks.csv").stdout.splitlines()
    assert lines[0] == "m.skops: trained for dice with slack, C = 1"
    assert [line.split()[0] for line in lines[1:]] == SHOWN
    assert lines[1].endswith("(its own)")


def test_a_limit_is_one_sentence_and_no_failure(folder):
    result = run("train", "sets.npz", "--max-iter", 2, *SIGN, "--model", "m.skops", "--json", code=4)
    assert json.loads(result.stdout)["status"] == "iteration limit"
    assert result.stderr.startswith("setloss: iteration limit after 2 iterations with a relative gap of ")
    assert "instead of 1.0e-03; raise --max-iter" in result.stderr
    assert result.stderr.count("\n") == 1
    assert saved().n_iter_ == 2


@pytest.mark.parametrize("command", ["train", "predict", "evaluate"])
def test_help_fits_and_names_the_exit_codes(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(command, "--help")
    words = " ".join(result.stdout.split())
    assert "Exit codes: 0 fine" in words
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert ("130 interrupted" in words) == (command == "train")


# ------------------------------------------------------------------ svmlight: numbers from the model


def test_svmlight_files_take_their_numbers_from_the_model(folder):
    train("sets.svm")
    Path("few.svm").write_text("0 1:0.5 2:1\n2 0:1\n")
    X = np.array([[0, 0.5, 1, 0], [1, 0, 0, 0]])
    _, rows = table(run("predict", "m.skops", "few.svm").stdout)
    np.testing.assert_array_equal(np.array(rows, dtype=int), saved().predict(X))
    assert parsed("evaluate", "m.skops", "few.svm", "--json")["sets"] == 2
    Path("bare.svm").write_text("0:1\n1:1\n")
    header, rows = table(run("predict", "m.skops", "bare.svm").stdout)
    assert header == ["0", "1", "2"]
    assert len(rows) == 2
    Path("unclear.svm").write_text("1 1:0.5 2:1\n")
    sentence = complaint("predict", "m.skops", "unclear.svm")
    assert "say with --first-feature whether they start with 0 or with 1" in sentence
    run("predict", "m.skops", "unclear.svm", "--first-feature", 1)
    assert "--first-label" in complaint("evaluate", "m.skops", "unclear.svm", "--first-feature", 1)
    run("evaluate", "m.skops", "unclear.svm", "--first-feature", 1, "--first-label", 0)


# ------------------------------------------------------------------ bad options, before any data are read

BAD_OPTIONS = {
    "--loss dise": "there is no loss 'dise'; the names are dice, f1",
    "--loss dice --knots 0:0,1:1": "give --loss or --knots, not both",
    "--loss dice --alpha 1": "--loss dice takes no --alpha",
    "--loss tversky --alpha 1": "--loss tversky needs --beta (the weight of false negatives)",
    "--loss fbeta": "--loss fbeta needs --beta",
    "--loss fbeta --beta -1": "--beta is the weight of false negatives, from 0 to 1e+06; got -1",
    "--knots 0:0,1": "--knots: '1' is not share:cost",
    "--knots 0:0,1:1 --beta 1": "--knots takes no --beta",
    "--operator bb": "there is no operator 'bb'; the names are bd, bd-monotone",
    "--solver sgd": "there is no solver 'sgd'; the names are auto, frank_wolfe",
    "--C 0": "--C must be a positive number; got 0",
    "--C nan": "--C must be a positive number; got nan",
    "--C one": "--C",
    "--tol -1": "tol is a relative gap, a number >= 0; got -1.0",
    "--max-iter 0": "max_iter must be at least 1; got 0",
    "--max-time 0": "max_time is in seconds and positive; got 0",
    "--cv 1": "--cv",
    "--Cs 1,2": "--Cs goes with --cv only",
    "--operators bd,slack": "--operators goes with --cv only",
    "--cv 3 --C 1": "--C goes without --cv only",
    "--cv 3 --checkpoint c.npz": "--checkpoint goes without --cv only",
    "--cv 3 --Cs 1,zwei": "--Cs is a list of positive numbers, as 0.01,0.1,1,10; got '1,zwei'",
    "--cv 3 --Cs 1,-2": "--Cs is a list of positive numbers",
    "--cv 3 --operators bd,bb": "there is no operator 'bb'",
    "--cv 3 --operators bd --operator bd": "give one of --method, --operator and --operators",
    "--checkpoint none/c.npz": "--checkpoint: there is no directory none",
    "--nonsense": "--nonsense",
}


@pytest.mark.parametrize("given", BAD_OPTIONS)
def test_impossible_options(folder, given):
    assert BAD_OPTIONS[given] in complaint("train", "none.npz", *given.split(), "--model", "m.skops")
    assert not Path("m.skops").exists()


def test_the_model_path_is_checked_before_the_data(folder, monkeypatch):
    assert "--model" in complaint("train", "none.npz")
    assert "--model writes a .npz or .skops file; got m.pkl" in complaint("train", "none.npz", "--model", "m.pkl")
    assert "--model: there is no directory none" in complaint("train", "none.npz", "--model", "none/m.skops")
    Path("dir.skops").mkdir()
    assert "--model: dir.skops is a folder" in complaint("train", "none.npz", "--model", "dir.skops")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skops" else find(name))
    sentence = complaint("train", "none.npz", "--model", "m.skops")
    assert "a .skops file needs skops: pip install skops; m.npz needs nothing" in sentence


def test_bad_out_paths(folder):
    train("sets.npz")
    predict = ("predict", "m.skops", "sets.npz", "--out")
    assert "--out writes .csv and .npy files; got p.txt" in complaint(*predict, "p.txt")
    assert "--out: there is no directory none" in complaint(*predict, "none/p.csv")


# ------------------------------------------------------------------ bad data

TRACK_HEAD = "a,group,label\n"
BAD_DATA = {
    "none.csv": (None, "", "there is no file none.csv; check the path"),
    "data.xls": ("1", "", "data.xls has the suffix .xls; data files are .arff"),
    "empty.csv": ("", "", "empty.csv is empty"),
    "g.csv": ("a,label\n1,0\n", "", "has no column 'group'; name the column with the bag of a frame with --group,"),
    "l.csv": ("a,group\n1,0\n", "", "the columns of labels with --labels; its columns are 'a', 'group'"),
    "c.csv": (TRACK_HEAD + "1,0,0\n", "--group bag", "c.csv has no column 'bag'"),
    "p.csv": (TRACK_HEAD + "1,0,0\n", "--labels y_", "no column of p.csv starts with 'y_'"),
    "both.csv": (TRACK_HEAD + "1,0,0\n", "--labels l --group g", "--labels is for label sets, --group and"),
    "one.csv": (TRACK_HEAD + "1,0,1\n2,1,1\n", "", "only one class"),
    "nan.csv": (TRACK_HEAD + "1,0,1\nnan,1,0\n", "", "line 3, column 'a' of nan.csv"),
    "hole.csv": (TRACK_HEAD + "1,0,\n2,1,0\n", "", "is missing; every frame needs a label"),
    "two.csv": (TRACK_HEAD + "1,0,2\n2,1,0\n", "", "labels are in {0, 1} or {-1, +1}"),
    "first_label=1.csv": (TRACK_HEAD + "1,0,2\n", "", "of first_label=1.csv is 2"),
    "opt.csv": (TRACK_HEAD + "1,0,1\n2,1,0\n", "--features 3", "--features has no meaning for a .csv file"),
    "w.svm": ("0 1:2\n", "--labels many", "--labels is the number of labels for a .svm file; got 'many'"),
    "z.svm": ("0 1:2\n", "--labels 0", "--labels 0 must be at least 1"),
    "const.svm": ("0,1 0:2\n0,1 0:3\n", "", "y has only one class: all known labels are equal; training needs both"),
    "t.arff": ("@relation r\n@attribute a numeric\n@data\n1\n", "", "t.arff"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(folder, name):
    content, given, phrase = BAD_DATA[name]
    if content is not None:
        Path(name).write_text(content)
    assert phrase in complaint("train", name, *given.split(), "--model", "m.skops")
    assert not Path("m.skops").exists()


def test_nan_in_an_archive_and_more_folds_than_bags(folder):
    np.savez("nan.npz", X=np.array([[1.0], [np.nan]]), y=[0, 1], groups=[0, 1])
    assert "X[1, 0] of nan.npz is nan" in complaint("train", "nan.npz", "--model", "m.skops")
    np.savez("few.npz", X=np.eye(2), y=[0, 1], groups=[0, 1])
    assert "cv=5 folds need as many bags; there are 2" in complaint(
        "train", "few.npz", "--cv", 5, "--model", "m.skops"
    )


def test_an_operator_that_the_loss_does_not_allow(folder):
    sentence = complaint("train", "sets.npz", "--loss", "dice", "--operator", "lovasz", "--model", "m.skops")
    assert "submodular" in sentence


# ------------------------------------------------------------------ bad models


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_bad_model_files(folder, command):
    assert "there is no model file none.skops" in complaint(command, "none.skops", "sets.npz")
    train("sets.npz")
    content = Path("m.skops").read_bytes()
    for keep in (0, 1, 100, len(content) // 2, len(content) - 1):
        Path("cut.skops").write_bytes(content[:keep])
        assert "cut.skops is not a setloss model, or it is damaged" in complaint(command, "cut.skops", "sets.npz")
    assert "sets.csv is not a setloss model" in complaint(command, "sets.csv", "sets.npz")
    assert "there is no file none.npz" in complaint(command, "m.skops", "none.npz")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_features_that_are_not_the_models(folder, command):
    train("sets.npz")
    np.savez("wide.npz", X=np.zeros((2, 5)), Y=np.eye(2, 3))
    sentence = complaint(command, "m.skops", "wide.npz")
    assert "wide.npz has 5 features and the model m.skops was trained on 4" in sentence
    train("tracks.csv")
    Path("strange.csv").write_text("b,c,group,label\n1,2,0,1\n")
    sentence = complaint(command, "m.skops", "strange.csv")
    assert "strange.csv lacks" in sentence
    assert "that the model was trained on: 'a'" in sentence
    run(command, "m.skops", "tracks.npz")


def test_labels_that_are_not_the_models(folder):
    train("sets.npz")
    np.savez("two.npz", X=np.zeros((2, 4)), Y=np.eye(2))
    sentence = complaint("evaluate", "m.skops", "two.npz")
    assert "two.npz has 2 labels and the model m.skops was trained on 3" in sentence
    assert table(run("predict", "m.skops", "two.npz").stdout)[0] == ["0", "1", "2"]
    np.savez("frames.npz", X=np.zeros((2, 4)), y=[0, 1], groups=[5, 5])
    for command in ("evaluate", "predict"):
        sentence = complaint(command, "m.skops", "frames.npz")
        assert "frames.npz holds tracks and the model" in sentence
        assert "was trained on label sets" in sentence
    np.savez("unknown.npz", X=np.zeros((2, 4)), Y=np.full((2, 3), np.nan))
    assert "unknown.npz has no known label to compare with" in complaint("evaluate", "m.skops", "unknown.npz")


def test_unexpected_errors_are_not_swallowed(folder, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(SetClassifier, "fit", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("train", "sets.npz", "--model", "m.skops")


# ------------------------------------------------------------------ checkpoints


def test_training_resumes_from_a_checkpoint(folder):
    hard = ("sets.npz", *SIGN, "--no-standardize", "--C", 10, "--solver", "frank_wolfe", "--tol", 1e-6)
    straight = train(*hard)
    stopped = run("train", *hard, "--max-iter", 5, "--checkpoint", "c.npz", "--model", "m.skops", "--json", code=4)
    assert json.loads(stopped.stdout)["iterations"] == 5
    resumed = train(*hard, "--checkpoint", "c.npz")
    assert resumed["status"] == "converged"
    assert resumed["iterations"] > 5
    assert resumed["primal"] == pytest.approx(straight["primal"], rel=1e-12)  # the same run, only in two parts
    other = complaint("train", "sets.npz", "--C", 5, "--checkpoint", "c.npz", "--model", "m.skops")
    assert "belongs to another problem or solver" in other
    Path("c.npz").write_text("something else")
    assert "is not a checkpoint of setloss, or it is damaged" in complaint(
        "train", *hard, "--checkpoint", "c.npz", "--model", "m.skops"
    )


# ------------------------------------------------------------------ how scores become sets


@pytest.mark.parametrize(
    ("sets", "options", "decided"),
    [
        (ENOUGH_TO_LEARN, (), set(LABEL_RULES)),
        (ENOUGH_TO_LEARN - 1, (), {"sign"}),
        (ENOUGH_TO_LEARN, ("--decision", "sign"), {"sign"}),
        (ENOUGH_TO_LEARN, ("--knots", "0:0,0.5:1,1:0.5", "--operator", "margin"), set(LABEL_RULES)),
    ],
    ids=["enough", "few", "asked", "falling"],
)
def test_a_decision_is_learned_where_there_is_enough_to_learn_from(tmp_path, sets, options, decided):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((sets, 3))
    Y = (X @ generator.standard_normal((3, 4)) + generator.standard_normal((sets, 4)) > 0).astype(int)
    data, model = tmp_path / "sets.npz", tmp_path / "m.npz"
    np.savez(data, X=X, Y=Y)
    told = json.loads(run("train", data, *options, "--tol", 0.1, "--model", model, "--json").stdout)
    assert told["decision"] in decided
    labels = run("predict", model, data).stdout.splitlines()
    assert len(labels) == sets + 1


# ------------------------------------------------------------------ the bar, and Ctrl-C


@pytest.fixture
def endless(folder):
    """Arguments of a training run that does not end."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((400, 30))
    np.savez("hard.npz", X=X, Y=generator.integers(0, 2, (400, 6)))
    return ("train", "hard.npz", "--tol", 0, "--max-iter", 10**8, "--solver", "frank_wolfe", "--model", "m.npz")


def test_ctrl_c_leaves_the_best_model_so_far(endless):
    out, shown = interrupted("iteration 7", *endless, "--C", 1000, "--json")
    assert "(asked: 0.0e+00)" in shown
    document = json.loads(out)
    assert document["status"] == "interrupted"
    assert document["iterations"] >= 7
    assert "interrupted after" in shown
    assert "the best model so far has a relative gap of" in shown
    found = parsed("evaluate", "m.npz", "hard.npz", "--json")
    assert found["losses"]["dice"]["mean"] == pytest.approx(document["training_loss"])


def test_ctrl_c_while_candidates_are_compared_writes_nothing(endless):
    out, shown = interrupted("fit 1 of 9, iteration", *endless, "--cv", 2, "--json")
    assert out == ""
    assert "setloss: interrupted before there was a model to write" in shown
    assert not Path("m.npz").exists()


@pytest.fixture
def ctrl_c_is_heard():
    """The handler of a terminal; in the background of a shell, and so for its children, SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_the_first_ctrl_c_waits_for_a_model_and_the_second_does_not():
    from setloss.cli.progress import NoModelYetError, TrainingProgress
    from setloss.solvers import Record

    before = signal.getsignal(signal.SIGINT)
    with TrainingProgress(1e-3) as watch:
        watch(Record(1, 0.1, 1, np.inf, -np.inf))
        signal.raise_signal(signal.SIGINT)
        watch(Record(2, 0.2, 2, np.inf, -np.inf))
        with pytest.raises(KeyboardInterrupt):
            watch(Record(3, 0.3, 3, 2.0, 1.0))
        watch(Record(4, 0.4, 4, 1.0, 1.0))  # as good as asked for
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with TrainingProgress(1e-3, fits=2) as watch:
        watch(Record(1, 0.1, 1, 2.0, 1.0))
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(NoModelYetError):
            watch(Record(2, 0.1, 1, 2.0, 1.0))
        with pytest.raises(KeyboardInterrupt):
            watch(Record(1, 0.1, 1, 2.0, 1.0))


def test_a_limit_before_there_is_a_model_is_bad_input(folder, monkeypatch):
    from dataclasses import replace

    fit = SetClassifier.fit

    def unmeasured(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        self.solution_ = replace(self.solution_, primal=np.inf, dual=-np.inf)
        return self

    monkeypatch.setattr(SetClassifier, "fit", unmeasured)
    sentence = complaint("train", "sets.npz", "--max-iter", 1, "--model", "m.skops")
    assert "iteration limit after 1 iterations, before there was a model to write; raise --max-iter" in sentence
    assert not Path("m.skops").exists()
