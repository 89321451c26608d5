"""Partitions change nothing: as many as there are, in whatever order, the minimum is that of one process."""

import signal
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import setloss
import setloss.estimators as local
from helpers.children import python
from helpers.estimator_data import frame_data, label_data
from helpers.partitioned import assert_certified, assert_same_problem, lengths, objective, parted
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.operators import Cut, SlackRescaling
from setloss.solvers import Status

MODELS = [
    ("dice", "slack"), ("dice", "bd"), ("dice", "bd-monotone"), ("dice", "margin"), ("jaccard", "lovasz"),
    ("curve3", "bd"), ("curve1", "slack"), ("hamming", "hinge"),
]  # fmt: skip


def fit_bags(X, y, groups, parts, weights=None, **options):
    X, y, groups, weights = parted(lengths(len(y), parts, groups), X, y, groups, weights)
    return SetClassifier(**{"C": 0.5, **options}).fit(X, y, groups=groups, sample_weight=weights)


def fit_sets(X, Y, parts, weights=None, **options):
    X, Y, weights = parted(lengths(len(Y), parts), X, Y, weights)
    return SetClassifier(**{"C": 0.5, **options}).fit(X, Y, sample_weight=weights)


# ---------------------------------------------------------------- the same minimum


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_bags_in_any_number_of_partitions_have_one_minimum(parts):
    X, y, groups = frame_data()
    exact = local.SetClassifier(C=0.5, tol=1e-8, solver="cutting_plane").fit(X, y, groups=groups)
    model = fit_bags(X, y, groups, parts)
    assert_certified(model, objective(model, X, y, groups))
    assert_same_problem(model, exact)
    assert model.solution_.dual <= exact.solution_.primal * (1 + 1e-7)


@pytest.mark.parametrize("parts", [1, 3])
def test_label_sets_in_any_number_of_partitions_have_one_minimum(parts):
    X, Y = label_data(40)
    exact = local.SetClassifier(C=0.5, tol=1e-6).fit(X, Y)
    model = fit_sets(X, 2 * Y - 1, parts)
    assert_certified(model, objective(model, X, Y))
    assert_same_problem(model, exact)
    assert model.coef_.shape == exact.coef_.shape
    assert model.intercept_.shape == exact.intercept_.shape


@pytest.mark.parametrize(("loss", "operator"), MODELS)
def test_every_loss_and_operator_is_certified(loss, operator):
    X, y, groups = frame_data(12)
    options = {"loss": loss, "operator": operator, "scale": 1.5, "C": 0.5, "tol": 1e-2}
    model = fit_bags(X, y, groups, 2, **options)
    assert_certified(model, objective(model, X, y, groups))
    assert_same_problem(model, local.SetClassifier(**options).fit(X, y, groups=groups))


@pytest.mark.parametrize("storage", [np.float32, np.float64, csr_array, lambda X: csr_array(X.astype(np.float32))])
def test_rows_may_be_of_any_kind(storage):
    X, y, groups = frame_data(12)
    X = storage(np.where(np.abs(X) > 0.5, X, 0.0))
    model = fit_bags(X, y, groups, 3)
    assert_certified(model, objective(model, X, y, groups))
    assert_same_problem(model, local.SetClassifier(C=0.5).fit(X, y, groups=groups))


def test_weights_count_and_bags_of_weight_zero_are_left_out():
    X, y, groups = frame_data()
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(y))
    weights[groups < 4] = 0.0
    model = fit_bags(X, y, groups, 7, weights)
    assert_certified(model, objective(model, X, y, groups, weights))
    assert_same_problem(model, local.SetClassifier(C=0.5).fit(X, y, groups=groups, sample_weight=weights))


def test_missing_labels_are_left_out_of_their_sets():
    X, Y = label_data(40)
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
    Y[:9] = np.nan
    weights = np.tile([1.0, 0.0, 3.0, 0.5], 10)
    model = fit_sets(X, Y, 4, weights)
    assert_certified(model, objective(model, X, Y, weights=weights))
    assert_same_problem(model, local.SetClassifier(C=0.5).fit(X, Y, sample_weight=weights))


def test_empty_partitions_do_no_harm():
    X, y, groups = frame_data()
    (first, *rest) = lengths(len(y), 2, groups)
    rows, labels, names = parted((0, first, 0, *rest, 0), X, y, groups)
    model = SetClassifier(C=0.5).fit(rows, labels, groups=names)
    np.testing.assert_array_equal(model.coef_, fit_bags(X, y, groups, 2).coef_)


def test_partitions_whose_rows_are_all_filtered_out():
    X, y, groups = frame_data()
    rows, labels, names = parted(lengths(len(y), 2, groups), X, y, groups)
    model = SetClassifier().fit(rows, labels, groups=names)
    none = rows[:, 0] > X.max()
    rows, labels, names = rows[none], labels[none], names[none]
    assert model.predict(rows).compute().shape == (0,)
    with pytest.raises(ValueError, match="there is nothing to judge"):
        model.score(rows, labels, groups=names)
    with pytest.raises(ValueError, match="there is nothing to train on"):
        SetClassifier().fit(rows, labels, groups=names)


def test_without_groups_every_frame_is_a_bag():
    X, y, _ = frame_data()
    with pytest.warns(match="no groups: every element of y is trained as a set of its own"):
        model = SetClassifier(C=0.5).fit(*parted(lengths(len(y), 3), X, y))
    assert_certified(model, objective(model, X, y, np.arange(len(y))))
    assert len(model.to_local().losses(X, y)) == len(y), "without another warning"


# ---------------------------------------------------------------- an estimator like others


def test_attributes_predictions_and_losses_are_those_of_the_local_model():
    X, y, groups = frame_data()
    labels = np.where(y == 1, "yes", "no")
    arrays = parted(lengths(len(y), 3, groups), X, labels, groups)
    model, here = (
        SetClassifier().fit(*arrays[:2], groups=arrays[2]),
        local.SetClassifier().fit(X, labels, groups=groups),
    )
    plain = model.to_local()
    assert type(plain) is local.SetClassifier
    assert {name for name in vars(here) if name.endswith("_")} <= set(vars(model))
    assert (model.classes_.tolist(), model.n_features_in_) == (here.classes_.tolist(), here.n_features_in_)
    assert model.n_rounds_ >= model.n_iter_
    np.testing.assert_array_equal(model.predict(arrays[0]).compute(), plain.predict(X))
    np.testing.assert_array_equal(model.decision_function(arrays[0]).compute(), plain.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.losses(*arrays[:2], groups=arrays[2]), plain.losses(X, labels, groups=groups))
    assert model.score(*arrays[:2], groups=arrays[2]) == pytest.approx(plain.score(X, labels, groups=groups))


def test_label_sets_predict_like_the_local_model():
    X, Y = label_data(40)
    weights = np.arange(1.0, 41.0)
    arrays = parted(lengths(40, 3), X, Y, weights)
    model = SetClassifier().fit(*arrays[:2])
    plain = model.to_local()
    predicted = model.predict(arrays[0])
    assert predicted.shape == Y.shape
    np.testing.assert_array_equal(predicted.compute(), plain.predict(X))
    np.testing.assert_allclose(model.losses(*arrays[:2]), plain.losses(X, Y))
    assert model.score(*arrays[:2], sample_weight=arrays[2]) == pytest.approx(
        plain.score(X, Y, sample_weight=weights)
    )


def test_parameters_can_be_read_set_and_cloned():
    model = SetClassifier("jaccard", "lovasz", C=3.0, solver="cutting_plane")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(C=4.0).get_params()["C"] == 4.0
    assert set(model.get_params()) == set(local.SetClassifier().get_params())


KILLED = """
import os, sys, warnings
import setloss
from helpers.estimator_data import frame_data
from helpers.partitioned import lengths, parted
from setloss.dask import DaskSetClassifier
warnings.simplefilter("ignore")
X, y, groups = frame_data()
data = parted(lengths(len(y), 3, groups), X, y, groups)
model = DaskSetClassifier(C=0.5, warm_start=True, max_iter=8).fit(*data[:2], groups=data[2])
setloss.save(model.to_local(), sys.argv[1])
os.kill(os.getpid(), 9)
"""


def test_a_killed_process_goes_on_from_its_last_model_in_fewer_iterations(tmp_path):
    X, y, groups = frame_data()
    file = tmp_path / "model.skops"
    assert python(KILLED, file).returncode == -signal.SIGKILL
    saved = setloss.load(file)
    model = SetClassifier(**saved.get_params()).set_params(max_iter=1000)
    model.solution_ = saved.solution_
    rows, labels, names = parted(lengths(len(y), 5, groups), X, y, groups)  # other partitions, the same problem
    model.fit(rows, labels, groups=names)
    assert_certified(model, objective(model, X, y, groups))
    assert model.solution_.primal <= saved.solution_.primal
    assert model.n_iter_ < fit_bags(X, y, groups, 3).n_iter_


def test_without_a_client_only_what_is_persisted_is_computed_once():
    X, y, groups = frame_data()
    rows, *rest = parted(lengths(len(y), 3, groups), X, y, groups)
    computed = []

    def compute(block):
        computed.append(block.shape)
        return 2 * block

    lazy = rows.map_blocks(compute, dtype=float, meta=np.empty((0, 0)))
    model = SetClassifier(tol=1e-2, solver="cutting_plane").fit(lazy, rest[0], groups=rest[1])
    assert len(computed) > model.n_rounds_  # docs/training.md says so
    computed.clear()
    again = SetClassifier(tol=1e-2, solver="cutting_plane").fit(lazy.persist(), rest[0], groups=rest[1])
    assert len(computed) == 3
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_label_sets_of_another_number_are_refused():
    X, Y = label_data(40)
    model = fit_sets(X, Y, 2)
    with pytest.raises(ValueError, match=r"partition [01]: y has shape .*the model gives labels of shape"):
        model.score(*parted(lengths(len(Y), 2), X, np.nan_to_num(Y[:, :1])))


# ---------------------------------------------------------------- a surrogate of the user's own


@dataclass(frozen=True)
class Own(SlackRescaling):
    """Slack rescaling that no plan knows."""

    certain: bool = True

    def cut_ordered(self, ordered):
        found = super().cut_ordered(ordered)
        return Cut(found.offset, found.slope, exact=self.certain)


@pytest.mark.filterwarnings("ignore::setloss.plans.build.SlowSurrogateWarning")
def test_it_trains_to_the_certified_minimum_of_the_compiled_one():
    X, y, groups = frame_data(12)
    model = fit_bags(X, y, groups, 3, operator=Own)
    assert model.solution_.status is Status.CONVERGED
    assert_same_problem(model, local.SetClassifier(operator="slack", scale=2.0, C=0.5).fit(X, y, groups=groups))


@pytest.mark.filterwarnings("ignore::setloss.plans.build.SlowSurrogateWarning")
def test_inexact_cuts_certify_nothing():
    with pytest.warns(ConvergenceWarning, match="no duality gap is certified"):
        model = fit_bags(*frame_data(12), 3, operator=partial(Own, certain=False))
    assert model.solution_.status is Status.UNCERTIFIED
