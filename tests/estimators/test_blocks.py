"""Dask arrays of scores: a fit draws rows, decisions are lazy and hold one block at a time."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from helpers.estimator_data import one_or_two_labels, scored_labels
from setloss.estimators import SetDecision, SetDecisionCV


def test_scores_of_dask_are_decided_block_by_block():
    da = pytest.importorskip("dask.array")
    S, Y = scored_labels(900)
    model, rows = SetDecision().fit(S[:300], Y[:300]), []
    model._read = lambda scores, *rest: rows.append(len(scores)) or SetDecision._read(model, scores, *rest)
    lazy = da.from_array(S, chunks=(250, 4))
    found = model.predict(lazy), model.predict_proba(lazy), model.expected_loss(lazy)
    assert not rows, "nothing is computed before it is asked for"
    promise = model.promise(S[300:], Y[300:], at_most=0.3)
    answered = promise.answers(lazy)
    del rows[:]
    for values, method in zip(found, (model.predict, model.predict_proba, model.expected_loss), strict=True):
        computed = values.compute(scheduler="synchronous")
        assert max(rows) <= 250
        np.testing.assert_array_equal(computed, method(S))
        assert (values.dtype, values.shape) == (computed.dtype, computed.shape)
        del rows[:]
    np.testing.assert_array_equal(answered.compute(scheduler="synchronous"), promise.answers(S))
    some = lazy[lazy[:, 0] > 9]
    for method, shape in ((model.predict, (0, 6)), (model.expected_loss, (0,))):  # a filter may leave empty blocks
        none = method(some).compute(scheduler="synchronous")
        assert (none.shape, none.dtype) == (shape, method(S).dtype)


def test_a_fit_draws_rows_of_dask_arrays(monkeypatch):
    da = pytest.importorskip("dask.array")
    S, Y = scored_labels(900)
    lazy = da.from_array(S, chunks=(250, 6)), da.from_array(Y, chunks=(400, 6))
    plain, all_rows = SetDecision().fit(S, Y), SetDecision().fit(*lazy)
    np.testing.assert_array_equal(plain.predict(S), all_rows.predict(S))
    monkeypatch.setattr("setloss.estimators.set_decision.MOST_SETS", 500)
    drawn = SetDecision().fit(*lazy, sample_weight=np.ones(900))
    assert drawn.calibration_.scale == pytest.approx(plain.calibration_.scale, rel=0.2)
    assert drawn.calibration_.scale != plain.calibration_.scale
    with pytest.raises(ValueError, match="groups"):
        plain.fit(*lazy, groups=np.arange(900))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        plain.fit(lazy[0][lazy[0][:, 0] > 0], Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plain.fit(lazy[0][:100], lazy[1])


def test_features_of_dask_are_decided_block_by_block_too():
    da = pytest.importorskip("dask.array")
    X, Y = one_or_two_labels(100)
    model = SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=2).fit(X, Y)
    lazy = da.from_array(X, chunks=(30, 4))
    for method in (model.predict, model.predict_proba, model.expected_loss):
        found, computed = method(lazy), method(X)
        assert (found.shape, found.dtype) == (computed.shape, computed.dtype)
        np.testing.assert_array_equal(found.compute(scheduler="synchronous"), computed)
