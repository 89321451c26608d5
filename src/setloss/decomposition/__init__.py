"""The operator D: every set function is submodular plus supermodular (Section 3.1, Definition 6).

    D l = argmin over g of  sum_A g(A)   subject to   g supermodular, g >= 0, g(empty) = 0, l - g submodular

`decompose` tries, in this order: closed forms, which never build a table; the pointwise lower bound, where it
turns out to be feasible; the linear program. The paper proves the minimiser unique; it is not (p >= 4). Among
several optima D here is the one of least sum of squares, sum_A g(A)^2.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from setloss.decomposition.certificate import Certificate, DecompositionError, Measured, mean_over_subsets
from setloss.decomposition.lower_bound import (
    DOWNWARD,
    UPWARD,
    require_memory,
    require_range,
    required_curvature,
    split_symmetric,
)
from setloss.decomposition.optimality import feasible_bound, measure_split, measure_table
from setloss.decomposition.verify import Verification, verify_decomposition
from setloss.losses.families import Family
from setloss.setfunctions.counts import CountFunction, Split, Table
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array

__all__ = [
    "Certificate",
    "Decomposition",
    "DecompositionError",
    "FamilyDecomposition",
    "Verification",
    "decompose",
    "verify_decomposition",
]


@dataclass(frozen=True)
class Decomposition:
    """The two parts of a loss, l = submodular + supermodular, with the certificate that they are D's.

    Examples
    --------
    >>> parts = decompose(SetFunction.symmetric([0, 0, 2, 3]))
    >>> parts.submodular.table, parts.supermodular.table
    (array([ 0.,  0.,  0., -1.]), array([0., 0., 2., 4.]))
    """

    loss: SetFunction
    submodular: SetFunction
    supermodular: SetFunction
    certify: Callable[[], Certificate] = field(repr=False)

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of the answer; for a proved closed form it is measured at the first call."""
        return self.certify()

    def plot(self) -> Any:
        """A matplotlib `Figure` of l, f and g, as `setloss.plots.plot_decomposition` draws it."""
        return import_module("setloss.plots").plot_decomposition(self)


@dataclass(frozen=True)
class FamilyDecomposition:
    """l = submodular + supermodular for all sets of a family, two families again.

    Where the formula of the family has a proved decomposition, `proof` names it, and the parts have formulas, too.
    Elsewhere `proof` is None, and every set is decomposed when it is asked for.

    Examples
    --------
    >>> from setloss import Dice
    >>> parts = decompose(Dice())
    >>> parts.proof
    'Tversky loss, closed form for 1/2 <= beta < 1'
    >>> f, g = parts.submodular.on_counts(3, 2), parts.supermodular.on_counts(3, 2)
    >>> f + g == Dice().on_counts(3, 2)
    True
    """

    loss: Family

    @property
    def submodular(self) -> Family:
        """The submodular part of all sets."""
        return FamilyPart(self.loss, "submodular")

    @property
    def supermodular(self) -> Family:
        """The supermodular part of all sets."""
        return FamilyPart(self.loss, "supermodular")

    @property
    def proof(self) -> str | None:
        """Why the formulas of the parts are D's, for all sets at once."""
        split = _closed_split(self.loss, 1, 1)
        return None if split is None else split.reason

    def on_counts(self, positives: int, negatives: int) -> Decomposition:
        """The decomposition of one set, with its certificate."""
        return decompose(self.loss.on_counts(positives, negatives))

    def set_function(self, y_true: ArrayLike) -> Decomposition:
        """The decomposition of the set with these labels, with its certificate."""
        return decompose(self.loss.set_function(y_true))


@dataclass(frozen=True)
class FamilyPart(Family):
    """One of the two parts of a decomposed family."""

    loss: Family
    name: Literal["submodular", "supermodular"]

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        part: SetFunction = getattr(_decomposed(self.loss, positives, negatives), self.name)
        return part

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        part: SetFunction = getattr(decompose(self.loss.set_function(y_true)), self.name)
        return part

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        split = _closed_split(self.loss, positives, negatives)
        part: CountFunction | None = getattr(split, self.name, None)
        return part


@lru_cache(maxsize=1024)
def _decomposed(loss: Family, positives: int, negatives: int) -> Decomposition:
    """One set, decomposed once for both parts."""
    return decompose(loss.on_counts(positives, negatives))


def _closed_split(loss: Family, positives: Any, negatives: Any) -> Split | None:
    counts = loss.closed_counts(positives, negatives)
    return None if counts is None else counts.split()


@overload
def decompose(loss: SetFunction) -> Decomposition: ...
@overload
def decompose(loss: Family) -> FamilyDecomposition: ...
def decompose(loss: SetFunction | Family) -> Decomposition | FamilyDecomposition:
    """D l of a set function, certified, or a `DecompositionError`; of a loss, for all sets. Never an uncertified g.

    Tables over several groups whose values and positive second differences span more than 1e8 are refused
    (`lower_bound.MAX_RANGE`). Closed forms and submodular tables have no range.

    Examples
    --------
    >>> from setloss import SetFunction
    >>> parts = decompose(SetFunction.symmetric([0, 0, 1, 1]))
    >>> parts.submodular.table, parts.supermodular.table
    (array([ 0.,  0.,  0., -1.]), array([0., 0., 1., 2.]))
    >>> parts.certificate.holds, parts.certificate.unique
    (True, True)
    """
    if isinstance(loss, Family):
        return FamilyDecomposition(loss)
    if not isinstance(loss, SetFunction):
        raise TypeError(
            f"decompose takes a SetFunction or a Loss; got {type(loss).__name__}. Make one with "
            "SetFunction.from_table, or take a loss such as Dice()."
        )
    split, rule, measured = loss.counts.split(), "closed form", None
    if split is None:
        split, rule = split_symmetric(loss.counts), "symmetric closed form"
    if split is None:
        split, rule, measured = _from_table(loss.table)
    f, g = (SetFunction(part, loss.partition) for part in (split.submodular, split.supermodular))
    certify = partial(_certified, loss.counts, split, rule, measured)
    if measured is not None:
        certify()
    return Decomposition(loss, f, g, certify)


def _from_table(table: Array) -> tuple[Split, str, Measured]:
    """The pointwise lower bound where it is feasible, else the linear program."""
    require_memory(table)
    required = required_curvature(table)
    if not any(block.any() for block in required.values()):
        split = Split(Table(table), Table(np.zeros_like(table)), "submodular")
        return split, "pointwise lower bound", measure_split(split.submodular, split)
    require_range(table, required)
    parts = feasible_bound(table)
    if parts is not None:
        f, g = parts
        split = Split(Table(f, DOWNWARD), Table(g, UPWARD), "the lower bound on every feasible g is feasible")
        return split, "pointwise lower bound", measure_table(table, g, f, least=g)
    from setloss.decomposition.program import solve_program  # slow to import, and few need the program

    best = solve_program(table)
    why = "multipliers of the second differences prove it optimal in every cell"
    split = Split(Table(best.submodular, DOWNWARD), Table(best.supermodular, UPWARD), why)
    return split, "linear program", best.measured


def _certified(loss: CountFunction, split: Split, rule: str, measured: Measured | None) -> Certificate:
    measured = measured or measure_split(loss, split)
    primal = mean_over_subsets(split.supermodular)
    certificate = Certificate(rule=rule, reason=split.reason, primal=primal, **measured._asdict())
    if not certificate.holds:
        raise DecompositionError(
            f"the decomposition was found, but not to the accuracy that is certified: {certificate}. The values of "
            "this function may differ by too many orders of magnitude; please report it with the function."
        )
    return certificate
