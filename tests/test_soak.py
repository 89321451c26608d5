"""The soak run: its judge against the library's operators, a few cases of every part, and how a failure is told."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("benchmarks.soak", reason="the benchmarks are not beside the tests")

from benchmarks.soak import cuts, decompositions, solves
from benchmarks.soak.__main__ import Part, main
from benchmarks.soak.draws import OPERATORS, random_loss, random_margins, usable_operator
from benchmarks.soak.judge import Judge
from setloss.operators import operator_named

PARTS = {"cuts": cuts.check, "decompositions": decompositions.check, "solves": solves.check}


@pytest.mark.parametrize("seed", range(40))
def test_the_judge_and_the_operators_agree(seed):
    generator = np.random.default_rng(seed)
    loss, truth = random_loss(generator), generator.random(int(generator.integers(1, 7))) < 0.5
    kind = (int(truth.sum()), int((~truth).sum()))
    operator = usable_operator(generator, loss, [kind], 2.0)
    assert operator in OPERATORS
    points = random_margins(generator, (10, len(truth)))
    surrogate = operator_named(operator, 2.0)(loss.set_function(truth))
    judge = Judge(loss, truth, operator, 2.0)
    error = np.abs(judge(points) - [surrogate(point) for point in points])
    assert np.max(error / judge.unit(points)) <= 1e-12


@pytest.mark.parametrize("name", PARTS)
def test_a_few_cases_of_every_part(name):
    part = Part(name, PARTS[name], wanted=6, share=1.0)
    part.run(seed=1, budget=60.0, only=None)
    assert part.judged >= 6
    assert part.failures == []
    assert "none failed" in part.line()


def test_a_case_is_the_same_problem_every_time():
    first, second = (Part("solves", solves.check, 1, 1.0) for _ in range(2))
    for part in (first, second):
        part.run(seed=3, budget=60.0, only=5)
    assert first.largest == second.largest
    assert first.counted == second.counted


def test_a_failure_names_the_command_that_repeats_it(monkeypatch, capsys, tmp_path):
    def broken(generator):
        raise AssertionError("the cut exceeds B")

    monkeypatch.setattr(cuts, "check", broken)
    out = tmp_path / "soak.json"
    monkeypatch.setattr(sys, "argv", ["soak", "--only", "cuts", "--seed", "7", "--case", "3", "--json", str(out)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    told = capsys.readouterr().out
    assert "FAILED cuts, case 3: the cut exceeds B" in told
    assert "again: python -m benchmarks.soak --only cuts --seed 7 --case 3" in told
    assert json.loads(out.read_text())["parts"][0]["failures"] == ["AssertionError: the cut exceeds B"]
