"""Verdicts on set functions (submodular, increasing and so on), with a witness in words when the answer is no.

Every law is a family of inequalities ``lhs(A, i, j) <= 0``, each judged by its own magnitudes (`tolerance`). The
verdict reports one of them, its left-hand side (`excess`) and what that may be (`tolerance`): the one that fails by
most, or, where the law holds, the one that is nearest to failing in absolute terms. Where a table is too large the
verdict rests on what is proved for the closed form, or on a violation found among the smallest or the largest
counts; if neither decides, it raises `TableTooLargeError`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from setloss.setfunctions.counts import MAX_CELLS, Table, TableTooLargeError, cells_in_words
from setloss.setfunctions.differences import (
    RELATIVE_TOLERANCE,
    Inequalities,
    asymmetry,
    curvature,
    descent,
    negativity,
    raised,
)
from setloss.setfunctions.set_function import SetFunction, elements_of
from setloss.typing import Array, Shape

CORNER = 64
"""Side of the blocks of smallest and largest counts that are searched when the whole table is too large."""


@dataclass(frozen=True)
class Witness:
    """A set A and elements i, j outside it for which the law fails, and the same in words."""

    A: tuple[int, ...]
    i: int | None
    j: int | None
    words: str

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Verdict:
    """Whether a law holds, by how much, and where it fails most.

    Examples
    --------
    >>> verdict = is_submodular(SetFunction.symmetric([0, 1, 1.5, 3]))
    >>> verdict.holds, verdict.excess, verdict.witness.words
    (False, 1.0, 'adding 2 to {0} gains 0.5, to {0, 1} gains 1.5')
    """

    law: str
    holds: bool
    excess: float
    tolerance: float
    witness: Witness | None
    proved: bool = False

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.proved:
            return f"{self.law}: yes, proved for this closed form"
        if self.witness is None:
            return f"{self.law}: yes (largest excess {self.excess:.3g}, tolerance {self.tolerance:.1g})"
        return f"{self.law}: no, by {self.excess:.3g}: {self.witness}"


def is_submodular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) - l(A) >= l(A + j + i) - l(A + j): gains shrink (Definition 3).

    Examples
    --------
    >>> verdict = is_submodular(SetFunction.symmetric([0, 1, 1.5, 3]))
    >>> bool(verdict), str(verdict.witness)
    (False, 'adding 2 to {0} gains 0.5, to {0, 1} gains 1.5')
    """
    return _judge("submodular", function, rtol, lambda table: curvature(table, 1), _curvature_witness)


def is_supermodular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) - l(A) <= l(A + j + i) - l(A + j): gains grow.

    Examples
    --------
    >>> bool(is_supermodular(SetFunction.symmetric([0, 1, 3])))
    True
    """
    return _judge("supermodular", function, rtol, lambda table: curvature(table, -1), _curvature_witness)


def is_modular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """Both submodular and supermodular: l(A) is a sum over A.

    Examples
    --------
    >>> bool(is_modular(SetFunction.symmetric([0, 1, 2])))
    True
    """
    return _judge("modular", function, rtol, lambda table: curvature(table, 1, -1), _curvature_witness)


def is_symmetric(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) = l(A + j): only the number of elements counts (Definition 4).

    Examples
    --------
    >>> bool(is_symmetric(SetFunction.from_table([[0, 1], [2, 3]])))
    False
    """
    return _judge("symmetric", function, rtol, asymmetry, _asymmetry_witness)


def is_increasing(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A) <= l(A + i): more mistakes never cost less (Definition 5).

    Examples
    --------
    >>> bool(is_increasing(SetFunction.symmetric([0, 2, 1])))
    False
    """
    return _judge("increasing", function, rtol, descent, _descent_witness)


def is_nonnegative(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A) >= 0 (Definition 2).

    Examples
    --------
    >>> bool(is_nonnegative(SetFunction.symmetric([0, 2, 1])))
    True
    """
    return _judge("non-negative", function, rtol, negativity, _negativity_witness)


LAWS: dict[str, Callable[..., Verdict]] = {
    "submodular": is_submodular,
    "supermodular": is_supermodular,
    "modular": is_modular,
    "symmetric": is_symmetric,
    "increasing": is_increasing,
    "non-negative": is_nonnegative,
}


def verdicts(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> dict[str, Verdict]:
    """All six verdicts by name.

    Examples
    --------
    >>> [law for law, verdict in verdicts(SetFunction.symmetric([0, 2, 1])).items() if verdict]
    ['submodular', 'symmetric', 'non-negative']
    """
    return {law: judge(function, rtol) for law, judge in LAWS.items()}


def monotone_closure(function: SetFunction) -> SetFunction:
    """The monotone closure f_up(A) = min over B containing A of f(B): the largest increasing function below f.

    It keeps submodularity, and gives the Lovász hinge back its element-wise positive part. A function with negative
    values has f_up(empty) < 0: f_up is then no loss, and a `ValueError` says where.

    Examples
    --------
    >>> monotone_closure(SetFunction.symmetric([0, 2, 1])).table
    array([0., 1., 1.])
    """
    closed = function.counts.closure()
    if closed is not None:
        return SetFunction(closed, function.partition)
    table = function.table
    for axis in range(table.ndim):
        table = np.flip(np.minimum.accumulate(np.flip(table, axis), axis), axis)
    if not (nonnegative := is_nonnegative(function)):
        raise ValueError(
            f"the monotone closure of this function is {float(table.flat[0]):.6g} at the empty set instead of 0, "
            f"because {nonnegative.witness}. Only a non-negative function has one; use the operator without the "
            "closure, bd, or slack."
        )
    return SetFunction(Table(np.maximum(table, 0.0)), function.partition)


class _Worst(NamedTuple):
    """The inequality that is broken by most or, where none is, the one that is nearest to it."""

    is_broken: bool = False
    excess: float = 0.0
    tolerance: float = 0.0
    cell: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()


def _judge(
    law: str,
    function: SetFunction,
    rtol: float,
    inequalities: Callable[[Array], Iterator[Inequalities]],
    witness: Callable[..., Witness],
) -> Verdict:
    """The verdict from a proof, from the whole table, or from the two corners of a table that is too large."""
    if not np.isfinite(rtol) or rtol < 0:
        raise ValueError(f"rtol must be a non-negative number; got {rtol}")
    if function.counts.laws.get(law):
        return Verdict(law, True, 0.0, 0.0, None, proved=True)
    for base, table in _blocks(function):
        worst = max((_worst(one, rtol) for one in inequalities(table)), default=_Worst(), key=lambda one: one[:2])
        if worst.is_broken:
            cell = tuple(a + b for a, b in zip(worst.cell, base, strict=True))
            return Verdict(law, False, worst.excess, worst.tolerance, witness(function, cell, *worst.axes))
    if function.counts.cells > MAX_CELLS:
        raise TableTooLargeError(
            f"whether this set function over {function.p} elements is {law} cannot be read off a closed form, and "
            f"its table of {cells_in_words(function.counts.cells)} cells is too large; check a smaller set like it"
        )
    return Verdict(law, True, worst.excess, worst.tolerance, None)


def _blocks(function: SetFunction) -> Iterator[tuple[Shape, Array]]:
    """The whole table; if it is too large, the smallest and largest counts, where a law usually fails first."""
    shape, origin = function.counts.shape, (0,) * len(function.sizes)
    if function.counts.cells <= MAX_CELLS:
        yield origin, function.table
        return
    side = min(CORNER, int(MAX_CELLS ** (1 / len(shape))))
    block = tuple(min(n, side) for n in shape)
    for base in (origin, tuple(n - s for n, s in zip(shape, block, strict=True))):
        yield base, function.counts.block(block, base)


def _worst(family: Inequalities, rtol: float) -> _Worst:
    excess = family.excess
    cells = np.nonzero(excess > 0)
    broken = excess[cells] > family.tolerances(cells, rtol)
    if np.any(broken):
        cells = tuple(index[broken] for index in cells)
        at = tuple(int(index[np.argmax(excess[cells])]) for index in cells)
    else:
        at = tuple(int(a) for a in np.unravel_index(int(np.argmax(excess)), excess.shape))
    tolerance = family.tolerances(tuple(np.array([a]) for a in at), rtol)
    return _Worst(bool(np.any(broken)), float(excess[at]) + 0.0, float(tolerance[0]), at, family.axes)


def _set(elements: tuple[int, ...]) -> str:
    if len(elements) > 12:
        return "{" + ", ".join(map(str, elements[:6])) + f", ... {len(elements)} elements}}"
    return "{" + ", ".join(map(str, elements)) + "}"


def _apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers in words, with as many digits as it takes to tell them apart."""
    digits = next((d for d in (6, 9, 12) if f"{first:.{d}g}" != f"{second:.{d}g}"), 17)
    return f"{first:.{digits}g}", f"{second:.{digits}g}"


def _next(function: SetFunction, cell: tuple[int, ...], axis: int) -> int:
    return int(np.flatnonzero(function.partition == axis)[cell[axis]])


def _value(function: SetFunction, cell: tuple[int, ...]) -> float:
    return float(function.counts(*(np.intp(a) for a in cell)))


def _curvature_witness(function: SetFunction, cell: tuple[int, ...], b: int, c: int) -> Witness:
    A = elements_of(function, cell)
    j = _next(function, cell, c)
    with_j = raised(cell, c)
    i = _next(function, with_j, b)
    small = _value(function, raised(cell, b)) - _value(function, cell)
    large = _value(function, raised(with_j, b)) - _value(function, with_j)
    before, after = _apart(small, large)
    words = f"adding {i} to {_set(A)} gains {before}, to {_set(tuple(sorted((*A, j))))} gains {after}"
    return Witness(A, i, j, words)


def _asymmetry_witness(function: SetFunction, cell: tuple[int, ...], b: int, c: int) -> Witness:
    A, i, j = elements_of(function, cell), _next(function, cell, b), _next(function, cell, c)
    left, right = _apart(_value(function, raised(cell, b)), _value(function, raised(cell, c)))
    return Witness(A, i, j, f"adding {i} to {_set(A)} gives {left}, adding {j} gives {right}")


def _descent_witness(function: SetFunction, cell: tuple[int, ...], b: int) -> Witness:
    A, i = elements_of(function, cell), _next(function, cell, b)
    before, after = _apart(_value(function, cell), _value(function, raised(cell, b)))
    return Witness(A, i, None, f"adding {i} to {_set(A)} lowers the value from {before} to {after}")


def _negativity_witness(function: SetFunction, cell: tuple[int, ...]) -> Witness:
    A = elements_of(function, cell)
    return Witness(A, None, None, f"the value of {_set(A)} is {_value(function, cell):.6g}")
