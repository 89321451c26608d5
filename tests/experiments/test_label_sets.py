"""The label-set benchmark: nothing learned from test data, metrics, tables, and the command."""

import json

import joblib
import numpy as np
import pytest
from sklearn.metrics import f1_score

from experiments.document import Estimate
from experiments.label_sets.methods import METHODS, label_of
from experiments.label_sets.protocol import (
    METRICS,
    BenchmarkPlan,
    DataSetOutcome,
    Run,
    judge,
    run_data_set,
    run_group,
)
from experiments.label_sets.report import report, standing, tables_of_pages
from experiments.label_sets.scoreboard import scoreboards, verdict
from experiments.label_sets.tuning import Choices
from experiments.loaders import DataSet
from helpers.experiment_commands import complaint, run
from helpers.label_set_data import small, write_arff

FAST = Choices(Cs=(0.3, 3.0), folds=2, trees=20)


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, said, other = rng.random((3, 30, 5)) < 0.3
    truth[0] = said[0] = said[1] = other[0] = False
    found = judge(truth, said, other)
    for metric, sets, zero in (("example_f1", said, 1.0), ("example_f1_zero", other, 0.0)):
        expected = f1_score(truth, sets, average="samples", zero_division=zero)
        assert found[metric].mean() == pytest.approx(expected)


@pytest.mark.parametrize("method", ["linear+auto", "linear+threshold", "trees+counts", "gfm", "smoothed-thresholds"])
def test_test_labels_and_features_change_nothing_of_the_choice(method):
    data = small()
    X, Y = np.vstack([data.X[:40], 99 - data.X[40:]]), np.vstack([data.Y[:40], 1 - data.Y[40:]])
    runs = [
        run_group(d, data.splits()[0], 0, (method,), FAST, joblib.Memory(None))[0]
        for d in (data, DataSet("poisoned", X, Y, 40))
    ]
    assert runs[0].chosen == runs[1].chosen
    assert runs[0].scores["example_f1"].mean() != runs[1].scores["example_f1"].mean()


@pytest.mark.filterwarnings("ignore:Label not")  # threads share the filters that a method sets for itself
def test_results_do_not_depend_on_the_number_of_processes_and_are_kept(tmp_path, monkeypatch):
    plan = BenchmarkPlan(("linear+auto", "linear+threshold"), 2, FAST)
    found, kept = [], []
    for cores, folder in (("1", "a"), ("2", "b"), ("2", "b")):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", cores)
        with joblib.parallel_config(backend="threading"):  # the same code path as processes, without starting any
            runs = run_data_set(small(), plan, folder=tmp_path / folder).runs
        found.append([(run.method, run.split, run.scores["example_f1"].tolist()) for run in runs])
        kept.append({path: path.stat().st_mtime_ns for path in (tmp_path / folder).rglob("output.pkl")})
    assert found == [found[0]] * 3
    assert kept[1] == kept[2] != {}


def test_sets_are_decided_for_the_convention_of_0_0_they_are_judged_by():
    """Where most sets are empty, empty answers are right if 0/0 is 1, and worth nothing if it is 0."""
    data = small(n=200, n_train=150)
    data.Y[:, :2] &= np.random.default_rng(1).random((200, 2)) < 0.2
    run = run_group(data, data.splits()[0], 0, ("linear+counts",), FAST, joblib.Memory(None))[0]
    nothing = judge(data.Y[150:], 0 * data.Y[150:], 0 * data.Y[150:])
    found, nothing = ({name: one.mean() for name, one in scores.items()} for scores in (run.scores, nothing))
    assert found["example_f1"] >= nothing["example_f1"]
    assert found["example_f1_zero"] > nothing["example_f1_zero"] == 0


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("sparse", [False, True])
def test_every_method_runs_with_constant_labels_and_empty_sets(sparse):
    outcome = run_data_set(small(sparse=sparse), BenchmarkPlan(METHODS, choices=FAST))
    assert {run.method for run in outcome.runs} == set(METHODS)
    assert min(run.scores["example_f1"].mean() for run in outcome.runs) > 0.2


PLAN = BenchmarkPlan(METHODS)


def made(name, **scores):
    """A data set on which methods have these scores on the test examples."""
    runs = [Run(method, 0, dict.fromkeys(METRICS, np.array(values)), {}) for method, values in scores.items()]
    return DataSetOutcome(name, tuple(runs))


@pytest.fixture
def outcomes():
    generator = np.random.default_rng(0)
    return [made(name, **{method: generator.random(9) for method in METHODS}) for name in ("scene", "b", "c")]


def test_tables_have_mean_median_and_a_row_per_method_the_best_first_in_bold(outcomes):
    table = report(outcomes, PLAN).tables[0]
    assert table.columns == ("method", "scene", "b", "c", "mean", "median")
    assert {row[0] for row in table.rows} == {label_of(name) for name in METHODS}
    means = np.array([[cell.mean for cell in row[1:4]] for row in table.rows])
    assert [row[4:] for row in table.rows] == [(f"{np.mean(m):.3f}", f"{np.median(m):.3f}") for m in means]
    assert np.all(np.diff(means.mean(axis=1)) <= 0)
    assert table.best >= {(int(np.argmax(column)), j) for j, column in enumerate(means.T, 1)}
    json.dumps(report(outcomes, PLAN).as_dict(), allow_nan=False)


def test_the_front_table_has_mean_and_median_and_names_the_best_rivals(outcomes):
    front = tables_of_pages(outcomes, PLAN)["front"]
    means = [outcome.estimate("default", "example_f1").mean for outcome in outcomes]
    assert front.rows[-1][1] == f"{np.mean(means):.3f} ({np.median(means):.3f})"
    assert any(str(row[0]).startswith("the best published rival: ") for row in front.rows)
    assert "ahead on" in front.note


def test_ahead_level_and_behind_are_counted_by_paired_differences():
    scores = np.array([0.1, 0.5, 0.9])  # much wider than the differences
    outcome = made("a", ours=scores, worse=scores - [0.1, 0.1, 0.11], level=scores - [0.1, -0.02, 0.05])
    assert standing([outcome] * 2, "ours", "worse") == (2, 0, 0)
    assert standing([outcome], "ours", "level") == (0, 1, 0)
    assert standing([outcome], "worse", "ours") == (0, 0, 1)
    assert outcome.estimate("ours", "example_f1").error == pytest.approx(0.4 / np.sqrt(3))


def test_scoreboards_take_our_scores_from_kept_results(tmp_path, outcomes):
    with pytest.raises(ValueError, match="has no results; run: python -m experiments multilabel"):
        scoreboards(tmp_path)
    report(outcomes, PLAN).write(tmp_path)
    table = scoreboards(tmp_path)["standard"]
    ours = table.rows[0]
    assert ours[:2] == ("**SetDecisionCV()**", "here")
    assert ours[2].mean == pytest.approx(outcomes[0].estimate("default", "example_f1").mean)
    assert ours[3] is None
    published = next(row for row in table.rows if row[:2] == ("EFP", "Z20"))
    assert published[2] == f"0.7426 {verdict(ours[2], 0.7426)}"
    assert published[5] == "0.6204"


def test_verdicts_are_by_two_standard_errors_of_the_difference():
    ours = Estimate(0.7, 0.01, 100)
    assert [verdict(ours, score) for score in (0.671, 0.672, 0.728, 0.729)] == ["ahead", "level", "level", "behind"]


def test_the_command_adds_to_the_tables_of_a_folder(tmp_path):
    write_arff(tmp_path / "small", small())
    out = tmp_path / "new" / "results"
    for methods in ("linear+auto,linear+half", "linear+top-k"):
        run("multilabel", "--data", tmp_path, "--out", out, "--methods", methods, "--quick", "--halves", 2)
    document = json.loads((out / "multilabel_halves.json").read_text())
    assert set(document["numbers"]["datasets"]["small"]["methods"]) == {"linear+auto", "linear+half", "linear+top-k"}
    for unknown in ("forest", "linear", "linear+luck", "gfm+auto"):
        assert f"there is no method '{unknown}'" in complaint("multilabel", "--data", tmp_path, "--methods", unknown)
