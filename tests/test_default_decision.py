"""The study behind `setloss.defaults.DECISION` sees training parts only, and finds what it should."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.default_decision", reason="the benchmarks are not beside the tests")

from benchmarks.default_decision import examples, judged
from helpers.label_set_data import small


def test_where_every_example_has_one_label_a_learned_decision_loses_less_than_the_sign():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(160, 6))
    Y = np.eye(4, dtype=int)[np.argmax(X[:, :4] + generator.normal(size=(160, 4)), axis=1)]
    losses, chosen = judged(X, Y, "f1", 1.0, folds=2)
    assert losses["auto"].mean() < losses["sign"].mean() - 0.02
    assert sum(chosen.values()) == 2


def test_no_test_example_is_read(tmp_path):
    data = small()
    for part, rows in (("train", slice(0, data.n_train)), ("test", slice(data.n_train, None))):
        np.savez(tmp_path / f"a-{part}.npz", X=data.X[rows], Y=data.Y[rows])
    _, X, Y = next(examples(tmp_path, ()))
    assert len(X) == len(Y) == data.n_train
