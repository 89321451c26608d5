"""The operator D: every set function is submodular plus supermodular (Section 3.1, Definition 6).

    D l = argmin over g of  sum_A g(A)   subject to   g supermodular, g >= 0, g(empty) = 0, l - g submodular

`decompose` tries, in this order: closed forms, which never build a table; the pointwise lower bound, where it
turns out to be feasible; the linear program. The paper proves the minimiser unique; it is not (p >= 4). Among
several optima D here is the one of least sum of squares, sum_A g(A)^2. `verify_decomposition` checks a g that is
brought from elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from importlib import import_module
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from setloss.decomposition.certificate import (
    FEASIBILITY_TOLERANCE,
    OPTIMALITY_TOLERANCE,
    Certificate,
    DecompositionError,
    Measured,
    mean_over_subsets,
)
from setloss.decomposition.optimality import (
    DOWNWARD,
    UPWARD,
    infeasibility,
    measure_split,
    measure_table,
    split_by_bound,
    split_symmetric,
)
from setloss.losses.families import Family
from setloss.setfunctions.counts import CountFunction, Split, Table
from setloss.setfunctions.properties import is_increasing, is_nonnegative, is_submodular, is_supermodular
from setloss.setfunctions.set_function import SetFunction, elements_of
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
        return FamilyPart(self, "submodular")

    @property
    def supermodular(self) -> Family:
        """The supermodular part of all sets."""
        return FamilyPart(self, "supermodular")

    @property
    def proof(self) -> str | None:
        """Why the formulas of the parts are D's, for all sets at once."""
        split = self.closed_split(1, 1)
        return None if split is None else split.reason

    def closed_split(self, positives: Any, negatives: Any) -> Split | None:
        """Both parts of the one formula of all sets, where it has a proved decomposition."""
        counts = self.loss.closed_counts(positives, negatives)
        return None if counts is None else counts.split()

    def on_counts(self, positives: int, negatives: int) -> Decomposition:
        """The decomposition of one set, with its certificate."""
        return _decomposed(self.loss, positives, negatives)

    def set_function(self, y_true: ArrayLike) -> Decomposition:
        """The decomposition of the set with these labels, with its certificate."""
        return decompose(self.loss.set_function(y_true))


@dataclass(frozen=True)
class FamilyPart(Family):
    """One of the two parts of a decomposed family."""

    parts: FamilyDecomposition
    name: Literal["submodular", "supermodular"]

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        part: SetFunction = getattr(self.parts.on_counts(positives, negatives), self.name)
        return part

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        part: SetFunction = getattr(self.parts.set_function(y_true), self.name)
        return part

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        part: CountFunction | None = getattr(self.parts.closed_split(positives, negatives), self.name, None)
        return part


@lru_cache(maxsize=1024)
def _decomposed(loss: Family, positives: int, negatives: int) -> Decomposition:
    """One set, decomposed once for both parts."""
    return decompose(loss.on_counts(positives, negatives))


@overload
def decompose(loss: SetFunction) -> Decomposition: ...
@overload
def decompose(loss: Family) -> FamilyDecomposition: ...
def decompose(loss: SetFunction | Family) -> Decomposition | FamilyDecomposition:
    """D l of a set function, certified, or a `DecompositionError`; of a loss, for all sets. Never an uncertified g.

    Tables over several groups whose values and positive second differences span more than 1e8 are refused
    (`optimality.MAX_RANGE`). Closed forms and submodular tables have no range.

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
    bounded = split_by_bound(table)
    if bounded is not None:
        return bounded[0], "pointwise lower bound", bounded[1]
    from setloss.decomposition.program import solve_program  # slow to import, and few need the program

    best = solve_program(table)
    why = "multipliers of the second differences prove it optimal in every cell"
    split = Split(Table(best.submodular, DOWNWARD), Table(best.supermodular, UPWARD), why)
    return split, "linear program", best.measured


def _certified(loss: CountFunction, split: Split, rule: str, measured: Measured | None) -> Certificate:
    measured = measured or measure_split(loss, split)
    primal = mean_over_subsets(split.supermodular)
    certificate = Certificate(rule=rule, reason=split.reason, primal=primal, **vars(measured))
    if not certificate.holds:
        raise DecompositionError(
            f"the decomposition was found, but not to the accuracy that is certified: {certificate}. The values of "
            "this function may differ by too many orders of magnitude; please report it with the function."
        )
    return certificate


@dataclass(frozen=True)
class Verification:
    """Whether g is feasible and optimal for l (None if undecided, beyond the linear program); truthy if both.

    `mean_excess` is how much the mean of g over all subsets exceeds the minimum, `words` says where it fails.

    Examples
    --------
    >>> verdict = verify_decomposition(SetFunction.symmetric([0, 0, 2]), [0, 0, 3])
    >>> verdict.feasible, verdict.optimal, round(verdict.mean_excess, 3)
    (True, False, 0.25)
    """

    feasible: bool
    optimal: bool | None
    mean_excess: float
    words: str

    def __bool__(self) -> bool:
        return self.feasible and self.optimal is True

    def __str__(self) -> str:
        return self.words


def verify_decomposition(
    loss: SetFunction, supermodular: SetFunction | ArrayLike, tolerance: float = FEASIBILITY_TOLERANCE
) -> Verification:
    """Check a g for l: supermodular, non-negative, l - g submodular, and of least sum among all such.

    `supermodular` is a set function over the same elements, or a table of the shape of `loss`. Where D has one
    solution, optimal means equal to it. Otherwise g is optimal iff every second difference that carries a multiplier
    of the linear program is as small as it may be.

    Examples
    --------
    >>> loss = SetFunction.symmetric([0, 0, 2])
    >>> bool(verify_decomposition(loss, [0, 0, 2]))
    True
    >>> print(verify_decomposition(loss, [0, 0, 3]))
    feasible, not optimal: its mean over all subsets exceeds D's by 0.25; at {0, 1} it is 3, D's is 2
    """
    if not isinstance(supermodular, SetFunction):
        supermodular = SetFunction.from_table(supermodular, loss.partition)
    loss, g = loss.aligned(supermodular)
    violation = infeasibility(loss.table, g.table)
    if violation > tolerance:
        words = f"not feasible, by {violation:.3g} of what is compared: {_why_infeasible(loss, g)}"
        return Verification(False, False, float("nan"), words)
    try:
        best, excess = _optimum(loss, g.table)
    except DecompositionError as error:
        return Verification(True, None, float("nan"), f"feasible; whether it is optimal is not decided: {error}")
    mean_excess = mean_over_subsets(g.counts) - mean_over_subsets(best.counts)
    if excess <= OPTIMALITY_TOLERANCE:
        return Verification(True, True, max(mean_excess, 0.0), "feasible and optimal")
    more = f"its mean over all subsets exceeds D's by {mean_excess:.3g}" if mean_excess > 0 else "it is not D's"
    cell = np.unravel_index(int(np.argmax(np.abs(g.table - best.table))), g.table.shape)
    A = set(elements_of(g, [int(a) for a in cell])) or "{}"
    words = f"feasible, not optimal: {more}; at {A} it is {g.table[cell]:.6g}, D's is {best.table[cell]:.6g}"
    return Verification(True, False, mean_excess, words)


def _optimum(loss: SetFunction, g: Array) -> tuple[SetFunction, float]:
    """D's g, and how far from optimal the given one is."""
    parts = decompose(loss)
    if parts.certificate.unique:
        return parts.supermodular, measure_table(loss.table, g, least=parts.supermodular.table).column_residual
    from setloss.decomposition.program import measure_multipliers, solve_program  # as above

    multipliers = solve_program(loss.table).multipliers
    return parts.supermodular, measure_multipliers(loss.table, g, multipliers).column_residual


def _why_infeasible(loss: SetFunction, g: SetFunction) -> str:
    """The law that fails by most, in words."""
    checks = [("g", is_supermodular(g)), ("g", is_increasing(g)), ("g", is_nonnegative(g))]
    checks += [("l - g", is_submodular(loss - g))]
    failed = [(name, verdict) for name, verdict in checks if not verdict]
    name, worst = max(failed or checks, key=lambda pair: pair[1].excess)
    return f"{name} is not {worst.law}: {worst.witness}"
