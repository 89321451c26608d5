"""Models of every format of data meet data of every other: features are matched by name, or a sentence says why."""

import io
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import setloss
from helpers.command_line import complaint, parsed, run
from setloss.estimators import SetDecisionCV

pd = pytest.importorskip("pandas")
pytest.importorskip("arff")

FILES = {"sets.csv": "--labels y_", "sets.parquet": "--labels y_", "sets.arff": "--labels 2", "tracks.csv": ""}
QUICK = "--method logistic --cv 2"


def write_arff(table, name):
    kinds = [f"@attribute {column} {'{0,1}' if '_' in column else 'numeric'}\n" for column in table]
    Path(name).write_text(f"@relation r\n{''.join(kinds)}@data\n{table.to_csv(index=False, header=False)}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The same four features a, b, c, d and two labels in every format, and a model of each."""
    folder = tmp_path_factory.mktemp("formats")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1, 2, 3, 4]
    Y = (X[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table = frame.assign(y_0=Y[:, 0], y_1=Y[:, 1])
        table.to_csv("sets.csv", index=False)
        table.to_parquet("sets.parquet")
        write_arff(table, "sets.arff")
        table[["d", "c", "b", "a", "y_1", "y_0"]].to_csv("turned.csv", index=False)
        write_arff(table[["d", "c", "b", "a", "y_1", "y_0"]], "turned.arff")
        frame.assign(group=np.arange(60) // 4, label=Y[:, 0]).to_csv("tracks.csv", index=False)
        for name, labels in FILES.items():
            run(f"train {name} {labels} {QUICK} --model {name}.skops")
        own = SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=2).fit(X, Y)
        setloss.save(own, "own.skops")
        setloss.save(own.estimator_, "scores.skops")
    return folder


@pytest.fixture(autouse=True)
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def read(words):
    return pd.read_csv(io.StringIO(run(words).stdout))


@pytest.mark.parametrize(("suffix", "labels"), [("csv", "y_"), ("arff", "2")])
def test_columns_in_another_order_are_matched_by_name(suffix, labels):
    for command in ("predict", "evaluate"):
        words = f"{command} sets.{suffix}.skops {{}}.{suffix} --labels {labels}"
        assert run(words.format("turned")).stdout.replace("turned", "sets") == run(words.format("sets")).stdout
    assert list(read(f"predict sets.{suffix}.skops turned.{suffix}").columns) == ["y_0", "y_1"]


def test_names_that_are_missing_are_told(folder):
    table = pd.read_csv("turned.csv")
    table.drop(columns="c").to_csv("less.csv", index=False)
    write_arff(table.drop(columns="c"), "less.arff")
    write_arff(table.rename(columns={"y_0": "z_0"}), "other.arff")
    for suffix in ("csv", "arff"):
        assert "lacks 'c' of the features of the model" in complaint(f"predict sets.{suffix}.skops less.{suffix}")
    assert "lacks 'y_0' of the labels of the model" in complaint("evaluate sets.arff.skops other.arff --labels 2")


@pytest.mark.parametrize("model", FILES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_every_pair_of_formats_gives_an_answer_or_a_sentence(command, model, name):
    words = f"{command} {model}.skops {name} {FILES[name]}"
    result = run(words, code=None)
    if result.exit_code:
        said = complaint(words)
        assert name in said or "no column 'group'" in said
    assert model != name or result.exit_code == 0
    tables = [file.endswith(("csv", "parquet")) for file in (model, name)]
    assert tables[0] == tables[1] or f"and {name} is none; give " in said


def test_models_of_arrays_from_python_take_arff(folder):
    expected = setloss.load("own.skops").predict(pd.read_csv("sets.csv")[list("abcd")].to_numpy())
    np.testing.assert_array_equal(read("predict own.skops sets.arff --labels 2"), expected)
    assert parsed("evaluate own.skops sets.arff --labels 2 --json")["sets"] == 60
    assert "sets.arff" in complaint("evaluate own.skops sets.arff --labels 1")
    for command in ("predict", "evaluate"):
        said = complaint(f"{command} scores.skops sets.arff")
        assert "scores.skops gives scores and decides nothing; save SetDecisionCV" in said


BROKEN = [{"_scorer": None}, {"rule_": "abc"}, {"source_": {"width": 1}}, {"source_": [1]}]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_that_does_not_fit_together_is_one_sentence(command, broken):
    model = setloss.load("sets.arff.skops")
    vars(model if "source_" in broken else model[-1]).update(broken)
    setloss.save(model, "broken.skops")
    complaint(f"{command} broken.skops sets.arff --labels 2")
