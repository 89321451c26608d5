"""A table of support tickets from the file to names of labels, as a new user has it."""

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


def test_labels_that_the_model_does_not_know_are_named_and_refused_where_it_knows_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"x": range(40), "tags": ["a;b", "b", "a", ""] * 10})
    table.to_csv("train.csv", index=False)
    for name, tags in {
        "same": ["a;b", "b"],
        "more": ["a;b", "Z;b"],
        "only": ["b", "b"],
        "other": ["c;d", "d"],
    }.items():
        table.assign(tags=tags * 20).to_csv(f"{name}.csv", index=False)
    run("train train.csv --labels tags --cv 2 --method logistic --model m.skops")
    result = run("evaluate m.skops more.csv")
    assert "labels that the model does not know, which do not count: 'Z'" in result.stderr
    assert result.stdout == run("evaluate m.skops same.csv").stdout.replace("same.csv", "more.csv")
    run("predict m.skops only.csv --out found.csv")
    chosen = pd.read_csv("found.csv")[["a", "b"]] == 1
    f1 = 2 * chosen["b"] / (1 + chosen.sum(axis=1))  # a, which the file does not name, is in no set
    assert parsed("evaluate m.skops only.csv --json")["rows"]["decided"]["f1"] == pytest.approx(f1.mean())
    assert "which knows 'a', 'b'; the file has 'c', 'd'" in complaint("evaluate m.skops other.csv --labels tags")
    data = read("train.csv", labels="tags")
    save(SetDecisionCV(cv=2).fit(data.X, data.Y), "bare.skops")
    assert "by number only" in complaint("evaluate bare.skops train.csv --labels tags")
    save(SetDecisionCV(cv=2).fit(data.X, pd.DataFrame(data.Y, columns=data.label_names)), "named.skops")
    assert "decided" in parsed("evaluate named.skops train.csv --labels tags --json")["rows"]


def test_free_text_is_no_label_but_few_rows_may_have_labels_that_occur_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = tickets(60, 0)
    table.loc[0, "subject"] = table.loc[1, "subject"]
    table.to_csv("train.csv", index=False)
    said = complaint("train train.csv --labels subject --model m.skops")
    assert "rows have a label that no other row has, as if column 'subject'" in said
    few = pd.DataFrame({"x": range(8), "tags": ["a;1", "a;2", "b;3", "b", "a", "b", "a;4", "b;5"]})
    few.to_csv("few.csv", index=False)
    run("train few.csv --labels tags --method logistic --cv 2 --model few.skops")
