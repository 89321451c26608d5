"""An own judge of the library, written apart from its tests: ``python -m benchmarks.judge [--cases 60000]``.

Every answer is compared with `benchmarks.enumeration`, which shares no code with the library or its tests. Prints the
number of cases, of those rightly refused, and the largest error of each part; the exit code is 1 if any case
failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import setloss
from benchmarks.enumeration import (
    Array,
    ExactProgram,
    Generator,
    Planes,
    Training,
    draw_loss,
    draw_margins,
    draw_operator,
    expected_losses,
    least,
    lovasz,
    second_differences,
    set_function,
    spans,
    subsets,
    surrogate_of,
    values_on_sets,
)
from setloss import CostCurve
from setloss.decisions import decide, expected_losses_of
from setloss.decisions.count_model import ContradictionError
from setloss.decisions.pixels import decide_pixels
from setloss.decomposition import optimality
from setloss.estimators import SetClassifier
from setloss.losses import from_set_function
from setloss.losses.counts_of_errors import TverskyFamily
from setloss.losses.custom import CallableLoss
from setloss.operators import operator_named
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Status

TOLERANCE = 1e-9
EPS = float(np.finfo(float).eps)


class RefusedError(Exception):
    """What is beyond a stated range was refused, as it should be."""


# ---------------------------------------------------------------- D


def judge_decomposition(rng: Generator) -> float:
    """A loss or any table: f + g = l, the laws of f and g, the least sum, and of several the least sum of squares."""
    p = int(rng.integers(1, 6))
    truth = rng.random(p) < 0.5
    if rng.random() < 0.5:
        loss, formula = draw_loss(rng)
        values, function = values_on_sets(formula, truth), loss.set_function(truth)
    else:
        values = np.round(4 * rng.normal(size=2**p)) / 4 * 10.0 ** rng.integers(-3, 4)
        values[0] = 0
        function = set_function(values, p)
    parts = setloss.decompose(function)
    f, g = parts.submodular(subsets(p)), parts.supermodular(subsets(p))
    unit = float(np.abs(values).max()) or 1.0
    K = second_differences(p)
    broken = [np.abs(f + g - values).max(), -g.min(), abs(g[0]), (K @ f).max(), -(K @ g).min()]
    total = least(np.ones(2**p), values / unit, p)
    broken.append(abs(g.sum() - unit * total) * 2.0**-p)
    if p >= 4 and rng.random() < 0.3:  # g is the projection of 0 onto the optima, to the digits of the solver
        squares = g / unit @ (g / unit)
        shortfall = squares - least(g / unit, values / unit, p, total + 1e-9)
        broken.append(unit * max(0.0, shortfall - 1e-6 * (1 + squares)))
    return float(max(broken)) / unit


def judge_wide(rng: Generator) -> float:
    """Tables over counts inside and outside of the range of D, against the simplex method in fractions.

    Inside: the laws, the least sum, whether it is unique, then every cell, else the least sum of squares, up to the
    rounding of the values of the table to floats. Outside: the refusal, unless g is 0 or there is one group, which
    may be answered, and rightly.
    """
    limit = optimality.MAX_RANGE
    shape = [(2, 2), (2, 2, 2), (5,), (3, 2), (4, 3), (3, 3), (2, 2, 3), (2, 2, 2, 2), (4, 4)][rng.integers(9)]
    decades = int(rng.integers(0, 9)) if rng.random() < 0.8 else 15
    digits = rng.integers(-3, 6, shape) * 10 ** rng.integers(0, decades + 1, shape)
    exact = np.vectorize(Fraction, otypes=[object])(digits) * Fraction(10) ** int(rng.integers(-8, 3))
    exact[(0,) * len(shape)] = Fraction(0)
    if rng.random() < 0.3:  # a modular part, which D does not see
        slope = int(rng.integers(1, 10)) * Fraction(10) ** int(rng.integers(-3, 5))
        exact = exact + slope * np.vectorize(Fraction, otypes=[object])(np.indices(shape).sum(axis=0))
    table = exact.astype(float)
    span, is_bent = spans(exact)
    try:
        parts = setloss.decompose(setloss.SetFunction.from_table(table))
    except setloss.DecompositionError as refusal:
        if is_bent and span > limit * (1 - 1e-6) and f"span at most {limit:g}" in str(refusal):
            raise RefusedError from None
        return np.inf
    if is_bent and span > limit * (1 + 1e-6) and len(shape) > 1:
        return np.inf
    program = ExactProgram.of(exact)
    f, g = parts.submodular.table, parts.supermodular.table
    chosen = [Fraction(x) for x in g.ravel()[1:].tolist()]
    expected, weights = program.values(), program.weights
    noise = 64 * EPS * float(np.abs(table).max())
    total = float(sum(w * x for w, x in zip(weights, expected, strict=True)))
    unit = max(float(np.abs(g).max()), float(np.abs(table).max())) or 1.0
    wrong = [np.max(np.abs(f + g - table) - 4 * EPS * np.maximum(np.abs(g), np.abs(f))) / unit]
    off = abs(float(sum(w * x for w, x in zip(weights, chosen, strict=True))) - total)
    wrong.append((off - noise * sum(weights)) / (total or 1.0))
    costs = rng.integers(1, 10**6, len(weights)).tolist()
    is_unique = program.least(costs) == -program.least([-c for c in costs])
    if parts.certificate.unique is not is_unique:
        return np.inf
    if is_unique:
        off = np.array([abs(float(x - y)) for x, y in zip(chosen, expected, strict=True)])
        wrong.append(np.max((off - noise) / np.maximum(np.array(expected, dtype=float), noise + 1e-300)))
    else:  # g is the projection of 0 onto the optima
        pull = [w * x for w, x in zip(weights, chosen, strict=True)]
        squares = sum(w * x for w, x in zip(pull, chosen, strict=True))
        excess = float(squares - program.least(pull)) - 2 * noise * float(sum(pull))
        wrong.append(excess / float(squares) - 1e-12)
    return max(0.0, *map(float, wrong))


# ---------------------------------------------------------------- operators


def judge_operator(rng: Generator) -> float:
    """The value, and the cut: tight at its margins, below the surrogate at others; by operators and by kernels."""
    p = int(rng.integers(1, 7))
    truth = rng.random(p) < rng.random()
    if rng.random() < 0.2:
        values = np.round(rng.random(2**p), 1) * (np.arange(2**p) > 0)
        loss: Any = from_set_function(set_function(values, p))
    else:
        loss, formula = draw_loss(rng)
        values = values_on_sets(formula, truth)
    operator, scale = draw_operator(rng, loss)
    if operator == "slack" and (second_differences(p) @ values).max() <= 1e-12:
        operator = "lovasz"
    expected = surrogate_of(loss.set_function(truth), values, operator, scale)
    m, other = draw_margins(rng, p), draw_margins(rng, p)
    here, there = expected(m), expected(other)
    cut = operator_named(operator, scale)(loss.set_function(truth)).cut(m)
    batch = batch_surrogate(loss, truth, [0, p], operator, scale).cuts(m)
    found = [abs(cut(m) - here), cut(other) - there, abs(float(batch.values[0]) - here)]
    found += [abs(float(batch.offsets[0] - batch.slopes @ m) - here)]
    found += [float(batch.offsets[0] - batch.slopes @ other) - there]
    return max(found) / ((1 + float(np.abs(values).max())) * (1 + np.abs(m).sum() + np.abs(other).sum()))


# ---------------------------------------------------------------- networks


@dataclass(frozen=True)
class Batch:
    """Truth, ignored entries and group numbers of decisions (images, classes, pixels); binary has one class."""

    mode: str
    over: str
    margins: str
    ids: Array
    truth: Array
    ignored: Array
    numbers: Array

    @classmethod
    def drawn(cls, rng: Generator) -> Batch:
        mode = str(rng.choice(["binary", "multilabel", "multiclass"]))
        images, classes, pixels = (int(n) for n in rng.integers([1, 2, 1], [3, 4, 4]))
        shape = (images, 1 if mode == "binary" else classes, 1 if mode == "multilabel" else pixels)
        ids = rng.integers(classes, size=(images, 1, shape[2]))
        truth = ids == np.arange(classes)[:, None] if mode == "multiclass" else rng.random(shape) < 0.5
        ignored = rng.random(ids.shape if mode == "multiclass" else shape) < rng.choice([0.0, 0.3])
        margins = str(rng.choice(["logits", "probabilities"]))
        over = str(rng.choice(["image", "batch", "class", "groups"]))
        return cls(mode, over, margins, ids, truth, np.broadcast_to(ignored, shape), rng.integers(3, size=shape))

    def shown(self, array: Array) -> Array:
        """Without the axis that the mode does not have."""
        return {"binary": array[:, 0], "multilabel": array[:, :, 0], "multiclass": array}[self.mode]

    def target(self, one_hot: bool) -> tuple[Array, Array | None]:
        """The target, and a mask where what is ignored is not in it."""
        if self.mode != "multiclass":
            return self.shown(np.where(self.ignored, 255, self.truth)), None
        if one_hot:
            return self.truth, ~self.ignored[:, 0]
        return np.where(self.ignored[:, 0], 255, self.ids[:, 0]), None

    def sets(self) -> list[Array]:
        """Which decisions belong to each set, in the order of the answers; groups without any have none."""
        i, c, _ = np.indices(self.truth.shape)
        classes = self.truth.shape[1]
        if self.over == "groups":
            keys = np.where((self.numbers > 0) & ~self.ignored, (i * classes + c) * 3 + self.numbers, -1)
            return [keys == key for key in np.unique(keys[keys >= 0])]
        by_class = self.mode == "multiclass" or (self.mode == "multilabel" and self.over == "class")
        keys = (i if self.over == "image" else 0 * i) * (classes if by_class else 1) + (c if by_class else 0)
        return [(keys == key) & ~self.ignored for key in range(keys.max() + 1)]

    def margins_of(self, h: Array) -> Array:
        if self.margins == "probabilities":
            q = np.exp(h) / np.exp(h).sum(1, keepdims=True) if self.mode == "multiclass" else 1 / (1 + np.exp(-h))
            return np.where(self.truth, q, 1 - q)
        return np.where(self.truth, h, -h)


def judge_torch(rng: Generator) -> float:
    """Values of all sets, masks and margins in float64, and the gradient as a minorant where the loss is convex."""
    import torch

    from setloss.nn import SetLoss

    batch = Batch.drawn(rng)
    loss, formula = draw_loss(rng)
    operator, scale = draw_operator(rng, loss)
    inside = batch.sets()
    truths = [batch.truth[rows] for rows in inside]
    surrogates = [
        surrogate_of(loss.set_function(t), values_on_sets(formula, t), operator, scale) if len(t) else None
        for t in truths
    ]

    def expected(h: Array) -> list[float]:
        m = batch.margins_of(h)
        return [0.0 if B is None else B(m[rows]) for B, rows in zip(surrogates, inside, strict=True)]

    shape, size = batch.truth.shape, rng.choice([0.3, 1.0, 10.0])
    here, there = rng.normal(size=shape) * size, rng.normal(size=shape) * size
    here = np.round(here) if rng.random() < 0.3 else here
    logits = torch.tensor(batch.shown(here), requires_grad=True)
    names = {"operator": operator, "margins": batch.margins, "mode": batch.mode, "over": batch.over}
    groups = torch.tensor(batch.shown(batch.numbers)) if batch.over == "groups" else None
    target, mask = (part if part is None else torch.tensor(part) for part in batch.target(rng.random() < 0.5))
    criterion = SetLoss(loss, scale=scale, reduction="none", absent="keep", ignore_index=255, **names)
    found, right = criterion(logits, target, groups=groups, mask=mask), expected(here)
    if not right:
        return float(found.numel())
    wrong, unit = np.abs(np.ravel(found.detach().numpy()) - right).max(), 1 + max(map(abs, right))
    if batch.margins == "logits":
        found.sum().backward()
        slope = logits.grad.numpy().reshape(shape)
        unit += np.abs(slope).sum() * (np.abs(here).max() + np.abs(there).max())
        wrong = max(wrong, sum(right) + np.sum(slope * (there - here)) - sum(expected(there)))
    return float(wrong / unit)


def judge_soft(rng: Generator) -> float:
    """L of Jaccard with soft labels and weights: two elements for one, all orders of them."""
    import torch

    from setloss.nn import set_loss

    p = int(rng.integers(1, 4))
    share, weight = np.round(rng.random(p), 1), np.round(rng.random(p) * 2, 1)
    share[rng.random(p) < 0.3] = rng.integers(2)
    w = np.concatenate([weight * share, weight * (1 - share)])
    sets = subsets(2 * p)
    missed, alarms = sets[:, :p] @ w[:p], sets[:, p:] @ w[p:]
    below = w[:p].sum() + alarms
    expected = Planes([lovasz(np.where(below > 0, (missed + alarms) / np.where(below > 0, below, 1), 0.0))])
    here, there = draw_margins(rng, p), draw_margins(rng, p)
    logits = torch.tensor(here[None], requires_grad=True)
    options = {"loss": "jaccard", "operator": "lovasz", "margins": "logits", "reduction": "sum", "absent": "keep"}
    found = set_loss(logits, torch.tensor(share[None]), element_weight=torch.tensor(weight[None]), **options)
    found.backward()
    right = expected(np.concatenate([here, -here]))
    below_there = right + logits.grad.numpy()[0] @ (there - here) - expected(np.concatenate([there, -there]))
    return max(abs(float(found.detach()) - right), below_there) / (1 + np.abs(here).sum() + np.abs(there).sum())


# ---------------------------------------------------------------- decisions


def wrong_choice(chosen: Array, said: float, expected: Array) -> float:
    """How far a set is from the best one, and what is said of it from the truth; 1 where a smaller set is as good."""
    sizes, number = subsets(len(chosen)).sum(axis=1), int(chosen @ (1 << np.arange(len(chosen))))
    smallest = sizes[expected <= expected.min() * (1 + 1e-14)].min()
    error = max(abs(said - expected.min()), expected[number] - expected.min()) / (1 + expected.max())
    return max(error, float(sizes[number] > smallest))


def judge_decision(rng: Generator) -> float:
    """The least expected loss over all sets under the count model, that of the set returned, and of any other."""
    loss, formula = draw_loss(rng, zero_division=True)
    p = int(rng.integers(1, 6))
    scores = draw_margins(rng, p) * rng.choice([1.0, 1.0, 1.0, 30.0])
    potentials = rng.normal(size=p + 1) * 2 if rng.random() < 0.7 else None
    if potentials is not None and rng.random() < 0.3:
        potentials[rng.integers(p + 1)] = -np.inf
    sets = subsets(p)
    weights = sets @ scores + (0 if potentials is None else potentials[sets.sum(axis=1)])
    chances = np.exp(weights - weights.max())
    expected = expected_losses(formula, chances / chances.sum(), p)
    in_bags = rng.random() < 0.3
    given = scores if in_bags else scores[None]
    where = {"counts": potentials, "bags": [0, p] if in_bags else None}
    try:
        found = decide(given, loss, scores="log-odds", **where)
    except ContradictionError:
        if np.isneginf(potentials).any() and np.ptp(scores) > 250 * np.log(10):
            raise RefusedError from None
        raise
    other = int(rng.integers(2**p))
    off = 0.0
    if not isinstance(loss, CostCurve | CallableLoss):  # others may fall, and are refused there
        said = expected_losses_of(sets[other] if in_bags else sets[other][None], given, loss, **where)
        off = abs(float(said[0]) - expected[other]) / (1 + expected.max())
    return max(off, wrong_choice(np.ravel(found.sets), float(found.expected_loss[0]), expected))


def judge_pixels(rng: Generator) -> float:
    """Independent pixels, exact and by moments, arrays and tensors; bounds of the error and of the regret hold."""
    import torch

    from setloss import nn

    loss, formula = draw_loss(rng, zero_division=True)
    p = int(rng.integers(1, 6))
    chances = rng.random(p) ** rng.choice([0.2, 1.0, 5.0])
    chances = np.round(chances, 1) if rng.random() < 0.4 else chances
    odd = rng.random(p) < 0.1
    chances[odd] = np.round(chances[odd])
    likely = np.prod(np.where(subsets(p), chances, 1 - chances), axis=1)
    expected = expected_losses(formula, likely, p)
    unit = 1 + expected.max()
    counted = np.concatenate([np.ones(p, dtype=bool), np.zeros(int(rng.integers(3)), dtype=bool)])
    given = np.concatenate([chances, rng.random(len(counted) - p)])
    found = decide_pixels(given, loss, scores="probabilities", mask=counted)
    assert not found.sets[p:].any()
    answers = [(found.sets[:p], found.expected_loss, found.error, found.regret)]
    if isinstance(loss, TverskyFamily):
        by_moments = decide_pixels(chances, loss, scores="probabilities", method="moments")
        answers.append((by_moments.sets, by_moments.expected_loss, by_moments.error, by_moments.regret))
        tensors = [torch.tensor(array[None]) for array in (given, counted)]
        several = nn.decide_images(tensors[0], loss, scores="probabilities", mask=tensors[1])
        error = float(several.error[0])
        answers.append((several.sets[0, :p].numpy(), float(several.expected_loss[0]), error, 2 * error))
    wrong = []
    for chosen, said, error, regret in answers:
        there = expected[int(chosen @ (1 << np.arange(p)))]
        wrong += [abs(said - there) - error, there - expected.min() - regret]
    return float(max(wrong)) / unit


# ---------------------------------------------------------------- fits


def judge_fit(rng: Generator) -> float:
    """P of the model is its primal value, and no weights, those of another solver among them, are below the dual."""
    loss, formula = draw_loss(rng)
    operator, scale = draw_operator(rng, loss)
    C, tol = float(10 ** rng.uniform(-2, 1)), float(rng.choice([1e-2, 1e-4]))
    n, p, d = (int(size) for size in rng.integers([2, 1, 1], [7, 5, 5]))
    is_labels, constant = bool(rng.random() < 0.5), float(rng.choice([0.0, 1.0, 3.0]))
    present = rng.random((n, p)) < 0.8
    present[:, 0] = True
    bags, tasks = np.nonzero(present)
    rows = bags if is_labels else np.arange(len(bags))
    X = rng.normal(size=(rows.max() + 1, d)) * 10 ** rng.uniform(-1, 1)
    truth, weights = rng.random(len(bags)) < rng.random(), rng.uniform(0.5, 2, n)
    truth[[0, -1]] = True, False  # both classes, as training asks
    parts = [truth[bags == i] for i in range(n)]
    surrogates = [surrogate_of(loss.set_function(t), values_on_sets(formula, t), operator, scale) for t in parts]
    wide = np.hstack([X, np.full((len(X), 1), constant)])[rows]
    training = Training(wide, truth, tasks if is_labels else 0 * bags, bags, C * weights, surrogates)
    solver = str(rng.choice(["auto", "cutting_plane", "frank_wolfe", "n_slack"]))
    options = {"loss": loss, "operator": operator, "scale": scale, "C": C, "tol": tol, "max_iter": 500}
    options |= {"intercept_scaling": constant} if constant else {"fit_intercept": False}
    Z = csr_array(X) if rng.random() < 0.5 else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if is_labels:
            Y = np.full((n, p), np.nan)
            Y[bags, tasks] = truth
            model: Any = SetClassifier(solver=solver, **options).fit(Z, Y, sample_weight=weights)
        else:
            model = SetClassifier(solver=solver, **options)
            model.fit(Z, truth, groups=bags, sample_weight=weights[bags])
    bias = np.reshape(model.intercept_, (-1, 1)) / (constant or 1.0)
    found, W = model.solution_, np.hstack([np.atleast_2d(model.coef_), bias])
    W = W[: training.tasks.max() + 1]
    elsewhere = [training.minimum(), 0 * W, *(W + step * rng.normal(size=W.shape) for step in (1e-3, 0.1, 1))]
    lowest = min(training.objective(point) for point in elsewhere)
    wrong_status = (found.primal - found.dual <= tol * found.primal) != (found.status is Status.CONVERGED)
    unit = max(found.primal, 1e-300)
    return max(abs(training.objective(W) - found.primal) / unit, (found.dual - lowest) / unit, float(wrong_status))


PARTS: dict[str, tuple[Callable[[Generator], float], float]] = {
    "decompositions": (judge_decomposition, 0.08),
    "range": (judge_wide, 0.05),
    "operators": (judge_operator, 0.35),
    "decisions": (judge_decision, 0.2),
    "pixels": (judge_pixels, 0.1),
    "torch": (judge_torch, 0.15),
    "soft-labels": (judge_soft, 0.05),
    "fits": (judge_fit, 0.02),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=60_000, help="cases of all parts together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--case", type=int, help="one case of a part, as a failure names it")
    parser.add_argument("--limit", type=float, default=optimality.MAX_RANGE, help="range of D that is tried")
    options = parser.parse_args()
    optimality.MAX_RANGE = options.limit
    failed = 0
    for number, (name, (judge, share)) in enumerate(PARTS.items()):
        if options.only not in (None, name):
            continue
        began, largest, wrong, refused = time.process_time(), 0.0, 0, 0
        cases = range(round(options.cases * share)) if options.case is None else [options.case]
        for case in cases:
            try:
                error = judge(np.random.default_rng([options.seed, number, case]))
            except RefusedError:
                refused += 1
                continue
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
            f"{name:15} {len(cases):6d} cases, {refused} refused, {wrong} failed, largest error {largest:.1e}, "
            f"{seconds:.0f} CPU s",
            flush=True,
        )
        failed += wrong
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
