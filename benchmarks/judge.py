"""An own judge of the library, written apart from its tests: ``python -m benchmarks.judge [--cases 60000]``.

Every expected number is enumeration over all sets of mistakes, all orders or all label vectors, in plain NumPy from
the formulas of the paper; a linear program over all subsets for D. Nothing is imported from `tests`, and the library
only gives the answers that are judged. Prints the number of cases and the largest error of each part; the exit code
is 1 if any case failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, permutations

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import setloss
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky
from setloss.decisions import decide
from setloss.estimators import BagClassifier, SetClassifier
from setloss.operators import operator_named
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Status

Generator = np.random.Generator
Formula = Callable[[int, int, int, int], float]
TOLERANCE = 1e-9


# ---------------------------------------------------------------- losses, from their definitions


def tversky(a: float, b: float, zero_division: float) -> Formula:
    def value(fn: int, fp: int, m: int, _r: int) -> float:
        below = (m - fn) + a * fp + b * fn
        return 1 - (m - fn) / below if below > 0 else 1 - zero_division

    return value


def curve(knots: list[tuple[float, float]]) -> Formula:
    return lambda fn, fp, m, r: float(np.interp((fn + fp) / (m + r), *zip(*knots, strict=True)))


def draw_loss(rng: Generator, zero_division: bool = False) -> tuple[setloss.Loss, Formula]:
    """A loss of the library and the formula it stands for."""
    z = float(rng.choice([0.0, 0.3, 1.0])) if zero_division else 1.0
    kind = rng.integers(6)
    if kind == 0:
        return Dice(z), tversky(0.5, 0.5, z)
    if kind == 1:
        return Jaccard(z), tversky(1, 1, z)
    if kind == 2:
        a, b = (float(x) for x in rng.choice([0.0, 0.1, 0.5, 0.7, 1.0, 2.0], 2))
        return Tversky(a, b, z), tversky(a, b, z)
    if kind == 3:
        beta = float(rng.choice([0.0, 0.5, 1.0, 2.0]))
        return FBeta(beta, z), tversky(1 / (1 + beta**2), beta**2 / (1 + beta**2), z)
    if kind == 4:
        fn_weight, fp_weight = np.round(rng.uniform(0, 2, 2), 2).tolist()
        return Hamming(False, fn_weight, fp_weight), lambda fn, fp, m, r: fn_weight * fn + fp_weight * fp
    shares = np.unique(np.concatenate(([0, 1], np.round(rng.random(3), 2))))
    costs = [0.0, *np.round(rng.random(len(shares) - 1), 2)]
    if zero_division:
        costs = sorted(costs)  # decisions by the largest scores need losses that do not fall
    knots = [(float(s), float(c)) for s, c in zip(shares, costs, strict=True)]
    return CostCurve(tuple(knots)), curve(knots)


def subsets(p: int) -> np.ndarray:
    """All sets as rows of booleans; element i is bit i."""
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def values_on_sets(formula: Formula, truth: np.ndarray) -> np.ndarray:
    m = int(truth.sum())
    return np.array(
        [formula(int(A[truth].sum()), int(A[~truth].sum()), m, len(truth) - m) for A in subsets(len(truth))]
    )


# ---------------------------------------------------------------- D, by a linear program over all subsets


def second_differences(p: int) -> np.ndarray:
    """Rows with l(A + i + j) - l(A + i) - l(A + j) + l(A)."""
    rows = []
    for i, j in combinations(range(p), 2):
        for A in range(2**p):
            if not A >> i & 1 and not A >> j & 1:
                row = np.zeros(2**p)
                row[[A | 1 << i | 1 << j, A]] = 1
                row[[A | 1 << i, A | 1 << j]] = -1
                rows.append(row)
    return np.array(rows).reshape(-1, 2**p)


def least_sum(values: np.ndarray, p: int) -> float:
    """The minimum of sum_A g(A) over supermodular, non-negative g with l - g submodular."""
    K = second_differences(p)
    upper = np.concatenate([-K, -K]) if len(K) else np.zeros((1, 2**p))
    bounds = np.concatenate([np.zeros(len(K)), -(K @ values)]) if len(K) else np.zeros(1)
    solved = linprog(np.ones(2**p), A_ub=upper, b_ub=bounds, bounds=[(0, 0), *[(0, None)] * (2**p - 1)])
    assert solved.status == 0, solved.message
    return float(solved.fun)


def judge_decomposition(rng: Generator) -> float:
    """A loss or any table: f + g = l, the laws of f and g, and the least sum."""
    p = int(rng.integers(1, 6))
    if rng.random() < 0.5:
        loss, formula = draw_loss(rng)
        truth = rng.random(p) < 0.5
        values = values_on_sets(formula, truth)
        function = loss.set_function(truth)
    else:
        values = np.round(4 * rng.normal(size=2**p)) / 4 * 10.0 ** rng.integers(-3, 4)
        values[0] = 0
        function = setloss.SetFunction.from_callable(lambda A: values[sum(1 << i for i in A)], p)
    parts = setloss.decompose(function)
    f, g = parts.submodular(subsets(p)), parts.supermodular(subsets(p))
    unit = float(np.abs(values).max()) or 1.0
    K = second_differences(p)
    broken = [np.abs(f + g - values).max(), -g.min(), abs(g[0])]
    if len(K):
        broken += [(K @ f).max(), -(K @ g).min()]
    return max(max(broken), abs(g.sum() - least_sum(values, p)) * 2.0**-p) / unit


# ---------------------------------------------------------------- operators


def worst(values: np.ndarray, margins: np.ndarray, scale: float, is_margin: bool) -> float:
    total = subsets(len(margins)) @ margins
    return float(np.max(values - scale * total if is_margin else values * (1 - scale * total)))


def lovasz(values: np.ndarray, margins: np.ndarray) -> float:
    """The largest sum over all orders of the elements; the positive part inside where f is increasing."""
    p, s = len(margins), 1 - margins
    rising = all(values[A | 1 << i] >= values[A] - 1e-12 for A in range(2**p) for i in range(p))
    s = np.maximum(s, 0) if rising else s
    best = -np.inf
    for order in permutations(range(p)):
        chain = np.concatenate(([0], np.cumsum([1 << i for i in order])))
        best = max(best, float(np.diff(values[chain]) @ s[list(order)]))
    return max(best, 0.0)


def draw_margins(rng: Generator, p: int) -> np.ndarray:
    margins = rng.normal(size=p) * rng.choice([0.1, 1.0, 1.0, 20.0]) + rng.choice([0.0, 1.0, -1.0])
    return np.round(2 * margins) / 2 if rng.random() < 0.3 else margins


def surrogate_of(
    loss: setloss.Loss, values: np.ndarray, truth: np.ndarray, operator: str, scale: float
) -> Callable[[np.ndarray], float]:
    """The surrogate at any margins, by enumeration."""
    if operator == "lovasz":
        return lambda m: lovasz(values, m)
    if operator in ("slack", "margin"):
        return lambda m: worst(values, m, scale, operator == "margin")
    parts = setloss.decompose(loss.set_function(truth))  # judged by `judge_decomposition`
    f, g = parts.submodular(subsets(len(truth))), parts.supermodular(subsets(len(truth)))
    return lambda m: lovasz(f, m) + worst(g, m, scale, is_margin=False)


def draw_operator(
    rng: Generator, families: bool = False
) -> tuple[setloss.Loss, np.ndarray, np.ndarray, str, float, Callable[[np.ndarray], float]]:
    """With `families` L is for losses that are submodular whatever the labels are, which is what networks take."""
    loss, formula = draw_loss(rng)
    p = int(rng.integers(1, 7))
    truth = rng.random(p) < rng.random()
    values = values_on_sets(formula, truth)
    K = second_differences(p)
    submodular = bool(not len(K) or (K @ values).max() <= 1e-12)
    if families:
        submodular = isinstance(loss, Jaccard | Hamming)
    names = ["slack", "margin", "bd"] + ["lovasz"] * submodular
    operator, scale = str(rng.choice(names)), float(rng.choice([0.5, 1.0, 2.0]))
    return loss, truth, values, operator, scale, surrogate_of(loss, values, truth, operator, scale)


def judge_operator(rng: Generator) -> float:
    """The value, and the cut: tight at its margins, below the surrogate at others; by operators and by kernels."""
    loss, truth, values, operator, scale, expected = draw_operator(rng)
    m, other = draw_margins(rng, len(truth)), draw_margins(rng, len(truth))
    here, there = expected(m), expected(other)
    unit = (1 + float(np.abs(values).max())) * (1 + np.abs(m).sum() + np.abs(other).sum())
    cut = operator_named(operator, scale)(loss.set_function(truth)).cut(m)
    batch = batch_surrogate(loss, truth, [0, len(truth)], operator, scale).cuts(m)
    found = [
        abs(cut(m) - here),
        cut(other) - there,
        abs(float(batch.values[0]) - here),
        abs(float(batch.offsets[0] - batch.slopes @ m) - here),
        float(batch.offsets[0] - batch.slopes @ other) - there,
    ]
    return max(found) / unit


def judge_torch(rng: Generator) -> float:
    """Values of `set_loss` in float64, and the gradient as a minorant."""
    import torch

    from setloss.nn import set_loss

    loss, truth, values, operator, scale, expected = draw_operator(rng, families=True)
    sign = np.where(truth, 1.0, -1.0)
    m, other = draw_margins(rng, len(truth)), draw_margins(rng, len(truth))
    logits = torch.tensor((sign * m)[None], requires_grad=True)
    found = set_loss(
        logits, torch.tensor(truth[None]), loss=loss, operator=operator, scale=scale, reduction="none", absent="keep"
    )
    found.sum().backward()
    slope = logits.grad.numpy()[0]
    unit = (1 + float(np.abs(values).max())) * (1 + np.abs(m).sum() + np.abs(other).sum())
    below = float(found.detach().sum() + slope @ (sign * (other - m)))
    return max(abs(float(found.detach().sum()) - expected(m)), below - expected(other)) / unit


# ---------------------------------------------------------------- decisions


def judge_decision(rng: Generator) -> float:
    """The least expected loss over all sets under the count model, and that of the set returned."""
    loss, formula = draw_loss(rng, zero_division=True)
    p = int(rng.integers(1, 6))
    scores = draw_margins(rng, p)
    potentials = rng.normal(size=p + 1) * 2 if rng.random() < 0.7 else None
    if potentials is not None and rng.random() < 0.3:
        potentials[rng.integers(p + 1)] = -np.inf
    found = decide(scores[None], loss, scores="log-odds", counts=potentials)
    sets = subsets(p)
    sizes = sets.sum(1)
    weights = sets @ scores + (0 if potentials is None else potentials[sizes])
    chances = np.exp(weights - weights.max())
    chances /= chances.sum()
    expected = np.array(
        [
            sum(
                chance * formula(int((y & ~B).sum()), int((B & ~y).sum()), int(y.sum()), int((~y).sum()))
                for y, chance in zip(sets, chances, strict=True)
                if chance > 0
            )
            for B in sets
        ]
    )
    chosen = int(found.sets[0] @ (1 << np.arange(p)))
    least = expected.min()
    smallest = sizes[expected <= least * (1 + 1e-14)].min()  # ties are for the smallest set
    wrong_tie = float(sizes[chosen] > smallest and expected[chosen] >= least)
    error = max(abs(float(found.expected_loss[0]) - least), expected[chosen] - least) / (1 + expected.max())
    return max(error, wrong_tie)


# ---------------------------------------------------------------- fits


@dataclass(frozen=True)
class Training:
    """min over W of 1/2 |W|^2 + C sum_i weight_i B_i(m_i(W)); element e has row rows[e] of X and task tasks[e]."""

    X: np.ndarray
    constant: float
    truth: np.ndarray
    rows: np.ndarray
    tasks: np.ndarray
    bags: np.ndarray
    costs: np.ndarray
    surrogates: list[Callable[[np.ndarray], float]]

    def objective(self, W: np.ndarray) -> float:
        wide = np.hstack([self.X, np.full((len(self.X), 1), self.constant)])
        margins = np.where(self.truth, 1, -1) * np.sum(wide[self.rows] * W[self.tasks], axis=1)
        values = [B(margins[self.bags == i]) for i, B in enumerate(self.surrogates)]
        return float(np.sum(W**2) / 2 + self.costs @ values)


def judge_fit(rng: Generator) -> float:
    """P of the model is its primal value, and no weights, those of another solver among them, are below the dual."""
    loss, formula = draw_loss(rng)
    names = ["slack", "margin", "bd"] + ["lovasz"] * isinstance(loss, Jaccard | Hamming)
    operator, scale, C = str(rng.choice(names)), float(rng.choice([1.0, 2.0])), float(10 ** rng.uniform(-2, 1))
    n, p, d = (int(size) for size in rng.integers([2, 1, 1], [7, 5, 5]))
    is_labels, constant = bool(rng.random() < 0.5), float(rng.choice([0.0, 1.0, 3.0]))
    present = rng.random((n, p)) < 0.8
    present[:, 0] = True
    bags, tasks = np.nonzero(present)
    rows = bags if is_labels else np.arange(len(bags))
    X = rng.normal(size=(rows.max() + 1, d)) * 10 ** rng.uniform(-1, 1)
    truth, weights = rng.random(len(bags)) < rng.random(), rng.uniform(0.5, 2, n)
    truth[[0, -1]] = True, False  # both classes, as training asks
    surrogates = [
        surrogate_of(loss, values_on_sets(formula, here), here, operator, scale)
        for here in (truth[bags == i] for i in range(n))
    ]
    tasks = tasks if is_labels else np.zeros_like(bags)
    training = Training(X, constant, truth, rows, tasks, bags, C * weights, surrogates)
    tol, solvers = (
        float(rng.choice([1e-2, 1e-4])),
        rng.permutation(["auto", "cutting_plane", "frank_wolfe", "n_slack"]),
    )
    options = {"loss": loss, "operator": operator, "scale": scale, "C": C, "max_iter": 500}
    options |= {"intercept_scaling": constant} if constant else {"fit_intercept": False}
    Z = csr_array(X) if rng.random() < 0.5 else X

    def fitted(solver: str, tol: float) -> SetClassifier | BagClassifier:
        if is_labels:
            Y = np.full((n, p), np.nan)
            Y[bags, tasks] = truth
            return SetClassifier(solver=solver, tol=tol, **options).fit(Z, Y, sample_weight=weights)
        model = BagClassifier(solver=solver, tol=tol, **options)
        return model.fit(Z, truth, groups=bags, sample_weight=weights[bags])

    def weights_of(model: SetClassifier | BagClassifier) -> np.ndarray:
        bias = np.reshape(model.intercept_, (-1, 1)) / (constant or 1.0)
        return np.hstack([np.atleast_2d(model.coef_), bias])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, other = fitted(str(solvers[0]), tol), fitted(str(solvers[1]), 1e-7)
    found, W = model.solution_, weights_of(model)
    elsewhere = [
        weights_of(other),
        np.zeros_like(W),
        *(W + step * rng.normal(size=W.shape) for step in (1e-3, 0.1, 1)),
    ]
    lowest = min(training.objective(point) for point in elsewhere)
    wrong_status = (found.primal - found.dual <= tol * found.primal) != (found.status is Status.CONVERGED)
    unit = max(found.primal, 1e-300)
    return max(abs(training.objective(W) - found.primal) / unit, (found.dual - lowest) / unit, float(wrong_status))


PARTS = {
    "decompositions": (judge_decomposition, 0.08),
    "operators": (judge_operator, 0.4),
    "decisions": (judge_decision, 0.25),
    "torch": (judge_torch, 0.25),
    "fits": (judge_fit, 0.02),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=60_000, help="cases of all parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--case", type=int, help="one case of a part, as a failure names it")
    options = parser.parse_args()
    failed = 0
    for name, (judge, share) in PARTS.items():
        if options.only not in (None, name):
            continue
        began, largest, wrong = time.process_time(), 0.0, 0
        cases = range(int(options.cases * share)) if options.case is None else [options.case]
        for case in cases:
            try:
                error = judge(np.random.default_rng([options.seed, len(name), case]))
            except Exception as problem:
                error, said = np.inf, f"{type(problem).__name__}: {problem}"
            else:
                said = f"error {error:.1e}"
            if not error <= TOLERANCE:
                wrong += 1
                print(f"FAILED --only {name} --seed {options.seed} --case {case}: {said}", flush=True)
            else:
                largest = max(largest, error)
        seconds = time.process_time() - began
        print(
            f"{name:15} {len(cases):6d} cases, {wrong} failed, largest error {largest:.1e}, {seconds:.0f} CPU s",
            flush=True,
        )
        failed += wrong
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
