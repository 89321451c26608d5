"""A table of support tickets from the file to names of labels, as a new user has it."""

import subprocess
import sys

import numpy as np
import pytest

from helpers.command_line import complaint, parsed, run
from setloss import load, save
from setloss.estimators import SetDecisionCV
from setloss.io import read, read_table

pd = pytest.importorskip("pandas")

TAGS = ("access", "billing", "hardware", "network", "printer")


def tickets(rows, seed):
    """Subject and body, a category, a date, empty cells, and the tags of each ticket in one cell; words tell them."""
    rng = np.random.default_rng(seed)
    tags = [sorted(rng.choice(TAGS, rng.integers(0, 4), replace=False)) for _ in range(rows)]

    def text(members, others):
        words = [f"{tag}{rng.integers(6)}" for tag in members for _ in range(2)]
        return " ".join(rng.permutation([*words, *(f"word{rng.integers(80)}" for _ in range(others))]))

    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), unit="D")
    frame = pd.DataFrame({"subject": [text(members, 2) for members in tags], "body": [text(m, 15) for m in tags]})
    frame["category"] = rng.choice(["internal", "customer", None], rows)
    return frame.assign(created=days, tags=[";".join(members) for members in tags])


def test_text_is_used_and_tags_come_back_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tickets(240, 0).to_csv("train.csv", index=False)
    tickets(120, 1).to_csv("test.csv", index=False)
    said = run("train train.csv --labels tags --cv 2 --model m.skops").stdout
    assert "subject   text: " in said
    assert "created   date: " in said
    assert "category  category: 2 categories" in said
    rows = parsed("evaluate m.skops test.csv --json")["rows"]
    assert rows["decided"]["f1"] > 0.85
    run("train train.csv --labels tags --cv 2 --ignore subject,body --model blind.skops")
    assert parsed("evaluate blind.skops test.csv --json")["rows"]["decided"]["f1"] < 0.7
    said = run("predict m.skops test.csv --names --out found.csv").stderr
    assert said == "setloss: predictions written to found.csv\n"
    found = pd.read_csv("found.csv", dtype=str).fillna("")["labels"]
    assert (found == tickets(120, 1)["tags"]).mean() > 0.6
    model = load("m.skops")
    names = model[-1].predict_names(model[:-1].transform(read_table("test.csv")))
    assert [";".join(members) for members in names] == found.tolist()


def test_labels_that_the_model_does_not_know_at_all_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"size": np.arange(40.0), "tags": ["a;b", "b"] * 20})
    frame.to_csv("train.csv", index=False)
    frame.assign(tags=["c;d", "d"] * 20).to_csv("other.csv", index=False)
    run("train train.csv --labels tags --cv 2 --method logistic --model m.skops")
    assert "which knows 'a', 'b'; the file has 'c', 'd'" in complaint("evaluate m.skops other.csv --labels tags")
    data = read("train.csv", labels="tags")
    save(SetDecisionCV(cv=2).fit(data.X, data.Y), "bare.skops")
    assert "by number only" in complaint("evaluate bare.skops train.csv --labels tags")
    save(SetDecisionCV(cv=2).fit(data.X, pd.DataFrame(data.Y, columns=data.label_names)), "named.skops")
    assert "decided" in parsed("evaluate named.skops train.csv --labels tags --json")["rows"]
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "setloss", "evaluate", "named.skops", "train.csv", "--labels", "tags"]
    together = subprocess.run(
        [*command, "--plot", "curve.png"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert together.stdout.endswith("\nsetloss: figure written to curve.png\n")


def test_options_that_say_nothing_are_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = tickets(60, 0)
    table.loc[0, "subject"] = table.loc[1, "subject"]
    table.to_csv("train.csv", index=False)
    said = complaint("train train.csv --labels subject --model m.skops")
    assert "rows have a label that no other row has" in said
    assert "'subject'" in said
    few = pd.DataFrame({"x": range(8), "tags": ["a;1", "a;2", "b;3", "b", "a", "b", "a;4", "b;5"]})
    few.to_csv("few.csv", index=False)
    run("train few.csv --labels tags --method logistic --cv 2 --model few.skops")  # a first try of few rows
    assert "--promise" in complaint("train train.csv --labels tags --confidence 0.8 --model m.skops")
    for name in ("e", "e.gif"):
        assert f".svg files; got {name}" in complaint(f"evaluate none.skops train.csv --plot {name}")


def test_columns_of_labels_are_found_by_name_in_any_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    size = np.arange(40)
    frame = pd.DataFrame({"size": size, "y_a": size % 2, "y_b": (size < 30).astype(float)})
    frame.loc[3, "y_b"] = None
    frame.to_csv("train.csv", index=False)
    frame[["y_b", "size", "y_a"]].to_csv("turned.csv", index=False)
    frame.rename(columns={"y_a": "z_a", "y_b": "z_b"}).to_csv("other.csv", index=False)
    frame.drop(columns="y_a").to_csv("fewer.csv", index=False)
    run("train train.csv --labels y_a,y_b --cv 2 --method logistic --model m.skops")
    found = [parsed(f"evaluate m.skops {name}.csv --labels y_ --json")["rows"] for name in ("train", "turned")]
    assert found[0] == found[1]
    assert "no label of the model, which knows 'y_a', 'y_b'" in complaint("evaluate m.skops other.csv --labels z_")
    assert "lacks 'y_a' of the labels of the model" in complaint("evaluate m.skops fewer.csv --labels y_")
