"""Cuts of whole batches: tight where they were asked for, and below the surrogate everywhere else."""

from __future__ import annotations

import numpy as np

from benchmarks.soak.draws import Generator, pick, random_loss, random_margins, usable_operator
from benchmarks.soak.judge import MAX_ELEMENTS, ROUNDING, Judge, Outcome, require
from setloss.bags import Bags
from setloss.plans.batch import batch_surrogate

FLOAT32 = 2e-7
"""The rounding error of slopes in float32; what is reported is scaled to that of float64."""


def check(generator: Generator) -> Outcome:
    """One batch of ragged bags, every cut of it."""
    loss, scale, n = random_loss(generator), pick(generator, (0.5, 1.0, 2.0)), int(generator.integers(1, 160))
    sizes = generator.integers(1, MAX_ELEMENTS + 1, n)
    labels = generator.random(int(sizes.sum())) < generator.random()
    bags = Bags.from_offsets(np.concatenate(([0], np.cumsum(sizes))))
    positives = bags.totals(labels.astype(np.intp))
    kinds = sorted(set(zip(positives.tolist(), (sizes - positives).tolist(), strict=True)))
    operator = usable_operator(generator, loss, kinds, scale)
    dtype = pick(generator, (np.float32, np.float64))
    margins = random_margins(generator, labels.shape).astype(dtype)
    found = batch_surrogate(loss, labels, bags, operator, scale).cuts(margins, threads=int(generator.integers(1, 3)))
    require(found.slopes.dtype == dtype, f"slopes are {found.slopes.dtype} for margins of {dtype}")
    judges: dict[tuple[int, int], Judge] = {}
    errors = []
    for i in range(n):
        here = slice(int(bags.offsets[i]), int(bags.offsets[i + 1]))
        order = here.start + np.argsort(~labels[here], kind="stable")
        kind = (int(positives[i]), int(sizes[i] - positives[i]))
        if kind not in judges:
            judges[kind] = Judge(loss, labels[order], operator, scale)
        points = np.concatenate([margins[order].astype(float)[None], random_margins(generator, (5, len(order)))])
        where = f"{operator} of {loss}, scale {scale}, labels {labels[here].astype(int)}, margins {margins[here]}"
        errors.append(judge_cut(judges[kind], points, found.offsets[i], found.slopes[order], found.values[i], where))
    names = ("value error", "cut above B")
    return Outcome(n, dict(zip(names, np.max(errors, axis=0).tolist(), strict=True)))


def judge_cut(judge: Judge, points: np.ndarray, offset: float, slope: np.ndarray, value: float, where: str):
    """The first point is where the cut must touch; slopes in float32 may miss by their own rounding error."""
    values, unit = judge(points), judge.unit(points)
    allowed = ROUNDING if slope.dtype == np.float64 else FLOAT32
    heights = offset - points @ slope.astype(float)
    error = max(abs(value - values[0]) / unit[0], abs(heights[0] - values[0]) / unit[0] * ROUNDING / allowed)
    excess = float(np.max((heights - values) / unit)) * ROUNDING / allowed
    require(error <= ROUNDING, f"the cut is {heights[0]}, said to be {value}, and B is {values[0]}: {where}")
    require(excess <= ROUNDING, f"the cut exceeds B by {np.max(heights - values)}: {where}")
    return error, excess
