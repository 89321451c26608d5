"""The judge beside the tests (`python -m benchmarks.judge`): a few cases of every part, and how a failure is told."""

import sys

import numpy as np
import pytest

judge = pytest.importorskip("benchmarks.judge", reason="the benchmarks are not beside the tests")


@pytest.mark.parametrize("name", judge.PARTS)
def test_a_few_cases_of_every_part(name):
    if name in ("pixels", "torch", "soft-labels"):
        pytest.importorskip("torch")
    check, _ = judge.PARTS[name]
    for case in range(6):
        assert check(np.random.default_rng([1, case])) <= judge.TOLERANCE


def test_a_failure_names_the_case_that_repeats_it(monkeypatch, capsys):
    monkeypatch.setitem(judge.PARTS, "operators", (lambda rng: 0.5, 1.0))
    monkeypatch.setattr(sys, "argv", ["judge", "--only", "operators", "--seed", "7", "--case", "3"])
    with pytest.raises(SystemExit) as ended:
        judge.main()
    assert ended.value.code == 1
    assert "--only operators --seed 7 --case 3" in capsys.readouterr().out
