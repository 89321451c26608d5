"""The example runs, bad input ends in one sentence."""

import importlib
import sys
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    """The modules of the examples' folder by name; they import one another as a script's neighbours do."""
    before, threads = set(sys.modules), torch.get_num_threads()
    yield importlib.import_module
    torch.set_num_threads(threads)
    for name in set(sys.modules) - before:
        if Path(str(getattr(sys.modules[name], "__file__", None))).parent == EXAMPLES:
            del sys.modules[name]


def test_multilabel_example(example, capsys, tmp_path, monkeypatch):
    multilabel = example("multilabel_torch")
    monkeypatch.setattr(multilabel, "FOLDS", 2)
    monkeypatch.setattr(multilabel, "STEPS", 20)
    for arguments in ([], ["--hidden", "8"]):
        assert multilabel.main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2 + sum(len(decisions) for _, decisions in multilabel.METHODS.values())
        assert all(0.3 < float(line.split("|")[3].split("±")[0]) < 1 for line in lines[2:])
    assert multilabel.main([str(tmp_path / "a.arff"), "b.arff"]) == 2
    assert capsys.readouterr().err.count("error: ") == 1


def test_example_f1_is_that_of_scikit_learn(example):
    from sklearn.metrics import f1_score

    predicted, truth = torch.rand(2, 6, 20) < 0.4
    predicted[0] = truth[0] = truth[1] = False
    each = [f1_score(t, p, zero_division=1.0) for t, p in zip(truth.numpy(), predicted.numpy(), strict=True)]
    found = example("multilabel_torch").example_f1(predicted.float(), truth.float())
    assert float(found) == pytest.approx(sum(each) / 6)
