"""Models of every format of data meet data of every other: features are matched by name, or a sentence says why."""

import io

import numpy as np
import pytest

from helpers.command_line import complaint, run

pd = pytest.importorskip("pandas")
pytest.importorskip("arff")

FILES = ["named.npz", "bare.npz", "sets.csv", "sets.parquet", "sets.arff", "sets.svm", "tracks.npz", "tracks.csv"]
OPTIONS = {".csv": ["--labels", "y_"], ".parquet": ["--labels", "y_"], ".arff": ["--labels", "2"]}


def options(name):
    return [] if name.startswith("tracks") else OPTIONS.get(f".{name.partition('.')[2]}", [])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The same four features a, b, c, d and two labels in every format, and a model of each."""
    folder = tmp_path_factory.mktemp("formats")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1, 2, 3, 4]
    Y = (X[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    groups = np.arange(60) // 4
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        np.savez("named.npz", X=X, Y=Y, feature_names=list("abcd"), label_names=["y_0", "y_1"])
        np.savez("bare.npz", X=X, Y=Y)
        np.savez("tracks.npz", X=X, y=Y[:, 0], groups=groups)
        table = frame.assign(y_0=Y[:, 0], y_1=Y[:, 1])
        table.to_csv("sets.csv", index=False)
        table[["d", "c", "b", "a", "y_1", "y_0"]].to_csv("turned.csv", index=False)
        table.to_parquet("sets.parquet")
        frame.assign(group=groups, label=Y[:, 0]).to_csv("tracks.csv", index=False)
        for name, columns in (("sets", list(table)), ("turned", list("dcba"))):
            kinds = [f"@attribute {column} {'{0,1}' if '_' in column else 'numeric'}\n" for column in columns]
            rows = table[columns].to_csv(index=False, header=False)
            (folder / f"{name}.arff").write_text(f"@relation r\n{''.join(kinds)}@data\n{rows}")
        rows = (
            ",".join(str(j) for j in (0, 1) if y[j]) + " " + " ".join(f"{j}:{value}" for j, value in enumerate(x))
            for x, y in zip(X, Y, strict=True)
        )
        (folder / "sets.svm").write_text("\n".join(rows) + "\n")
        (folder / "narrow.svm").write_text("0 0:1\n 2:1\n")
        for name in FILES:
            run("train", name, *options(name), "--method", "logistic", "--cv", "2", "--model", f"{name}.skops")
    return folder


@pytest.fixture
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def read(*words):
    return pd.read_csv(io.StringIO(run(*words).stdout))


@pytest.mark.parametrize(("model", "name"), [("named.npz", "turned.arff"), ("sets.csv", "turned.csv")])
def test_columns_in_another_order_are_matched_by_name(folder, model, name):
    pd.testing.assert_frame_equal(read(f"predict {model}.skops {name}"), read(f"predict {model}.skops {model}"))


def test_features_that_are_missing_are_named(folder):
    pd.read_csv("turned.csv").drop(columns="c").to_csv("less.csv", index=False)
    assert "lacks 'c' of the features of the model" in complaint("predict sets.csv.skops less.csv")
    np.savez("less.npz", X=np.eye(3), feature_names=list("abd"))
    assert "lacks 'c' of the features of the model" in complaint("predict named.npz.skops less.npz")


def test_svmlight_files_are_as_wide_as_the_model(folder):
    assert read("predict sets.svm.skops narrow.svm").shape == (2, 2)
    (folder / "wide.svm").write_text("0 4:1\n")
    assert "n_features was set to 4" in complaint("predict sets.svm.skops wide.svm")


@pytest.mark.parametrize("model", FILES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_every_pair_of_formats_gives_an_answer_or_a_sentence(folder, command, model, name):
    words = [command, f"{model}.skops", name]
    result = run(*words, code=None)
    if result.exit_code:
        said = complaint(*words)
        assert name in said or "no column 'group'" in said
    assert model != name or (name, command) == ("sets.arff", "evaluate") or result.exit_code == 0
    tables = [file.endswith(("csv", "parquet")) for file in (model, name)]
    assert tables[0] == tables[1] or f"and {name} is none; give " in said
