"""The label-set benchmark: files of all kinds, nothing learned from test data, tables, and the command."""

import json
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from experiments.label_sets.chosen import SelectionSettings
from experiments.label_sets.data import DataSet, find_data_sets, read_data_set
from experiments.label_sets.methods import (
    METHODS,
    OPERATORS,
    is_ours,
    make_method,
    style_of,
)
from experiments.label_sets.protocol import BenchmarkPlan, run_data_set, run_group
from experiments.label_sets.report import by_rank, report
from helpers.experiment_commands import complaint, run
from helpers.label_set_data import small, write_arff
from setloss.io import DatasetError

FAST = SelectionSettings(Cs=(0.3, 3.0), folds=2, tol=1e-2, trees=20, rounds=5)
FEW = ("dice:slack@1", "logistic", "logistic+plug-in", "logistic+threshold")


# ---------------------------------------------------------------- data


@pytest.mark.parametrize("sparse", [False, True])
def test_arff_files_with_nominal_attributes_and_empty_sets(tmp_path, sparse):
    data = small(sparse=sparse)
    write_arff(tmp_path / "small", data)
    (tmp_path / "images").mkdir()
    found = find_data_sets(tmp_path)
    assert list(found) == ["small"]
    read = read_data_set("small", found["small"])
    np.testing.assert_array_equal(read.Y, data.Y)
    assert read.n_train == 40
    assert (read.Y.sum(axis=1) == 0).any()
    assert read.X.shape == (60, 7)
    dense = read.X.toarray() if sparse else read.X
    np.testing.assert_allclose(dense[:, :5], data.X.toarray() if sparse else data.X)
    np.testing.assert_array_equal(dense[:, 6], np.arange(60) % 3 == 0)


@pytest.mark.parametrize("zero_based", [True, False])
def test_svmlight_files_agree_on_their_numbering(tmp_path, zero_based):
    """The last label and the first feature occur in one file only."""
    data = small(sparse=True)
    X, Y = data.X.copy().tolil(), data.Y.copy()
    X[40:, 0] = 0
    X[:, 4] = 1.5  # an example without labels and features would be a blank line
    Y[0, 3] = 1
    X = X.tocsr()
    folder = tmp_path / "small"
    folder.mkdir()
    for part, rows in (("train", slice(0, 40)), ("test", slice(40, 60))):
        dump_svmlight_file(
            X[rows], Y[rows], str(folder / f"small-{part}.svm"), multilabel=True, zero_based=zero_based
        )
    read = read_data_set("small", find_data_sets(tmp_path)["small"])
    np.testing.assert_array_equal(read.Y, Y)
    np.testing.assert_allclose(read.X.toarray(), X.toarray())


def test_a_single_file_needs_folds(tmp_path):
    data = small()
    (tmp_path / "one").mkdir()
    np.savez(tmp_path / "one" / "one.npz", X=data.X, Y=data.Y)
    read = read_data_set("one", find_data_sets(tmp_path)["one"])
    with pytest.raises(DatasetError, match="no standard split into two files; ask for folds"):
        read.splits()
    assert [len(test) for _, test in read.splits(3)] == [20, 20, 20]
    with pytest.raises(DatasetError, match="cannot be cut into 99 folds"):
        read.splits(99)


def test_archives_of_other_arrays_are_passed_over(tmp_path):
    data = small()
    for name, arrays in (("photos", {"images": np.zeros((2, 4, 4))}), ("songs", {"X": data.X, "Y": data.Y})):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / f"{name}.npz", **arrays)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "broken.npz").write_bytes(b"no archive")
    assert set(find_data_sets(tmp_path)) == {"songs", "broken"}  # what is wrong with a file its reader says


def test_what_is_no_data_set_of_label_sets_is_refused(tmp_path):
    data = small()
    with pytest.raises(DatasetError, match="there is no folder"):
        find_data_sets(tmp_path / "nowhere")
    with pytest.raises(DatasetError, match=r"no data set in .*NAME-train\.arff"):
        find_data_sets(tmp_path)
    np.savez(tmp_path / "tracks.npz", X=data.X, y=data.Y[:, 0], groups=np.arange(60))
    with pytest.raises(DatasetError, match="has no data set 'scene'; it has"):
        find_data_sets(tmp_path, ["scene"])
    with pytest.raises(DatasetError, match="holds tracks, not label sets"):
        read_data_set("x", (tmp_path / "tracks.npz",))
    np.savez(tmp_path / "gaps.npz", X=data.X, Y=np.where(data.X[:, :4] > 1, np.nan, data.Y))
    with pytest.raises(DatasetError, match="missing labels"):
        read_data_set("x", (tmp_path / "gaps.npz",))
    np.savez(tmp_path / "a-train.npz", X=data.X, Y=data.Y)
    np.savez(tmp_path / "a-test.npz", X=data.X, Y=data.Y[:, :3])
    with pytest.raises(DatasetError, match="have different labels"):
        read_data_set("x", (tmp_path / "a-train.npz", tmp_path / "a-test.npz"))


# ---------------------------------------------------------------- methods and protocol


def test_every_method_runs_with_constant_labels_and_empty_sets():
    methods = (*METHODS, *(name for name in OPERATORS if name not in METHODS))
    outcome = run_data_set(small(sparse=True), BenchmarkPlan(methods, None, FAST))
    assert {run.method for run in outcome.runs} == set(methods)
    for method in methods:
        assert 0.2 < outcome.estimate(method, "example_f1").mean <= 1
        assert 0 <= outcome.estimate(method, "hamming").mean < 0.5


@pytest.mark.parametrize("method", FEW)
def test_test_labels_and_features_change_nothing_of_the_choice(method):
    data = small()
    poisoned = DataSet(
        "poisoned", np.vstack([data.X[:40], 99 - data.X[40:]]), np.vstack([data.Y[:40], 1 - data.Y[40:]]), 40
    )
    split = data.splits()[0]
    runs = [run_group(d, split, 0, (method,), FAST)[0] for d in (data, poisoned)]
    assert runs[0].chosen == runs[1].chosen
    assert runs[0].judgement.means != runs[1].judgement.means


def test_all_methods_choose_on_the_same_folds():
    seeds = {make_method(name, FAST).random_state for name in OPERATORS}
    grids = {make_method(name, FAST).Cs for name in OPERATORS}
    assert seeds == {0}
    assert grids == {FAST.Cs}


@pytest.mark.parametrize(
    "name",
    [
        "dice:nothing",
        "nothing",
        "dice:lovasz@1",
        "bd",
        "dice:bd@3",
        "svm+plug-in",
        "dice:bd+plug-in",
        "logistic+luck",
    ],
)
def test_unknown_methods_are_refused(name):
    with pytest.raises(ValueError, match=r"there is no method|the endings are|needs probabilities"):
        make_method(name, FAST)


def test_too_few_examples_for_the_inner_folds_are_refused():
    with pytest.raises(DatasetError, match="small has 1 training examples; 2 inner folds need more"):
        run_data_set(replace(small(), n_train=1), BenchmarkPlan(FEW, None, FAST))


def test_a_method_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        BenchmarkPlan(("hinge", "hinge"))


def test_operators_can_be_chosen_by_cross_validation():
    (run,) = run_group(small(), small().splits()[0], 0, ("dice:slack/bd@1+threshold",), FAST)
    assert run.chosen["operator"] in ("slack", "bd")
    assert "value" in run.chosen
    assert style_of("dice:slack/bd@1+threshold").label == "S exact, c = 2 or B_D, c = 1 (Dice) + threshold"
    assert is_ours("dice:slack/bd@1")
    assert not is_ours("logistic+top-k")


def test_results_do_not_depend_on_the_number_of_processes():
    plan = BenchmarkPlan(FEW[1:], 2, FAST)
    with joblib.parallel_config(backend="threading"):  # the same code path as processes, without starting any
        one, two = (run_data_set(small(), replace(plan, jobs=jobs)) for jobs in (1, 2))
    for left, right in zip(one.runs, two.runs, strict=True):
        assert (left.method, left.split, left.judgement.means) == (right.method, right.split, right.judgement.means)


# ---------------------------------------------------------------- report


@pytest.fixture(scope="module")
def outcomes():
    plan = BenchmarkPlan(FEW, None, FAST)
    return [run_data_set(replace(small(seed=seed), name=f"set{seed}"), plan) for seed in (0, 1)], plan


def test_the_tables_have_a_row_per_method_and_mark_the_best(outcomes):
    found, plan = outcomes
    document = report(found, plan)
    table = document.tables[0]
    assert table.columns == ("method", "set0", "set1", "mean", "average rank")
    assert [row[0] for row in table.rows] == [style_of(m).label for m in by_rank(found, FEW, "example_f1")]
    for j in (1, 2):
        means = [row[j].mean for row in table.rows]
        assert (int(np.argmax(means)), j) in table.best
    json.dumps(document.as_dict(), allow_nan=False)


def test_errors_of_a_single_test_set_are_over_its_examples(outcomes):
    found, _ = outcomes
    run = found[0].of("logistic")[0]
    values = run.judgement.examples["example_f1"]
    assert found[0].estimate("logistic", "example_f1").error == pytest.approx(values.std(ddof=1) / np.sqrt(20))
    assert found[0].estimate("logistic", "micro_f1").error is None
    difference = found[0].difference("dice:slack@1", "logistic", "example_f1")
    other = found[0].of("dice:slack@1")[0].judgement.examples["example_f1"]
    assert difference.mean == pytest.approx(np.mean(other - values))


def test_the_figure_has_a_panel_per_data_set_and_one_for_ranks(outcomes):
    canvas = report(*outcomes).figures[0].draw()
    assert [axes.get_title() for axes in canvas.axes] == ["set0", "set1", "all"]


# ---------------------------------------------------------------- command


def test_the_command_writes_tables_and_a_figure(tmp_path):
    write_arff(tmp_path / "small", small())
    out = tmp_path / "new" / "results"
    run("multilabel", "--data", tmp_path, "--out", out, "--methods", "logistic,hinge", "--quick")
    document = json.loads((out / "multilabel.json").read_text())
    assert set(document["numbers"]["datasets"]["small"]["methods"]) == {"logistic", "hinge"}
    assert (out / "multilabel.md").read_text().startswith("# Label sets")
    assert (out / "multilabel.png").stat().st_size > 1000


def test_what_is_done_stays_when_a_later_data_set_is_broken(tmp_path):
    write_arff(tmp_path / "a", small())
    write_arff(tmp_path / "b", small())
    (tmp_path / "b" / "small.xml").write_text("<labels")
    assert "small.xml" in complaint(
        "multilabel", "--data", tmp_path, "--out", tmp_path, "--methods", "logistic", "--quick"
    )
    assert list(json.loads((tmp_path / "multilabel.json").read_text())["numbers"]["datasets"]) == ["a"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--data", "{tmp}/nowhere"], "there is no folder"),
        (["--data", "{tmp}/empty"], "there is no data set in"),
        (["--data", "{tmp}", "--datasets", "scene"], "has no data set 'scene'; it has"),
        (["--data", "{tmp}", "--methods", "forest"], "there is no method 'forest'"),
        (["--data", "{tmp}", "--criterion", "accuracy"], "criterion"),
        (["--data", "{tmp}", "--folds", "99", "--quick"], "cannot be cut into 99 folds"),
        ([], "--data"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, options, words):
    write_arff(tmp_path / "small", small())
    (tmp_path / "empty").mkdir()
    assert words in complaint("multilabel", *(text.format(tmp=tmp_path) for text in options))
