"""Numbers at the edge: a right answer, or an error or a warning; never a silent NaN or a false certificate.

Objectives are computed again in 50 digits, from the data and from the cuts that the solver kept.
"""

import warnings

import mpmath
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.problems import label_sets, tracks
from helpers.reference import masks
from setloss import CostCurve, Dice, SetFunction, decompose, loss_named
from setloss.decomposition import verify_decomposition
from setloss.estimators import SetClassifier
from setloss.operators import operator_named
from setloss.plans.batch import batch_surrogate
from setloss.setfunctions.properties import verdicts
from setloss.solvers import Limits, Status, solve
from setloss.solvers.plane_qp import solve_plane_qp
from setloss.solvers.visits import active_places

DIGITS = 50
SOLVERS = ("cutting_plane", "frank_wolfe", "n_slack")
SCALES = (1e-12, 1e-6, 1.0, 1e6, 1e12)
COSTS = (1e-8, 1.0, 1e8)
LAYOUTS = {
    "frames": lambda C: tracks("dice", "slack", seed=1, d=3, C=C),
    "labels": lambda C: label_sets("curve2", "margin", C=C),
}


def scaled(case, scale, **changes):
    return type(case)(**(vars(case) | {"X": case.X * scale, "constant": scale} | changes))


def exact(array):
    return [mpmath.mpf(float(x)) for x in np.ravel(array)]


def exact_rows(case):
    return [exact(row) for row in case.matrix]


def exact_objective(case, parameters, rows):
    """P(W) by enumeration of all sets of mistakes."""
    W = exact(parameters)
    margins = [mpmath.fdot(row, W) for row in rows]
    total = mpmath.fdot(W, W) / 2
    for cost, truth, here in case.bags():
        total += mpmath.mpf(float(cost)) * exact_surrogate(case, truth, margins[here])
    return total


def exact_surrogate(case, truth, margins):
    function, best = loss_named(case.loss).set_function(truth), mpmath.mpf(0)
    for mask in masks(len(truth)):
        loss = mpmath.mpf(float(function(mask)))
        total = mpmath.fsum(m for m, wrong in zip(margins, mask, strict=True) if wrong)
        value = loss * (1 - case.scale * total) if case.operator == "slack" else loss - case.scale * total
        best = max(best, value)
    return best


def exact_dual(case, solution, rows):
    """D of the convex combination of cuts that Frank-Wolfe ends with."""
    point, active = solution.state.cuts.point, solution.state.cuts.active
    capacity = point.weights.shape[1]
    total, image = mpmath.mpf(0), [mpmath.mpf(0)] * len(rows[0])
    for i, (cost, _, here) in enumerate(case.bags()):
        weights, offsets = exact(point.weights[i]), exact(point.atom_offsets[i])
        places = active_places.py_func(active, i, case.offsets)
        whole = mpmath.fsum(weights)
        total += mpmath.mpf(float(cost)) * mpmath.fdot(weights, offsets) / whole
        start = here.start * capacity
        block = point.atoms[start : start + capacity * len(places)].reshape(capacity, len(places))
        for place, column in zip(places, block.T, strict=True):
            factor = mpmath.mpf(float(cost)) * mpmath.fdot(weights, exact(column)) / whole
            image = [w + factor * x for w, x in zip(image, rows[here.start + place], strict=True)]
    return total - mpmath.fdot(image, image) / 2


# ------------------------------------------------------------------ training


@pytest.mark.parametrize("C", COSTS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_scale_of_features_and_no_cost_makes_a_false_certificate(layout, scale, C):
    case = scaled(LAYOUTS[layout](C), scale)
    solutions = {name: solve(case.problem, name, Limits(1e-3, 30)) for name in SOLVERS}
    with mpmath.workdps(DIGITS):
        rows = exact_rows(case)
        objectives = {name: exact_objective(case, found.parameters, rows) for name, found in solutions.items()}
        lowest = min(objectives.values())
        for name, found in solutions.items():
            assert np.all(np.isfinite(found.parameters))
            assert abs(objectives[name] - found.primal) <= 1e-9 * found.primal
            assert found.dual <= lowest * (1 + mpmath.mpf("1e-9"))
            assert (found.status is Status.CONVERGED) == (found.gap <= 1e-3)
        bound = exact_dual(case, solutions["frank_wolfe"], rows)
        assert bound <= lowest * (1 + mpmath.mpf("1e-12"))  # its weights are rounded to doubles
        assert abs(bound - solutions["frank_wolfe"].dual) <= 1e-7 * solutions["frank_wolfe"].primal


@pytest.mark.parametrize("solver", ["cutting_plane", "n_slack"])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6])
def test_programs_over_planes_of_large_norm_are_solved(solver, scale):
    """Planes of 1e7 that nearly cancel: the interior-point method needs units in which they are of length one."""
    case = scaled(tracks("dice", "slack", seed=1, d=3), scale)
    assert solve(case.problem, solver, Limits(1e-3, 100)).status is Status.CONVERGED


def test_the_program_over_planes_never_does_worse_than_nothing():
    generator = np.random.default_rng(0)
    for size in (1e-150, 1e-6, 1.0, 1e3, 1e6, 1e150):
        planes, offsets = size * generator.normal(size=(6, 3)), generator.random(6)
        weights, _ = solve_plane_qp(planes, offsets, np.zeros(6, dtype=np.intp))
        image = weights @ planes
        assert weights.min() >= 0
        assert weights.sum() <= 1 + 1e-12
        assert weights @ offsets - 0.5 * image @ image >= 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("same", ["rows", "zero", "contradiction"])
def test_ties_everywhere(solver, same):
    case = tracks("dice", "slack", sizes=(4,) * 8, d=3)
    tied = {"rows": np.ones_like(case.X), "zero": 0 * case.X, "contradiction": np.tile(case.X[:2], (16, 1))}
    truth = np.tile([True, False], 16) if same == "contradiction" else case.truth
    case = type(case)(**(vars(case) | {"X": tied[same], "truth": truth, "costs": np.ones(8)}))
    found = solve(case.problem, solver, Limits(1e-6, 500))
    slow = solver == "frank_wolfe" and same == "rows"  # one direction for all: steps from bag to bag are short
    assert found.status is (Status.ITERATION_LIMIT if slow else Status.CONVERGED)
    with mpmath.workdps(DIGITS):
        objective = exact_objective(case, found.parameters, exact_rows(case))
        assert abs(objective - found.primal) <= 1e-12 * found.primal
        assert objective - found.dual <= (0.1 if slow else 1.001e-6) * objective


SIZES = {np.float32: (1e-40, 1e-12, 1.0, 1e6), np.float64: (1e-300, 1e-12, 1.0, 1e6)}


@pytest.mark.parametrize(("dtype", "scale"), [(dtype, scale) for dtype in SIZES for scale in SIZES[dtype]])
@pytest.mark.parametrize("solver", ["cutting_plane", "frank_wolfe"])
def test_an_estimator_converges_or_warns(scale, dtype, solver):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 3))
    y, X = X[:, 0] + generator.normal(size=40) > 0, (scale * X).astype(dtype)
    model = SetClassifier("dice", solver=solver, max_iter=30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, groups=np.repeat(np.arange(10), 4))
    assert {warning.category for warning in caught} == (set() if model.dual_gap_ <= 1e-3 else {ConvergenceWarning})
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intercept_))
    assert set(model.predict(X)) <= {False, True}


# ------------------------------------------------------------------ surrogates


MARGINS = {
    "huge": [1e300, -1e300, 1e300, -1e300, 0.0],
    "all huge and wrong": [-1e300] * 5,
    "all huge and right": [1e300] * 5,
    "subnormal": [5e-324, -5e-324, 1e-310, -1e-310, 0.0],
    "signed zeros": [-0.0, 0.0, -0.0, 0.0, -0.0],
    "on the kink": [1.0] * 5,
    "beside the kink": [1 - 2**-53, 1 + 2**-52, 1.0, 1 - 2**-53, 1.0],
    "of all sizes": [1e-300, -1e300, 1e-16, 1.0, -1e8],
}


PAIRS = [
    (name, operator)
    for name in ("dice", "jaccard", "hamming", "curve2")
    for operator in ("bd", "slack", "margin", "hinge", "lovasz")
    if operator != "lovasz" or name in ("jaccard", "hamming")
]


@pytest.mark.parametrize("margins", MARGINS.values(), ids=MARGINS)
@pytest.mark.parametrize(("name", "operator"), PAIRS)
def test_kernels_agree_with_the_operators_at_any_margins(name, operator, margins):
    loss, truth, margins = loss_named(name), np.array([1, 1, 0, 0, 1]), np.array(margins)
    value = operator_named(operator, 2.0)(loss.set_function(truth))(margins)
    found = batch_surrogate(loss, truth, [0, 5], operator, 2.0).cuts(margins)
    assert np.isfinite(value)
    assert found.values[0] == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert np.all(np.isfinite(found.slopes))


@pytest.mark.parametrize("bad", [1e301, -1.7e308])
def test_margins_whose_sums_overflow_are_refused(bad):
    with pytest.raises(ValueError, match="element 1 has margin"):
        operator_named("slack", 2.0)(Dice().set_function([1, 0, 1]))(np.array([0.0, bad, 0.0]))


# ------------------------------------------------------------------ decomposition


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-300, 1e-5, 1.0, 1e5, 1e300])
def test_values_of_any_size_are_decomposed(unit):
    curve = CostCurve([(0, 0), (0.25, unit), (0.5, unit), (0.75, 2 * unit), (1, 2 * unit)]).on_counts(8, 0)
    parts = decompose(curve)
    assert parts.certificate.holds
    assert np.all(np.isfinite(parts.supermodular.table))
    np.testing.assert_allclose(
        parts.submodular.table + parts.supermodular.table, curve.table, rtol=1e-12, atol=5e-324
    )


@pytest.mark.parametrize("unit", [1e-300, 1e-5, 1 / 3, 1e5])
def test_a_modular_function_is_its_own_submodular_part_and_judged_so(unit):
    """What is left after the singletons is rounding error, and no scale to measure anything by."""
    table = unit * np.add.outer(2 * np.arange(2), np.arange(3))
    function = SetFunction.from_table(table)
    parts = decompose(function)
    assert not parts.supermodular.table.any()
    assert verify_decomposition(function, parts.supermodular)
    assert verdicts(function)["modular"]
