"""``setloss predict`` on the data one has: no labels, columns in any order, text among them, standard input."""

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import setloss
from helpers.command_line import complaint, run
from setloss.cli import app

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")

FEATURES = ["width", "height", "weight"]


def sets(n=30):
    """Label sets that depend on the features."""
    X = np.random.default_rng(0).standard_normal((n, 3)).round(3)
    frame = pandas.DataFrame(X, columns=FEATURES)
    return frame.assign(is_wide=(X[:, 0] > 0).astype(int), is_high=(X[:, 1] > 0).astype(int))


def tracks():
    """Bags of three frames."""
    X = np.random.default_rng(1).standard_normal((30, 3)).round(3)
    frame = pandas.DataFrame(X, columns=FEATURES)
    return frame.assign(shot=np.repeat(np.arange(10), 3), face=(X[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of label sets and one of tracks, from CSV files, and their predictions for the training data."""
    folder = tmp_path_factory.mktemp("models")
    sets().to_csv(folder / "sets.csv", index=False)
    tracks().to_csv(folder / "tracks.csv", index=False)
    common = ["--tol", "0.1", "--model"]
    run("train", folder / "sets.csv", "--labels", "is_", *common, folder / "sets.skops")
    run("train", folder / "tracks.csv", "--group", "shot", "--label", "face", *common, folder / "tracks.skops")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch, models):
    monkeypatch.chdir(tmp_path)
    for file in models.iterdir():
        Path(file.name).symlink_to(file)
    return tmp_path


def predicted(*arguments, said=""):
    """The rows of a prediction, with their header; `said` is all that may be on standard error."""
    result = run("predict", *arguments)
    assert result.stderr == said
    return list(csv.reader(result.stdout.splitlines()))


def test_a_table_without_labels(folder):
    sets()[FEATURES].to_csv("new.csv", index=False)
    rows = predicted("sets.skops", "new.csv")
    assert rows == predicted("sets.skops", "sets.csv")
    assert rows[0] == ["is_wide", "is_high"]
    assert len(rows) == 31


@pytest.mark.parametrize("name", ["new.parquet", "new.tsv", "semicolons.csv"])
def test_other_tables_without_labels(folder, name):
    data = sets()[FEATURES]
    if name.endswith("parquet"):
        data.to_parquet(name)
    else:
        data.to_csv(name, index=False, sep="\t" if name.endswith("tsv") else ";")
    assert predicted("sets.skops", name) == predicted("sets.skops", "sets.csv")


def test_columns_in_another_order_and_others_between_them(folder):
    data = sets()[["weight", "width", "height"]]
    data.insert(1, "day", "monday")
    data.to_csv("new.csv", index=False)
    said = (
        "setloss: new.csv has columns that the model does not use: day\n"
        "setloss: the features of new.csv stand in another order than in training; they are matched by name\n"
    )
    assert predicted("sets.skops", "new.csv", said=said) == predicted("sets.skops", "sets.csv")
    quiet = said.splitlines(keepends=True)[1]
    assert predicted("sets.skops", "new.csv", "--ignore", "day", said=quiet) == predicted("sets.skops", "sets.csv")


def test_a_missing_feature_is_named(folder):
    sets()[["width", "weight"]].to_csv("new.csv", index=False)
    assert "new.csv lacks a column that the model was trained on: 'height'" in complaint(
        "predict", "sets.skops", "new.csv"
    )


def test_frames_without_labels_with_and_without_their_bags(folder):
    tracks()[["shot", *FEATURES]].to_csv("new.csv", index=False)
    rows = predicted("tracks.skops", "new.csv", "--group", "shot")
    assert rows[0] == ["group", "prediction"]
    assert [row[0] for row in rows[1:4]] == ["0", "0", "0"]
    tracks()[FEATURES].to_csv("bare.csv", index=False)
    bare = predicted("tracks.skops", "bare.csv")
    assert bare[0] == ["prediction"]
    assert [row[1:] for row in rows[1:]] == bare[1:]


def test_a_model_that_decides_for_bags_finds_their_column_again_or_asks_for_it(folder):
    tracks()[["shot", *FEATURES]].to_csv("new.csv", index=False)
    model = ("--group", "shot", "--label", "face", "--decision", "vote", "--tol", 0.1, "--model", "votes.npz")
    run("train", "tracks.csv", *model)
    assert predicted("votes.npz", "new.csv") == predicted("votes.npz", "new.csv", "--group", "shot")
    assert [row[0] for row in predicted("tracks.skops", "new.csv")[:4]] == ["group", "0", "0", "0"]
    tracks()[FEATURES].to_csv("bare.csv", index=False)
    assert "decides for whole bags, and the data has no column 'shot'" in complaint(
        "predict", "votes.npz", "bare.csv"
    )
    assert len(predicted("votes.npz", "bare.csv", "--scores")) == 31


@pytest.mark.parametrize("labels", [["is_wide", "is_high"], ["is_wide"]], ids=str)
def test_probabilities_of_labels(folder, labels):
    sets()[[*FEATURES, *labels]].to_csv("some.csv", index=False)
    run("train", "some.csv", "--labels", "is_", "--method", "counts", "--model", "counts.npz")
    rows = predicted("counts.npz", "some.csv", "--probabilities")
    assert rows[0] == labels
    expected = setloss.load("counts.npz").predict_proba(sets()[FEATURES])
    assert np.array(rows[1:], dtype=float) == pytest.approx(expected[:, -len(labels) :])


def test_probabilities_of_frames_and_of_models_without_any(folder):
    options = ("--group", "shot", "--label", "face", "--decision", "counts", "--tol", 0.1, "--model", "counts.npz")
    run("train", "tracks.csv", *options)
    rows = predicted("counts.npz", "tracks.csv", "--probabilities")
    model = setloss.load("counts.npz")
    expected = model.predict_proba(tracks()[FEATURES], tracks()["shot"])[:, 1]
    assert np.array([row[1] for row in rows[1:]], dtype=float) == pytest.approx(expected)
    assert "goes by the signs of its scores" in complaint("predict", "tracks.skops", "tracks.csv", "--probabilities")
    assert "--scores, not both" in complaint("predict", "counts.npz", "tracks.csv", "--probabilities", "--scores")


def test_archives_and_arff_files_without_labels(folder):
    np.savez("new.npz", X=sets()[FEATURES].to_numpy())
    assert predicted("sets.skops", "new.npz") == predicted("sets.skops", "sets.csv")
    np.savez(
        "named.npz", X=sets()[["weight", "width", "height"]].to_numpy(), feature_names=["weight", "width", "height"]
    )
    assert run("predict", "sets.skops", "named.npz").stdout == run("predict", "sets.skops", "sets.csv").stdout
    head = "@relation r\n" + "".join(f"@attribute {name} numeric\n" for name in FEATURES)
    rows = "".join(f"{','.join(map(str, row))}\n" for row in sets()[FEATURES].to_numpy().tolist())
    Path("new.arff").write_text(f"{head}@data\n{rows}")
    assert predicted("sets.skops", "new.arff") == predicted("sets.skops", "sets.csv")


def test_standard_input(folder):
    expected = run("predict", "sets.skops", "sets.csv").stdout
    result = CliRunner().invoke(app, ["predict", "sets.skops", "-"], input=sets()[FEATURES].to_csv(index=False))
    assert (result.exit_code, result.stdout) == (0, expected)
    result = CliRunner().invoke(app, ["predict", "sets.skops", "-"], input="width,height\n1,2\n")
    assert result.exit_code == 2
    assert "standard input.csv" not in result.stderr
    assert "standard input lacks a column that the model was trained on: 'weight'" in result.stderr


def test_data_of_the_other_kind_are_named(folder):
    np.savez("frames.npz", X=np.zeros((2, 3)), y=[0, 1], groups=[5, 5])
    assert "holds tracks and the model was trained on label sets" in complaint("predict", "sets.skops", "frames.npz")
    tracks().rename(columns={"shot": "group", "face": "label"}).to_csv("frames.csv", index=False)
    said = complaint("evaluate", "sets.skops", "frames.csv")
    assert "frames.csv looks like tracks, and the model was trained on label sets" in said
    assert "the model was trained on tracks, and sets.csv has no column 'shot'" in complaint(
        "evaluate", "tracks.skops", "sets.csv"
    )


def test_evaluate_needs_no_names_again(folder):
    assert run("evaluate", "sets.skops", "sets.csv").stdout
    assert run("evaluate", "tracks.skops", "tracks.csv").stdout
    tracks()[["height", "face", "shot", "width", "weight"]].assign(day="monday").to_csv("mixed.csv", index=False)
    mixed = run("evaluate", "tracks.skops", "mixed.csv")
    assert mixed.stdout == run("evaluate", "tracks.skops", "tracks.csv").stdout
    assert "does not use: day" in mixed.stderr or "matched by name" in mixed.stderr
