"""The monotone closure f_up(A) = min over B containing A of f(B): the largest increasing function below f.

It keeps submodularity, and gives the Lovász hinge back its element-wise positive part.
"""

from __future__ import annotations

import numpy as np

from setloss.setfunctions.counts import Table
from setloss.setfunctions.properties import is_nonnegative
from setloss.setfunctions.set_function import SetFunction


def monotone_closure(function: SetFunction) -> SetFunction:
    """f_up on the table of `function`; where f >= 0, f_up(empty) = 0.

    A function with negative values has f_up(empty) < 0: f_up is then no loss, and a `ValueError` says where.

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
    nonnegative = is_nonnegative(function)
    if not nonnegative:
        raise ValueError(
            f"the monotone closure of this function is {float(table.flat[0]):.6g} at the empty set instead of 0, "
            f"because {nonnegative.witness}. Only a non-negative function has one; use the operator without the "
            "closure, bd, or slack."
        )
    return SetFunction(Table(np.maximum(table, 0.0)), function.partition)
