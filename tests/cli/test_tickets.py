"""A table of support tickets from the file to names of labels, as a new user has it."""

import numpy as np
import pytest

from helpers.command_line import parsed, run

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
    run("predict m.skops test.csv --names --out found.csv")
    found = pd.read_csv("found.csv", dtype=str).fillna("")["labels"]
    assert (found == tickets(120, 1)["tags"]).mean() > 0.6
