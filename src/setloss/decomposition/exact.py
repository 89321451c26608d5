"""Exact numbers for the linear program of D: binomial weights, fixed-point vectors, a closed-form dual point.

The dual of D asks for ``y >= 0`` with ``(K^T y)(a) = w(a)`` on every free cell. At 40 + 40 elements ``y``
reaches 1e25 on rows that touch cells of weight 1, so no float64 vector meets that equation to six digits in
every cell. Inside the package ``y`` is therefore a vector of Python integers in units of ``2**-FRACTION_BITS``,
and outside of it a stack of float64 vectors whose exact sum is ``y``.
"""

from __future__ import annotations

from functools import reduce
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.setfunctions.differences import axis_pairs, cell_levels
from setloss.setfunctions.tolerance import ROUNDING
from setloss.typing import Array, Shape

Exact = NDArray[np.object_]

FRACTION_BITS = 128
ONE = 1 << FRACTION_BITS


def exact_weights(shape: Shape) -> Exact:
    """``prod_b C(n_b, a_b)`` of every cell as Python integers, flat."""
    binomials = [integers(comb(length - 1, a) for a in range(length)) for length in shape]
    return np.asarray(reduce(np.multiply.outer, binomials, integers([1]))).ravel()


def integers(values: Any) -> Exact:
    """A vector of Python integers (NumPy's own would overflow)."""
    listed = [int(value) for value in values]
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


def to_integers(values: Array) -> tuple[Exact, int]:
    """Floats as whole numbers of one unit: ``values = numbers * 2**exponent``, exactly."""
    mantissas, exponents = np.frexp(values.ravel())
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    exponent = int(np.min(exponents[whole != 0], initial=0)) - 53
    shifts = np.where(whole != 0, exponents - 53 - exponent, 0)
    numbers = integers(number << shift for number, shift in zip(whole.tolist(), shifts.tolist(), strict=True))
    return numbers.reshape(values.shape), exponent


def rounded(numbers: Exact, exponent: int) -> Array:
    """The floats nearest to ``numbers * 2**exponent``."""
    unit = 1 << abs(exponent)
    floats = [number / unit if exponent < 0 else float(number * unit) for number in numbers.ravel().tolist()]
    return np.array(floats, dtype=np.float64).reshape(numbers.shape)


def shifted(numbers: Exact, bits: int) -> Exact:
    """``numbers * 2**bits``; what is below the unit is dropped."""
    return integers(number << bits if bits >= 0 else number >> -bits for number in numbers.ravel().tolist())


def to_fixed(values: Array) -> Exact:
    """Floats in units of ``2**-FRACTION_BITS``; bits below that unit are dropped."""
    numbers, exponent = to_integers(values)
    return shifted(numbers, exponent + FRACTION_BITS)


def to_float(fixed: Exact) -> Array:
    """The nearest floats of a fixed-point vector."""
    return rounded(fixed, -FRACTION_BITS)


def to_stack(fixed: Exact) -> Array:
    """Float vectors, largest first, whose exact sum is the fixed-point vector; shape ``(layers, n)``."""
    layers = [to_float(fixed)]
    rest = fixed - to_fixed(layers[0])
    while rest.any():
        layers.append(to_float(rest))
        rest = rest - to_fixed(layers[-1])
    return np.array(layers)


def from_stack(stack: Array) -> Exact:
    """The exact sum of float vectors; one plain vector of shape ``(n,)`` is a stack of height one."""
    return sum((to_fixed(layer) for layer in np.atleast_2d(stack)), start=integers([0] * stack.shape[-1]))


def exact_product(matrix: csr_array, vector: Exact) -> Exact:
    """``matrix @ vector`` without rounding, for an integer matrix and a vector of Python integers."""
    terms = integers(matrix.data) * vector[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = integers([0] * matrix.shape[0])
    np.add.at(out, rows, terms)
    return out


def telescope(mass: Exact) -> Exact:
    """Multipliers ``y >= 0`` with ``K^T y = mass`` on the free cells, for a table ``mass >= 0`` of integers.

    Filling the groups in order leads from the empty set to ``a`` through prefixes, and with
    ``g(empty) = g(e_b) = 0``

        g(a) = sum_{i < j} (second difference of g at prefix i - 1 along the groups of the steps i and j).

    So ``g(a) >= 0`` follows from the rows of K, and this is the sum of those derivations, each ``mass(a)`` times;
    in the row order of `second_difference_matrix`. With the weights as mass it is a feasible point of the dual of D.
    """
    blocks = [_telescope_block(mass, b, c).ravel() for b, c in axis_pairs(mass.shape)]
    return np.concatenate(blocks) if blocks else integers([])


def _telescope_block(mass: Exact, b: int, c: int) -> Exact:
    """The rows along ``b <= c``; nonzero only where the groups after ``b`` are still empty."""
    counts = integers(range(mass.shape[c])).reshape([-1 if axis == c else 1 for axis in range(mass.ndim)])
    later_steps = mass if b == c else mass * counts
    reached = _sum_from(later_steps.sum(axis=tuple(range(b + 1, mass.ndim)), keepdims=True), b)
    if b == c:
        reached = _sum_from(np.delete(reached, 0, axis=b), b)
    lengths = list(mass.shape)
    lengths[b] -= 1
    lengths[c] -= 1
    block = integers([0] * int(np.prod(lengths, dtype=np.intp))).reshape(lengths)
    block[tuple(slice(None) if axis <= b else slice(1) for axis in range(mass.ndim))] = np.delete(reached, 0, axis=b)
    return block


def _sum_from(values: Exact, axis: int) -> Exact:
    """``out[x] = sum over n >= x of values[n]`` along ``axis``."""
    return np.flip(np.cumsum(np.flip(values, axis), axis=axis, dtype=object), axis)


# ---------------------------------------------------------------- l = f + g as two tables of floats
# Where g is large and f small, l - g in floats has the rounding errors of l and g, which may exceed f. So f is
# computed from g before g is rounded: either table has relative errors of its own size, and obeys its laws up to
# those.


def rest_in_floats(loss: Array, supermodular: Array) -> Array:
    """The part f = l - g, with zeros where rounding alone has left something."""
    return _tidied(loss - supermodular, np.maximum(np.abs(loss), np.abs(supermodular)))


def rest_exactly(loss: Exact, supermodular: Exact, exponent: int, resolution: int = 0) -> Array:
    """The part f = l - g of whole numbers of ``2**exponent``, rounded once, with the same zeros.

    Where g is not zero it is known to ``resolution`` units (0: exactly), and so is f: anything less is what a solve
    left of l = g. Where g is zero f is l, however small.
    """
    rest = loss - supermodular
    rest[(np.abs(rest) < resolution) & (supermodular != 0)] = 0
    sizes = np.maximum(np.abs(loss), np.abs(supermodular))
    return _tidied(rounded(rest, exponent), rounded(sizes, exponent))


def _tidied(values: Array, sizes: Array) -> Array:
    """Zero where a value, and all values of subsets, are no more than |A| (or 64) rounding errors of the sizes."""
    noise = np.abs(values) <= ROUNDING * np.minimum(cell_levels(values.shape), 64) * sizes
    for axis in range(values.ndim):
        noise = np.logical_and.accumulate(noise, axis)
    return np.where(noise, 0.0, values)
