"""Decompositions: feasible, optimal and certified, on tables of every kind."""

from __future__ import annotations

import numpy as np

from benchmarks.soak.draws import Generator, pick
from benchmarks.soak.judge import Outcome, require
from setloss import SetFunction, decompose
from setloss.decomposition import verify_decomposition

SHAPES = ("curve", "two groups", "three groups", "all subsets")


def random_function(generator: Generator) -> SetFunction:
    """A set function of one, two, three or as many groups as elements, rough or smooth, of any size."""
    shape = {
        "curve": (int(generator.integers(2, 60)),),
        "two groups": tuple(generator.integers(2, 9, 2)),
        "three groups": tuple(generator.integers(2, 5, 3)),
        "all subsets": (2,) * int(generator.integers(2, 6)),
    }[pick(generator, SHAPES)]
    counts = np.indices(shape).sum(axis=0)
    share = counts / counts.max()
    table = {
        "rough": lambda: generator.normal(size=shape),
        "whole": lambda: generator.integers(-4, 5, shape).astype(float),
        "smooth": lambda: np.sin(3 * share + generator.normal()) + 0.01 * generator.normal(size=shape),
        "concave": lambda: np.sqrt(counts) + 0.0,
        "convex": lambda: share**2 + generator.random() * share,
    }[pick(generator, ("rough", "whole", "smooth", "concave", "convex"))]()
    table = (table - table.flat[0]) * 10.0 ** int(generator.integers(-6, 7))
    groups = generator.permutation(np.repeat(np.arange(len(shape)), [n - 1 for n in shape]))
    return SetFunction.from_table(table, groups)


def check(generator: Generator) -> Outcome:
    """One decomposition, judged by the verifier."""
    function = random_function(generator)
    parts = decompose(function)
    require(parts.certificate.holds, f"the certificate does not hold: {parts.certificate}")
    judged = verify_decomposition(function, parts.supermodular)
    require(bool(judged), f"{judged}: {function}")
    total = parts.submodular.table + parts.supermodular.table
    error = float(np.max(np.abs(total - function.table))) / (function.largest_value or 1.0)
    require(error <= 1e-12, f"f + g differs from l by {error} of its size: {function}")
    return Outcome(1, {"infeasibility": judged.violation, "distance from optimal": judged.excess, "f + g - l": error})
