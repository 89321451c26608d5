"""The study of the classifier that `SetDecisionCV()` takes."""

import pytest

pytest.importorskip("benchmarks.default_classifier", reason="the benchmarks are not beside the tests")

from benchmarks.default_classifier import NAMES, generated, scores_of


def test_the_choice_is_one_of_those_it_chooses_from(monkeypatch):
    monkeypatch.setattr("setloss.estimators.candidates.TREES", 10)
    X, Y = next((X, Y) for name, X, Y in generated(words=[(20, 100, 8)]) if name == "sums")
    scores, seconds = scores_of(X[:60], Y[:60, :3], folds=2, cv=2)
    assert len(scores) == len(seconds) == len(NAMES)
    assert min(scores[:3]) <= scores[3] <= max(scores[:3])
