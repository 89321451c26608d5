"""Is it submodular? Verdicts on set functions, with a witness in words when the answer is no.

Every law is a family of inequalities ``lhs(A, i, j) <= 0``; the verdict reports the largest left-hand side
(`excess`, at most zero if the law holds with room) and holds when that is within the tolerance: `rtol` times what
the law compares, the largest |l(A)| or, for the laws of gains and curvature, the largest |l(A + i) - l(A)|, but never
less than the rounding error of the values (``rtol=0`` is exact). Where a table is too large the verdict rests on
what is proved for the closed form, or on a violation found among the smallest or the largest counts; if neither
decides, it raises `TableTooLargeError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from setloss.setfunctions.counts import MAX_CELLS, TableTooLargeError
from setloss.setfunctions.differences import axis_pairs, second_difference
from setloss.setfunctions.set_function import RELATIVE_TOLERANCE, SetFunction, elements_of
from setloss.typing import Array

ROUNDING = 8 * float(np.finfo(np.float64).eps)

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
    """Whether a law holds, by how much, and where it fails most."""

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


@dataclass(frozen=True)
class _Worst:
    """The largest left-hand side of one family of inequalities, its cell, and how to speak of it."""

    excess: float
    cell: tuple[int, ...]
    explain: Callable[[SetFunction, tuple[int, ...]], Witness]


def is_submodular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) - l(A) >= l(A + j + i) - l(A + j): gains shrink (Definition 3)."""
    return _verdict("submodular", function, rtol, lambda table: _curvature(table, 1.0), _largest_gain)


def is_supermodular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) - l(A) <= l(A + j + i) - l(A + j): gains grow."""
    return _verdict("supermodular", function, rtol, lambda table: _curvature(table, -1.0), _largest_gain)


def is_modular(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """Both submodular and supermodular: l(A) is a sum over A."""

    def blocks(table: Array) -> Iterator[_Worst]:
        yield from _curvature(table, 1.0)
        yield from _curvature(table, -1.0)

    return _verdict("modular", function, rtol, blocks, _largest_gain)


def is_symmetric(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A + i) = l(A + j): only the number of elements counts (Definition 4)."""
    return _verdict("symmetric", function, rtol, _asymmetry)


def is_increasing(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A) <= l(A + i): more mistakes never cost less (Definition 5)."""
    return _verdict("increasing", function, rtol, _descent, _largest_gain)


def is_nonnegative(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> Verdict:
    """l(A) >= 0 (Definition 2)."""
    return _verdict("non-negative", function, rtol, _negativity)


LAWS: dict[str, Callable[..., Verdict]] = {
    "submodular": is_submodular,
    "supermodular": is_supermodular,
    "modular": is_modular,
    "symmetric": is_symmetric,
    "increasing": is_increasing,
    "non-negative": is_nonnegative,
}


def verdicts(function: SetFunction, rtol: float = RELATIVE_TOLERANCE) -> dict[str, Verdict]:
    """All six verdicts by name."""
    return {law: judge(function, rtol) for law, judge in LAWS.items()}


def _verdict(
    law: str,
    function: SetFunction,
    rtol: float,
    blocks: Callable[[Array], Iterator[_Worst]],
    unit: Callable[[Array], float] | None = None,
) -> Verdict:
    if not np.isfinite(rtol) or rtol < 0:
        raise ValueError(f"rtol must be a non-negative number; got {rtol}")
    if function.counts.laws.get(law):
        return Verdict(law, True, 0.0, 0.0, None, proved=True)
    whole = function.counts.cells <= MAX_CELLS
    worst, tolerance = None, 0.0
    for base, table in [(None, function.table)] if whole else _corners(function):
        worst = max(blocks(table), key=lambda block: block.excess, default=None)
        tolerance = max(rtol * (unit or _largest_value)(table), ROUNDING * _largest_value(table)) if rtol else 0.0
        if worst is not None and worst.excess > tolerance:
            cell = tuple(a + b for a, b in zip(worst.cell, base or [0] * table.ndim, strict=True))
            return Verdict(law, False, worst.excess, tolerance, worst.explain(function, cell))
    if not whole:
        raise TableTooLargeError(
            f"whether this set function over {function.p} elements is {law} cannot be read off a closed form "
            f"and its table of {function.counts.cells:.3g} cells is too large. Check a smaller set of the "
            "same kind."
        )
    return Verdict(law, True, worst.excess if worst else 0.0, tolerance, None)


def _largest_value(table: Array) -> float:
    return float(np.max(np.abs(table), initial=0.0))


def _largest_gain(table: Array) -> float:
    gains = (np.abs(np.diff(table, axis=b)) for b in range(table.ndim))
    return max(float(np.max(gain, initial=0.0)) for gain in gains)


def _corners(function: SetFunction) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The blocks of smallest and of largest counts, where a law that fails usually fails first."""
    k = len(function.sizes)
    side = min(CORNER, int(MAX_CELLS ** (1 / k)))
    if side < 3:
        raise TableTooLargeError(f"no table fits a function over {function.p} elements in {k} groups")
    shape = tuple(min(n, side) for n in function.counts.shape)
    top = tuple(n - s for n, s in zip(function.counts.shape, shape, strict=True))
    for base in ((0,) * k, top):
        yield base, function.counts.block(shape, base)


def _largest(block: Array) -> tuple[float, tuple[int, ...]]:
    where = np.unravel_index(int(np.argmax(block)), block.shape)
    return float(block[where]) + 0.0, tuple(int(a) for a in where)


def _curvature(table: Array, sign: float) -> Iterator[_Worst]:
    for b, c in axis_pairs(table.shape):
        excess, cell = _largest(sign * second_difference(table, b, c))
        yield _Worst(excess, cell, partial(_curvature_witness, b=b, c=c))


def _asymmetry(table: Array) -> Iterator[_Worst]:
    k = table.ndim
    for b in range(k):
        for c in range(b + 1, k):
            if min(table.shape[b], table.shape[c]) < 2:
                continue
            plus_b = _drop(_drop(table, b, first=True), c, first=False)
            plus_c = _drop(_drop(table, c, first=True), b, first=False)
            excess, cell = _largest(np.abs(plus_b - plus_c))
            yield _Worst(excess, cell, partial(_asymmetry_witness, b=b, c=c))


def _descent(table: Array) -> Iterator[_Worst]:
    for b, length in enumerate(table.shape):
        if length >= 2:
            excess, cell = _largest(-np.diff(table, axis=b))
            yield _Worst(excess, cell, partial(_descent_witness, b=b))


def _negativity(table: Array) -> Iterator[_Worst]:
    excess, cell = _largest(-table)
    yield _Worst(excess, cell, _negativity_witness)


def _drop(table: Array, axis: int, *, first: bool) -> Array:
    keep = slice(1, None) if first else slice(None, -1)
    return table[tuple(keep if b == axis else slice(None) for b in range(table.ndim))]


def _set(elements: tuple[int, ...]) -> str:
    if len(elements) > 12:
        return "{" + ", ".join(map(str, elements[:6])) + f", ... {len(elements)} elements}}"
    return "{" + ", ".join(map(str, elements)) + "}"


def _apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers in words, with as many digits as it takes to tell them apart."""
    digits = next((d for d in (6, 9, 12) if f"{first:.{d}g}" != f"{second:.{d}g}"), 17)
    return f"{first:.{digits}g}", f"{second:.{digits}g}"


def _next(function: SetFunction, cell: tuple[int, ...], axis: int) -> int:
    return int(np.flatnonzero(function.groups == axis)[cell[axis]])


def _raised(cell: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(a + (b == axis) for b, a in enumerate(cell))


def _value(function: SetFunction, cell: tuple[int, ...]) -> float:
    return float(function.counts(*(np.intp(a) for a in cell)))


def _curvature_witness(function: SetFunction, cell: tuple[int, ...], b: int, c: int) -> Witness:
    A = elements_of(function, cell)
    j = _next(function, cell, c)
    with_j = _raised(cell, c)
    i = _next(function, with_j, b)
    small = _value(function, _raised(cell, b)) - _value(function, cell)
    large = _value(function, _raised(with_j, b)) - _value(function, with_j)
    before, after = _apart(small, large)
    words = f"adding {i} to {_set(A)} gains {before}, to {_set(tuple(sorted((*A, j))))} gains {after}"
    return Witness(A, i, j, words)


def _asymmetry_witness(function: SetFunction, cell: tuple[int, ...], b: int, c: int) -> Witness:
    A, i, j = elements_of(function, cell), _next(function, cell, b), _next(function, cell, c)
    left, right = _apart(_value(function, _raised(cell, b)), _value(function, _raised(cell, c)))
    return Witness(A, i, j, f"adding {i} to {_set(A)} gives {left}, adding {j} gives {right}")


def _descent_witness(function: SetFunction, cell: tuple[int, ...], b: int) -> Witness:
    A, i = elements_of(function, cell), _next(function, cell, b)
    before, after = _apart(_value(function, cell), _value(function, _raised(cell, b)))
    return Witness(A, i, None, f"adding {i} to {_set(A)} lowers the value from {before} to {after}")


def _negativity_witness(function: SetFunction, cell: tuple[int, ...]) -> Witness:
    A = elements_of(function, cell)
    return Witness(A, None, None, f"the value of {_set(A)} is {_value(function, cell):.6g}")
