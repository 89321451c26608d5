"""Fixed-point numbers for the linear program of D: Python integers in units of ``2**-FRACTION_BITS``.

At 40 + 40 elements multipliers of 1e25 meet in cells of weight 1600, so no float64 vector satisfies the equations of
the dual to six digits in every cell. Integers do. Values of l, scaled to at most 1 without their modular part, need
no rounding within the range that D takes.
"""

from functools import reduce
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setloss.typing import Array, Shape

Exact = NDArray[np.object_]

FRACTION_BITS = 128
"""Above the 53 bits of a float, 27 for the range of values and 40 that the weights may take from a solve."""

ONE = 1 << FRACTION_BITS


def integers(values: Any) -> Exact:
    """A vector of Python integers (NumPy's own would overflow)."""
    listed = [int(value) for value in values]
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


def to_fixed(values: Array) -> Exact:
    """Floats in fixed point; bits below the unit are dropped."""
    return integers(np.ldexp(values.ravel(), FRACTION_BITS)).reshape(values.shape)


def to_float(fixed: Exact) -> Array:
    """The nearest floats of fixed-point numbers."""
    return np.array([number / ONE for number in fixed.ravel().tolist()], dtype=np.float64).reshape(fixed.shape)


def exact_weights(shape: Shape) -> Exact:
    """``prod_b C(n_b, a_b)`` of every cell as Python integers, flat."""
    binomials = [integers(comb(length - 1, a) for a in range(length)) for length in shape]
    return np.asarray(reduce(np.multiply.outer, binomials, integers([1]))).ravel()


def exact_product(matrix: csr_array, vector: Exact) -> Exact:
    """``matrix @ vector`` without rounding, for an integer matrix."""
    terms = integers(matrix.data) * vector[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    out = integers([0] * matrix.shape[0])
    np.add.at(out, rows, terms)
    return out
