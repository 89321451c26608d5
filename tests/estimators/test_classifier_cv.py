"""Choosing C: the same choice as a plain loop, bags kept whole."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

from helpers.estimator_data import frame_data, label_data, named
from setloss.estimators import SetClassifier, SetClassifierCV

CS = [0.01, 0.1, 1.0, 10.0]
TIGHT = {"tol": 1e-6, "solver": "cutting_plane"}


def plain_loop(splits, data):
    """The mean loss of every C."""

    def losses(C, train, test):
        inside, outside = (named(*(column[rows] for column in data)) for rows in (train, test))
        return SetClassifier(C=C, **TIGHT).fit(**inside).losses(**outside)

    return [np.concatenate([losses(C, *split) for split in splits]).mean() for C in CS]


@pytest.mark.parametrize(
    ("splitter", "data"),
    [
        (KFold(4), label_data()),
        (GroupKFold(3), frame_data(24)),
        (LeaveOneGroupOut(), (*frame_data(24)[:2], frame_data(24)[2] % 3)),
    ],
)
def test_it_picks_the_C_of_least_loss_as_a_plain_loop_does(splitter, data):
    model = SetClassifierCV(Cs=CS, cv=splitter, **TIGHT).fit(**named(*data))
    means = plain_loop(list(splitter.split(data[0], None, *data[2:])), data)
    np.testing.assert_allclose(model.cv_results_["loss"], means, atol=0.02)
    assert CS[int(np.argmin(model.cv_results_["loss"]))] == model.C_
    assert max(model.cv_results_["gap"]) <= 3e-6
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("count", [3, np.int64(3)])
def test_a_number_of_Cs_spreads_them_from_a_thousandth_to_a_thousand(count):
    X, Y = label_data()
    model = SetClassifierCV(Cs=count, cv=2, tol=0.05).fit(X, Y)
    np.testing.assert_allclose(model.cv_results_["C"], [1e-3, 1.0, 1e3])


def test_ties_go_to_the_smallest_C():
    X, Y = label_data()
    model = SetClassifierCV(Cs=[3.0, 1.0, 2.0], cv=2).fit(X, Y)
    losses = dict(zip(model.cv_results_["C"], model.cv_results_["loss"], strict=True))
    assert min(C for C, loss in losses.items() if loss == min(losses.values())) == model.C_


def test_fits_on_folds_do_not_warn_but_the_last_one_does():
    X, Y = label_data()
    with pytest.warns(ConvergenceWarning) as caught:
        SetClassifierCV(Cs=CS, cv=3, max_iter=3, tol=1e-9).fit(X, Y)
    assert len(caught) == 1


def interrupt(record):
    raise KeyboardInterrupt


def test_an_interrupted_fit_ends_the_search(monkeypatch):
    monkeypatch.setattr("setloss.estimators.set_classifier.report", interrupt)
    with pytest.raises(KeyboardInterrupt):
        SetClassifierCV(Cs=[0.1, 1.0], cv=2, verbose=2).fit(*label_data())


# ---------------------------------------------------------------- weights, jobs, progress


def test_weights_count_in_fits_and_losses():
    X, Y = label_data(40)
    weights = np.where(np.arange(40) < 30, 1.0, 0.0)
    folds = [(np.arange(0, 15), np.arange(15, 40)), (np.arange(15, 40), np.arange(0, 15))]
    inside = [(train[train < 30], test[test < 30]) for train, test in folds]
    weighted = SetClassifierCV(Cs=[0.1, 1.0], cv=folds, **TIGHT).fit(X, Y, sample_weight=weights)
    without = SetClassifierCV(Cs=[0.1, 1.0], cv=inside, **TIGHT).fit(X[:30], Y[:30])
    np.testing.assert_allclose(weighted.cv_results_["loss"], without.cv_results_["loss"], atol=1e-3)
    np.testing.assert_allclose(weighted.coef_, without.coef_, atol=1e-3)
    F, y, groups = frame_data()
    doubled = SetClassifierCV(Cs=[1.0], cv=2).fit(F, y, groups=groups, sample_weight=np.full(len(y), 2.0))
    assert doubled.cv_results_["error"][0] > 0


def test_folds_at_a_time_give_the_same():
    X, Y = label_data()
    with parallel_config("threading"):
        alone, shared = (SetClassifierCV(Cs=[0.1, 1.0], cv=2, n_jobs=jobs).fit(X, Y) for jobs in (None, 2))
    assert alone.cv_results_ == shared.cv_results_


def test_progress_of_the_folds(capsys, caplog):
    caplog.set_level("WARNING", logger="setloss")
    SetClassifierCV(Cs=[0.1, 1.0], cv=2, verbose=1).fit(*label_data())
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["fold 1 of 2", "fold 2 of 2"]
