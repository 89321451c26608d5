"""The study of the classifier that `SetDecisionCV()` takes."""

import pytest

pytest.importorskip("benchmarks.default_classifier", reason="the benchmarks are not beside the tests")

from benchmarks.default_classifier import NAMES, generated, scores_of


def test_the_choice_is_one_of_those_it_chooses_from():
    X, Y = next((X, Y) for name, X, Y in generated() if name == "sums")
    scores, seconds = scores_of(X[:90], Y[:90])
    assert len(scores) == len(seconds) == len(NAMES)
    assert min(scores[:3]) <= scores[3] <= max(scores[:3])
