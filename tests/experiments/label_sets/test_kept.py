"""Runs that are done are kept: another command takes them, unless data or choices have changed."""

from dataclasses import replace

import numpy as np

from experiments.label_sets.chosen import SelectionSettings
from experiments.label_sets.protocol import BenchmarkPlan, run_data_set
from helpers.label_set_data import small

PLAN = BenchmarkPlan(("logistic",), 2, SelectionSettings(Cs=(1.0,), folds=2))


def test_a_second_command_goes_on_where_the_first_ended(tmp_path):
    file, data = tmp_path / "runs.jsonl", small()
    first = run_data_set(data, PLAN, file=file)
    assert len(file.read_text().splitlines()) == 2
    more = replace(PLAN, methods=("logistic", "svm"))
    second = run_data_set(data, more, file=file)
    assert len(file.read_text().splitlines()) == 4
    assert [run.seconds for run in second.of("logistic")] == [run.seconds for run in first.of("logistic")]
    for name, values in first.of("logistic")[0].judgement.examples.items():
        np.testing.assert_array_equal(second.of("logistic")[0].judgement.examples[name], values)
    assert second.estimate("logistic", "example_f1") == first.estimate("logistic", "example_f1")
    assert run_data_set(data, more).of("svm")[0].judgement.means == second.of("svm")[0].judgement.means


def test_other_choices_and_a_line_cut_short_are_no_runs(tmp_path):
    file, data = tmp_path / "runs.jsonl", small()
    run_data_set(data, PLAN, file=file)
    text = file.read_text()
    file.write_text(text[: len(text) - 30] + "\n7\n")
    run_data_set(data, PLAN, file=file)
    assert len(file.read_text().splitlines()) == 4
    run_data_set(data, replace(PLAN, choice=replace(PLAN.choice, seed=1)), file=file)
    run_data_set(replace(data, Y=1 - data.Y), PLAN, file=file)
    assert len(file.read_text().splitlines()) == 8
