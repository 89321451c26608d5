"""Base models with rules: names, groups that share a fit, tables of rules and of expected losses."""

from dataclasses import replace

import numpy as np

from setloss.reproduction.label_sets.data import DataSet
from setloss.reproduction.label_sets.decided import NAMES, group_of, is_decided, style_of_decided
from setloss.reproduction.label_sets.methods import SelectionSettings, is_ours, style_of
from setloss.reproduction.label_sets.protocol import BenchmarkPlan, run_data_set
from setloss.reproduction.label_sets.report import report

PLAN = BenchmarkPlan(
    ("counts", "linear+counts", "linear+auto", "linear+threshold", "linear+plug-in"), None, SelectionSettings(folds=2)
)


def one_label(n=60, p=4):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 3))
    labels = (X @ generator.normal(size=(3, p)) + generator.gumbel(size=(n, p))).argmax(axis=1)
    return DataSet("one", X, np.eye(p, dtype=np.int8)[labels], n // 2)


def test_rules_of_a_base_model_share_its_scores():
    heard = []
    outcome = run_data_set(one_label(), PLAN, lambda share, doing: heard.append((share, doing)))
    assert heard == [(k / len(PLAN.methods), f"{name} done") for k, name in enumerate(PLAN.methods, 1)]
    seconds = {run.seconds for run in outcome.runs if group_of(run.method) == "linear"}
    assert len(seconds) == 1
    assert outcome.of("linear+auto")[0].chosen["rule"] in ("counts", "plug-in", "threshold", "top-k")


def test_the_report_has_differences_of_rules_and_expected_losses():
    document = report([run_data_set(one_label(), PLAN)], PLAN)
    titles = [table.title for table in document.tables]
    rules = document.tables[titles.index("example F1, differences between rules on the same scores")]
    assert [row[0] for row in rules.rows][:2] == [
        "logistic + counts - logistic + threshold",
        "logistic + counts - logistic + plug-in",
    ]
    expected = document.tables[titles.index("expected loss / observed loss")]
    assert [row[0] for row in expected.rows] == ["count model, linear", "logistic + counts", "logistic + auto"]
    assert all(" / " in row[1] for row in expected.rows)


def test_a_report_of_operators_has_no_such_tables():
    plan = replace(PLAN, methods=("hinge",))
    titles = [table.title for table in report([run_data_set(one_label(), plan)], plan).tables]
    assert "expected loss / observed loss" not in titles


def test_names():
    assert all(is_decided(name) and style_of(name) == style_of_decided(name) for name in NAMES)
    assert style_of("trees+top-k").label == "extra trees + top k"
    assert not is_decided("logistic+threshold")
    assert is_ours("boosting+auto")
    assert not is_ours("boosting+plug-in")
    assert [group_of(name) for name in ("linear+counts", "counts", "dice:slack@1")] == [
        "linear",
        "counts",
        "dice:slack@1",
    ]
