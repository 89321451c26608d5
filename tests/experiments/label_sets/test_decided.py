"""Base models with rules: names, groups that share a fit, tables of rules and of expected losses."""

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from experiments.label_sets.chosen import SelectionSettings
from experiments.label_sets.data import DataSet
from experiments.label_sets.decided import NAMES, Remembering, group_of, is_decided, style_of_decided
from experiments.label_sets.methods import is_ours, style_of
from experiments.label_sets.protocol import BenchmarkPlan, run_data_set
from experiments.label_sets.report import report

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
    count = len(PLAN.methods)
    assert heard == [(0.0, "beginning"), *((k / count, f"{name} done") for k, name in enumerate(PLAN.methods, 1))]
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


def test_the_same_features_are_scored_once():
    X, Y = one_label().X, one_label().Y
    base = Counting()
    model = Remembering(base).fit(X, Y)
    first = model.predict_proba(X)
    assert model.predict_proba(X) is first
    assert model.estimator_.calls_ == 1
    assert model.predict_proba(X[:5]).shape == (5, 4)


class Counting(BaseEstimator):
    def fit(self, X, y):
        self.calls_, self.classes_ = 0, [np.array([0, 1])] * y.shape[1]
        return self

    def predict_proba(self, X):
        self.calls_ += 1
        return np.full((len(X), 4), 0.5)
