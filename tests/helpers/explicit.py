"""Every cut of a surrogate, by enumeration."""

from functools import cache
from itertools import permutations

import numpy as np

from helpers import reference


def slack_cuts(values, p, scale):
    return [(value, scale * value * reference.mask_of(A, p)) for A, value in values.items()]


def margin_cuts(values, p, scale):
    return [(value, scale * reference.mask_of(A, p)) for A, value in values.items()]


def lovasz_cuts(values, p):
    """One per permutation, and for increasing functions one per prefix of it: later elements have s <= 0."""
    increasing = reference.increasing_excess(values) <= 1e-12
    cuts = {(0.0, (0.0,) * p)}
    for order in permutations(range(p)):
        for length in range(1, p + 1) if increasing else (p,):
            slope, before = np.zeros(p), frozenset()
            for i in order[:length]:
                slope[i] = values[before | {i}] - values[before]
                before = before | {i}
            cuts.add((float(slope.sum()), tuple(slope)))
    return [(offset, np.array(slope)) for offset, slope in cuts]


def terms(case, truth):
    """The surrogate of a bag is a sum of maxima; each as its list of (offset, slope)."""
    return _terms(case.loss, case.operator, case.scale, tuple(truth.tolist()))


@cache
def _terms(loss, operator, scale, truth):
    """The same labels come again in bag after bag, and in case after case."""
    p = len(truth)
    values = reference.values_of(loss.set_function(np.array(truth)))
    if operator in ("slack", "margin"):
        return [{"slack": slack_cuts, "margin": margin_cuts}[operator](values, p, scale)]
    if operator == "hinge":
        return [lovasz_cuts({A: float(len(A)) for A in values}, p)]
    if operator == "lovasz":
        return [lovasz_cuts(values, p)]
    supermodular, _ = reference.brute_force_program(values)
    submodular = {A: values[A] - supermodular[A] for A in values}
    if operator == "bd-monotone":
        submodular = reference.monotone_closure(submodular)
    return [lovasz_cuts(submodular, p), slack_cuts(supermodular, p, scale)]
