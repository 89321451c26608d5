"""What is right, from the definitions: enumeration over sets, orders and label vectors, for `benchmarks.judge`.

Plain NumPy from the formulas of the paper; for D a linear program over all subsets, or fractions; for fits SciPy's
solver, which is given every plane. Nothing is imported from `tests`; of the library only what is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize

import setloss
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, Tversky
from setloss.losses import from_counts

Array = np.ndarray
Generator = np.random.Generator
Formula = Callable[[int, int, int, int], float]


# ---------------------------------------------------------------- losses, from their definitions


def tversky(a: float, b: float, zero_division: float) -> Formula:
    def value(fn: int, fp: int, m: int, _r: int) -> float:
        below = (m - fn) + a * fp + b * fn
        return 1 - (m - fn) / below if below > 0 else 1 - zero_division

    return value


def curve(knots: list[tuple[float, float]]) -> Formula:
    return lambda fn, fp, m, r: float(np.interp((fn + fp) / (m + r), *zip(*knots, strict=True)))


def draw_loss(rng: Generator, zero_division: bool = False) -> tuple[Any, Formula]:
    """A loss of the library and the formula it stands for."""
    z = float(rng.choice([0.0, 0.3, 1.0])) if zero_division else 1.0
    kind = rng.integers(7)
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
    if kind == 5:
        table = np.round(rng.random((8, 8)), 1)
        table[0, 0] = 0
        if rng.random() < 0.5:  # decisions by the largest scores are for losses that do not fall
            table = np.maximum.accumulate(np.maximum.accumulate(table, axis=0), axis=1)
        return from_counts(lambda fn, fp, m, r: table[fn, fp] * (1 + m)), lambda fn, fp, m, r: table[fn, fp] * (1 + m)
    shares = np.unique(np.concatenate(([0, 1], np.round(rng.random(3), 2))))
    costs = [0.0, *np.round(rng.random(len(shares) - 1), 2)]
    knots = [(float(s), float(c)) for s, c in zip(shares, costs, strict=True)]
    return CostCurve(tuple(knots)), curve(knots)


@cache
def subsets(p: int) -> Array:
    """All sets as rows of booleans; element i is bit i."""
    return (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(bool)


def values_on_sets(formula: Formula, truth: Array) -> Array:
    m = int(truth.sum())
    tallies = [(int(A[truth].sum()), int(A[~truth].sum())) for A in subsets(len(truth))]
    return np.array([formula(fn, fp, m, len(truth) - m) for fn, fp in tallies])


def set_function(values: Array, p: int) -> setloss.SetFunction:
    return setloss.SetFunction.from_callable(lambda A: values[sum(1 << i for i in A)], p)


# ---------------------------------------------------------------- D


@cache
def second_differences(p: int) -> Array:
    """Rows with l(A + i + j) - l(A + i) - l(A + j) + l(A)."""
    rows = [np.zeros(2**p)]
    for i, j in combinations(range(p), 2):
        for A in range(2**p):
            if not A >> i & 1 and not A >> j & 1:
                rows.append(np.zeros(2**p))
                rows[-1][[A | 1 << i | 1 << j, A]] = 1
                rows[-1][[A | 1 << i, A | 1 << j]] = -1
    return np.array(rows)


def least(cost: Array, values: Array, p: int, sum_at_most: float = 1e6) -> float:
    """The minimum of <cost, g> over supermodular, non-negative g with l - g submodular, of a bounded sum."""
    K = second_differences(p)
    upper = np.concatenate([-K, -K, np.ones((1, 2**p))])
    bounds = np.concatenate([np.zeros(len(K)), -(K @ values), [sum_at_most]])
    solved = linprog(cost, A_ub=upper, b_ub=bounds, bounds=[(0, 0), *[(0, None)] * (2**p - 1)])
    assert solved.status == 0, solved.message
    return float(solved.fun)


@dataclass
class ExactProgram:
    """D over the cells of equal counts, by the simplex method in fractions: ``min w g, K g >= r, g >= 0``.

    Each row of the tableau is a basic variable as ``b - sum_j a_j x_j``; variables are the cells, then the surpluses.
    """

    weights: list[int]
    rows: list[list[Fraction]]
    basic: list[int]
    others: list[int]

    @classmethod
    def of(cls, table: Array) -> ExactProgram:
        """The program of a table of fractions, from the second differences over all subsets."""
        shape, p = table.shape, sum(table.shape) - table.ndim
        group = np.repeat(np.arange(table.ndim), [n - 1 for n in shape])
        counts = [tuple(int(n) for n in np.bincount(group[A], minlength=table.ndim)) for A in subsets(p)]
        cells = sorted(set(counts) - {(0,) * table.ndim})
        number = {cell: j for j, cell in enumerate(cells)}
        rows = {}
        for A, (i, j) in product(range(2**p), combinations(range(p), 2)):
            if not A >> i & 1 and not A >> j & 1:
                corners = [counts[B] for B in (A, A | 1 << i | 1 << j, A | 1 << i, A | 1 << j)]
                row, bend = [Fraction(0)] * len(cells), Fraction(0)
                for corner, sign in zip(corners, (1, 1, -1, -1), strict=True):
                    bend += sign * table[corner]
                    if corner in number:
                        row[number[corner]] -= sign
                rows[tuple(corners)] = [*row, -max(Fraction(0), bend)]
        width = len(cells)
        weights = [counts.count(cell) for cell in cells]
        program = cls(weights, list(rows.values()), [*range(width, width + len(rows))], [*range(width)])
        program.solve()
        return program

    def reduced(self, costs: Sequence[Any]) -> list[Fraction]:
        """Reduced costs of the variables that are not basic, for costs of the cells."""
        prices = [Fraction(costs[k]) if k < len(costs) else Fraction(0) for k in self.others]
        for k, row in zip(self.basic, self.rows, strict=True):
            if k < len(costs) and costs[k]:
                prices = [price - costs[k] * a for price, a in zip(prices, row, strict=False)]
        return prices

    def solve(self) -> None:
        """The dual simplex method from g = 0, by Bland's rule: the weights are positive."""
        while True:
            short = [(self.basic[i], i) for i, row in enumerate(self.rows) if row[-1] < 0]
            if not short:
                return
            i, prices = min(short)[1], self.reduced(self.weights)
            ratios = [(prices[j] / -a, self.others[j], j) for j, a in enumerate(self.rows[i][:-1]) if a < 0]
            self.pivot(i, min(ratios)[2])

    def least(self, costs: Sequence[Any]) -> Fraction:
        """The least ``costs g`` among the optima: only variables without a reduced weight may enter."""
        free = {k for k, price in zip(self.others, self.reduced(self.weights), strict=True) if price == 0}
        free |= set(self.basic)
        while True:
            prices = self.reduced(costs)
            falling = [(k, j) for j, k in enumerate(self.others) if k in free and prices[j] < 0]
            if not falling:
                return sum((c * g for c, g in zip(costs, self.values(), strict=True)), Fraction(0))
            j = min(falling)[1]
            steps = [(row[-1] / row[j], self.basic[i], i) for i, row in enumerate(self.rows) if row[j] > 0]
            self.pivot(min(steps)[2], j)

    def pivot(self, i: int, j: int) -> None:
        """Exchange the basic variable of row i and the variable of column j."""
        unit = self.rows[i][j]
        row = [a / unit for a in self.rows[i]]
        row[j] = 1 / unit
        for k, other in enumerate(self.rows):
            if k != i and other[j]:
                factor = other[j]
                self.rows[k] = [a - factor * b if b else a for a, b in zip(other, row, strict=True)]
                self.rows[k][j] = -factor / unit
        self.rows[i] = row
        self.basic[i], self.others[j] = self.others[j], self.basic[i]

    def values(self) -> list[Fraction]:
        """g of the cells, in the order of the counts."""
        at = dict(zip(self.basic, (row[-1] for row in self.rows), strict=True))
        return [at.get(k, Fraction(0)) for k in range(len(self.weights))]


def spans(table: Array) -> tuple[float, bool]:
    """How far values and positive second differences over all counts span, and whether there are any of the latter.

    Numbers of 16 digits less than the values that they come from are rounding.
    """
    rounding, size = 8 * float(np.finfo(float).eps), np.abs(table)
    numbers, is_bent = [x for x in size.ravel().tolist() if x > rounding * np.max(size)], False
    for b, c in product(range(table.ndim), repeat=2):
        bends, corners = np.diff(np.diff(table, axis=b), axis=c), size
        for axis in (b, c):
            steps = np.arange(corners.shape[axis] - 1)
            corners = np.maximum(corners.take(steps, axis), corners.take(steps + 1, axis))
        positive = bends[bends > rounding * corners].tolist()
        numbers, is_bent = numbers + positive, is_bent or bool(positive)
    return float(max(numbers, default=1) / min(numbers, default=1)), is_bent


# ---------------------------------------------------------------- operators: sums of maxima over planes


@dataclass(frozen=True)
class Planes:
    """B(m) = sum over the families of max_k offsets[k] - <slopes[k], m>."""

    families: list[tuple[Array, Array]]

    def __call__(self, margins: Array) -> float:
        return float(sum(np.max(offsets - slopes @ margins) for offsets, slopes in self.families))


def rescaled(values: Array, scale: float, is_margin: bool) -> tuple[Array, Array]:
    sets = subsets(len(values).bit_length() - 1)
    return values, scale * sets * (1 if is_margin else values[:, None])


@cache
def orders(p: int) -> Array:
    return np.array(list(permutations(range(p))), dtype=np.intp).reshape(-1, p)


def lovasz(values: Array) -> tuple[Array, Array]:
    """All orders, and their beginnings where f is increasing (the positive part inside); else all or nothing."""
    p = len(values).bit_length() - 1
    rising = all(values[A | 1 << i] >= values[A] - 1e-12 for A in range(2**p) for i in range(p))
    chains = np.pad(np.cumsum(1 << orders(p), axis=1), ((0, 0), (1, 0)))
    gains = np.diff(values[chains], axis=1)
    lengths = np.arange(p + 1) if rising else np.array([0, p])
    kept = gains[:, None, :] * (np.arange(p) < lengths[:, None])
    slopes = np.zeros_like(kept)
    np.put_along_axis(slopes, np.broadcast_to(orders(p)[:, None, :], kept.shape), kept, axis=2)
    slopes = slopes.reshape(-1, p)
    return slopes.sum(axis=1), slopes


def surrogate_of(function: setloss.SetFunction, values: Array, operator: str, scale: float) -> Planes:
    """The surrogate by enumeration."""
    p = function.p
    if operator == "hinge":
        return Planes([lovasz(subsets(p).sum(axis=1).astype(float))])
    if operator == "lovasz":
        return Planes([lovasz(values)])
    if operator in ("slack", "margin"):
        return Planes([rescaled(values, scale, operator == "margin")])
    parts = setloss.decompose(function)  # judged by `judge_decomposition`
    f, g = parts.submodular(subsets(p)), parts.supermodular(subsets(p))
    if operator == "bd-monotone":
        f = np.array([min(f[B] for B in range(2**p) if A & B == A) for A in range(2**p)])
    return Planes([lovasz(f), rescaled(g, scale, is_margin=False)])


def draw_operator(rng: Generator, loss: Any) -> tuple[str, float]:
    """L for losses that are submodular whatever the labels are, closures where f is never negative."""
    names = ["slack", "margin", "bd", "hinge"] + ["lovasz"] * isinstance(loss, Jaccard | Hamming)
    names += ["bd-monotone"] * (isinstance(loss, Dice | Jaccard | Hamming))
    return str(rng.choice(names)), float(rng.choice([0.5, 1.0, 2.0]))


def draw_margins(rng: Generator, p: int) -> Array:
    margins = rng.normal(size=p) * rng.choice([0.1, 1.0, 1.0, 20.0]) + rng.choice([0.0, 1.0, -1.0])
    return np.round(2 * margins) / 2 if rng.random() < 0.3 else margins


# ---------------------------------------------------------------- decisions, fits


def expected_losses(formula: Formula, chances: Array, p: int) -> Array:
    """The expected loss of every set, given the chances of every label vector."""
    sets = subsets(p)
    likely = [(y, chance) for y, chance in zip(sets, chances, strict=True) if chance > 0]

    def cost(y: Array, B: Array) -> float:
        return formula(int((y & ~B).sum()), int((B & ~y).sum()), int(y.sum()), int((~y).sum()))

    return np.array([sum(chance * cost(y, B) for y, chance in likely) for B in sets])


@dataclass(frozen=True)
class Training:
    """min over W of 1/2 |W|^2 + C sum_i weight_i B_i(m_i(W)); element e has row rows[e] of X and task tasks[e]."""

    features: Array
    truth: Array
    tasks: Array
    bags: Array
    costs: Array
    surrogates: list[Planes]

    @property
    def margins(self) -> Array:
        """The matrix that maps parameters, flat, to the margins of all elements."""
        n, d = self.features.shape
        wide = np.zeros((n, self.tasks.max() + 1, d))
        wide[np.arange(n), self.tasks] = np.where(self.truth, 1, -1)[:, None] * self.features
        return wide.reshape(n, -1)

    def objective(self, W: Array) -> float:
        margins = self.margins @ np.ravel(W)
        values = [B(margins[self.bags == i]) for i, B in enumerate(self.surrogates)]
        return float(np.sum(W**2) / 2 + self.costs @ values)

    def minimum(self) -> Array:
        """The best W that SciPy finds, with a variable for every maximum and a constraint for every plane."""
        M, rows, offsets, costs = self.margins, [], [], []
        families = [(i, *family) for i, B in enumerate(self.surrogates) for family in B.families]
        for k, (i, offset, slope) in enumerate(families):
            planes = np.unique(np.column_stack([offset, slope @ M[self.bags == i]]), axis=0)
            rows.append(np.hstack([planes[:, 1:], np.tile(np.eye(len(families))[k], (len(planes), 1))]))
            offsets.append(planes[:, 0])
            costs.append(self.costs[i])
        A, b, size = np.vstack(rows), np.concatenate(offsets), M.shape[1]
        start = np.concatenate([np.zeros(size), [o.max() for o in offsets]])
        price = np.concatenate([np.zeros(size), costs])
        curved = np.arange(len(start)) < size
        found = minimize(
            lambda x: np.sum(x[:size] ** 2) / 2 + price @ x,
            start,
            jac=lambda x: curved * x + price,
            constraints={"type": "ineq", "fun": lambda x: A @ x - b, "jac": lambda x: A},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 200},
        )
        return np.asarray(found.x[:size])
