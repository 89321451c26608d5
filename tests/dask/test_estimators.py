"""Partitions change nothing: as many as there are, in whatever order, the minimum is that of one process."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import setloss
import setloss.estimators as local
from helpers.estimator_data import frame_data, label_data, named, objective
from helpers.partitioned import assert_certified, assert_same_problem, in_parts, lengths
from setloss.dask import DaskSetClassifier as SetClassifier
from setloss.operators import Cut, SlackRescaling
from setloss.solvers import Status

MODELS = [
    ("dice", "slack"), ("dice", "bd"), ("dice", "bd-monotone"), ("dice", "margin"), ("jaccard", "lovasz"),
    ("curve3", "bd"), ("curve1", "slack"), ("hamming", "hinge"),
]  # fmt: skip
F, y, groups = BAGS = frame_data()
X, Y = label_data(40)
FEW = frame_data(12)
THIN = np.where(np.abs(FEW[0]) > 0.5, FEW[0], 0.0)
DRAWN = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(y))
GAPS = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
GAPS[:9] = np.nan


def fitted(parts, *data, **options):
    return SetClassifier(**{"C": 0.5} | options).fit(**in_parts(parts, *data))


# ---------------------------------------------------------------- the same minimum


@pytest.mark.parametrize(
    ("parts", "data", "options"),
    [
        *((parts, BAGS, {}) for parts in (1, 3, 7)),
        *((parts, (X, Y), {}) for parts in (1, 3)),
        (3, (X, 2 * Y - 1), {}),
        *((2, FEW, {"loss": loss, "operator": operator, "scale": 1.5, "tol": 1e-2}) for loss, operator in MODELS),
        *((3, (form(THIN.astype(dtype)), *FEW[1:]), {}) for form in (np.asarray, csr_array) for dtype in "fd"),
        (7, (*BAGS, np.where(groups < 4, 0.0, DRAWN)), {}),  # bags of weight 0 are left out
        (4, (X, GAPS, None, np.tile([1.0, 0.0, 3.0, 0.5], 10)), {}),  # and labels that are missing, of their sets
    ],
)
def test_partitions_have_the_certified_minimum_of_one_process(parts, data, options):
    model = fitted(parts, *data, **options)
    assert_certified(model, objective(model, *data))
    exact = local.SetClassifier(**model.get_params()).set_params(tol=1e-6).fit(**named(*data))
    assert_same_problem(model, exact)
    assert (model.coef_.shape, model.intercept_.shape) == (exact.coef_.shape, exact.intercept_.shape)


def test_empty_partitions_do_no_harm():
    first, *rest = lengths(len(y), 2, groups)
    np.testing.assert_array_equal(fitted((0, first, 0, *rest, 0), *BAGS).coef_, fitted(2, *BAGS).coef_)


def test_partitions_whose_rows_are_all_filtered_out():
    data, model = in_parts(2, *BAGS), fitted(2, *BAGS)
    none = {name: array[data["X"][:, 0] > F.max()] for name, array in data.items()}
    assert model.predict(none["X"]).compute().shape == (0,)
    with pytest.raises(ValueError, match="there is nothing to judge"):
        model.score(**none)
    with pytest.raises(ValueError, match="there is nothing to train on"):
        SetClassifier().fit(**none)


def test_without_groups_every_frame_is_a_bag():
    with pytest.warns(match="no groups: every element of y is trained as a set of its own"):
        model = fitted(3, F, y)
    assert_certified(model, objective(model, F, y, np.arange(len(y))))
    assert len(model.to_local().losses(F, y)) == len(y), "without another warning"


# ---------------------------------------------------------------- an estimator like others


@pytest.mark.parametrize(
    "data", [(F, np.where(y == 1, "yes", "no"), groups), (X, GAPS, None)], ids=["bags", "label sets"]
)
def test_attributes_predictions_and_losses_are_those_of_the_local_model(data):
    weights = np.arange(1.0, 1 + len(data[0]))
    parts = in_parts(3, *data, weights)
    model, here = SetClassifier(), local.SetClassifier().fit(*data[:2], groups=data[2])
    model.fit(**{name: array for name, array in parts.items() if name != "sample_weight"})
    plain = model.to_local()
    assert type(plain) is local.SetClassifier
    assert {name for name in vars(here) if name.endswith("_")} == {name for name in vars(plain) if name.endswith("_")}
    assert (model.classes_.tolist(), model.n_features_in_) == (here.classes_.tolist(), here.n_features_in_)
    assert model.n_rounds_ >= model.n_iter_
    lazy = parts.pop("X")
    for method in ("predict", "decision_function"):
        found, expected = getattr(model, method)(lazy), getattr(plain, method)(data[0])
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found.compute(), expected)
        np.testing.assert_array_equal(getattr(model, method)(data[0]), expected)
    expected = plain.score(*data[:2], groups=data[2], sample_weight=weights)
    assert model.score(lazy, **parts) == pytest.approx(expected)
    del parts["sample_weight"]
    np.testing.assert_allclose(model.losses(lazy, **parts), plain.losses(*data[:2], groups=data[2]))


def test_parameters_can_be_read_set_and_cloned():
    model = SetClassifier("jaccard", "lovasz", C=3.0, solver="cutting_plane")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(C=4.0).get_params()["C"] == 4.0
    assert set(model.get_params()) == set(local.SetClassifier().get_params())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_saved_fit_goes_on_with_other_partitions_in_fewer_iterations(tmp_path):
    file = tmp_path / "model.skops"
    setloss.save(fitted(3, *BAGS, warm_start=True, max_iter=8).to_local(), file)
    saved = setloss.load(file)
    model = SetClassifier(**saved.get_params()).set_params(max_iter=1000)
    model.solution_ = saved.solution_
    model.fit(**in_parts(5, *BAGS))
    assert_certified(model, objective(model, *BAGS))
    assert model.solution_.primal <= saved.solution_.primal
    assert model.n_iter_ < fitted(3, *BAGS).n_iter_


def test_without_a_client_only_what_is_persisted_is_computed_once():
    computed, data = [], in_parts(3, *BAGS)

    def compute(block):
        computed.append(block.shape)
        return 2 * block

    lazy = data.pop("X").map_blocks(compute, dtype=float, meta=np.empty((0, 0)))
    model = SetClassifier(tol=1e-2, solver="cutting_plane").fit(lazy, **data)
    assert len(computed) > model.n_rounds_  # docs/training.md says so
    computed.clear()
    again = SetClassifier(tol=1e-2, solver="cutting_plane").fit(lazy.persist(), **data)
    assert len(computed) == 3
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_label_sets_of_another_number_are_refused():
    model = fitted(2, X, Y)
    with pytest.raises(ValueError, match=r"partition [01]: y has shape .*the model gives labels of shape"):
        model.score(**in_parts(2, X, Y[:, :1]))


# ---------------------------------------------------------------- a surrogate of the user's own


@dataclass(frozen=True)
class Own(SlackRescaling):
    """Slack rescaling that no plan knows."""

    certain: bool = True

    def cut_ordered(self, ordered):
        found = super().cut_ordered(ordered)
        return Cut(found.offset, found.slope, exact=self.certain)


@pytest.mark.filterwarnings("ignore::setloss.plans.build.SlowSurrogateWarning")
def test_it_trains_to_the_minimum_of_the_compiled_one_and_inexact_cuts_certify_nothing():
    model = fitted(3, *FEW, operator=Own)
    assert model.solution_.status is Status.CONVERGED
    compiled = local.SetClassifier(operator="slack", scale=2.0, C=0.5).fit(*FEW[:2], groups=FEW[2])
    assert_same_problem(model, compiled)
    with pytest.warns(ConvergenceWarning, match="no duality gap is certified"):
        model = fitted(3, *FEW, operator=partial(Own, certain=False))
    assert model.solution_.status is Status.UNCERTIFIED
