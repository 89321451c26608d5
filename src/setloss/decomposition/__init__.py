"""The operator D: every set function is submodular plus supermodular (Section 3.1, Definition 6).

    D l = argmin over g of  sum_A g(A)   subject to   g supermodular, g >= 0, g(empty) = 0, l - g submodular

`decompose` tries, in this order: closed forms, which never build a table; the pointwise lower bound, where it
turns out to be feasible; the linear program. The paper proves the minimiser unique; it is not (p >= 4). Among
several optima D here is the one of least sum of squares, sum_A g(A)^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np

from setloss.decomposition.certificate import Certificate, DecompositionError, mean_over_subsets
from setloss.decomposition.closed_forms import split_symmetric
from setloss.decomposition.lower_bound import feasible_bound, require_memory, required_curvature
from setloss.decomposition.measure import (
    EXHAUSTIVE_CELLS,
    Measured,
    measure_curve,
    measure_sampled,
    measure_table,
)
from setloss.decomposition.value_range import require_range
from setloss.decomposition.verify import Verification, verify_decomposition
from setloss.setfunctions.counts import CountFunction, Split, Table
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array

__all__ = [
    "Certificate",
    "Decomposition",
    "DecompositionError",
    "Verification",
    "decompose",
    "verify_decomposition",
]


@dataclass(frozen=True)
class Decomposition:
    """l = submodular + supermodular, with the certificate that this is D's answer."""

    loss: SetFunction
    submodular: SetFunction
    supermodular: SetFunction
    certify: Callable[[], Certificate] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """What proves the answer; of a proved closed form it is measured when it is first asked for."""
        return self.certify()

    def plot(self) -> Any:
        """A matplotlib `Figure` of l, f and g, as `setloss.plots.plot_decomposition` draws it."""
        return import_module("setloss.plots").plot_decomposition(self)


def decompose(loss: SetFunction) -> Decomposition:
    """D l, certified, or a `DecompositionError`; never an uncertified g."""
    if not isinstance(loss, SetFunction):
        raise TypeError(
            f"decompose takes a SetFunction; got {type(loss).__name__}. Make one with SetFunction.from_table, or "
            "ask a loss for it: Dice().set_function(y)."
        )
    split = loss.counts.split()
    if split is not None:
        certify = partial(_certified, loss, split, "closed form")
    else:
        split, certificate = _decided(loss)
        certify = partial(_holding, certificate, loss.p)
        certify()
    f, g = (SetFunction(part, loss.partition) for part in (split.submodular, split.supermodular))
    return Decomposition(loss, f, g, certify)


def _decided(loss: SetFunction) -> tuple[Split, Certificate]:
    """D of a function whose kind has no closed form that is proved."""
    axis = _only_axis(loss.counts)
    split = None if axis is None else split_symmetric(loss.counts, axis)
    if split is None:
        return _from_table(loss.table)
    return split, _pointwise(_measure(loss.counts, split), split, "symmetric closed form")


def _certified(loss: SetFunction, split: Split, rule: str) -> Certificate:
    return _holding(_pointwise(_measure(loss.counts, split), split, rule), loss.p)


def _holding(certificate: Certificate, p: int) -> Certificate:
    if not certificate.holds:
        raise DecompositionError(
            f"the decomposition over {p} elements could not be certified: {certificate}. The values of "
            "this function may differ by too many orders of magnitude; please report it with the function."
        )
    return certificate


def _only_axis(counts: CountFunction) -> int | None:
    """The axis of the only group that has elements, if there is but one."""
    populated = [b for b, n in enumerate(counts.sizes) if n > 0]
    return populated[0] if len(populated) == 1 else None


def _from_table(table: Array) -> tuple[Split, Certificate]:
    """The pointwise lower bound where it is feasible, else the linear program."""
    require_memory(table)
    if not any(block.any() for block in required_curvature(table, noise=table).values()):
        split = Split(Table(table), Table(np.zeros_like(table)), "submodular")
        return split, _pointwise(measure_table(table, split.supermodular.table()), split, "pointwise lower bound")
    require_range(table)
    parts = feasible_bound(table)
    if parts is not None:
        f, g = parts
        split = Split(Table(f), Table(g), "the lower bound on every feasible g is feasible")
        return split, _pointwise(measure_table(table, g, f, least=g), split, "pointwise lower bound")
    from setloss.decomposition.program import solve_program

    solution = solve_program(table)
    split = Split(Table(solution.submodular), Table(solution.supermodular), "linear program")
    return split, solution.certificate


def _pointwise(measured: Measured, split: Split, rule: str) -> Certificate:
    return Certificate(
        rule=rule,
        reason=split.reason,
        feasibility=measured.feasibility,
        column_residual=measured.column_residual,
        primal=mean_over_subsets(split.supermodular),
        dual=measured.dual,
        unique=True,
        tie_broken=False,
        checked=measured.checked,
    )


def _measure(counts: CountFunction, split: Split) -> Measured:
    axis = _only_axis(counts)
    if axis is not None:
        return measure_curve(counts, split, axis)
    if isinstance(counts, Table) or counts.cells <= EXHAUSTIVE_CELLS:
        return measure_table(counts.table(), split.supermodular.table())
    return measure_sampled(counts, split)
