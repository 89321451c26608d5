"""Greedy and one-pass searches for the worst set of every bag under slack rescaling, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from setloss.setfunctions.set_function import SetFunction


def flat_tables(functions: Sequence[SetFunction]) -> tuple[NDArray[Any], ...]:
    """All tables in one array: where each starts, the stride of each of its groups, and the values."""
    strides = np.zeros(
        (len(functions), max((len(function.sizes) for function in functions), default=1)), dtype=np.int64
    )
    for row, function in zip(strides, functions, strict=True):
        row[: len(function.sizes)] = np.array(function.table.strides) // function.table.itemsize
    values = [function.table.ravel() for function in functions]
    starts = np.cumsum([0, *map(len, values)])[:-1]
    return starts, strides, np.concatenate([*values, np.zeros(0)])


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _greedy(margins: Any, groups: Any, cell: int, strides: Any, values: Any, scale: float, chosen: Any) -> int:
    """Add the element that raises the objective most, until none does; returns the cell of the set."""
    order = np.argsort(margins, kind="mergesort")
    value, total = 0.0, 0.0
    while True:
        best, taken = value, -1
        for b in range(len(strides)):
            for i in order:
                if groups[i] == b and not chosen[i]:
                    loss = values[cell + strides[b]]
                    raised = loss * (1.0 - scale * (total + margins[i])) if loss > 0.0 else 0.0
                    if raised > best:
                        best, taken = raised, i
                    break
        if taken < 0:
            return cell
        chosen[taken] = True
        value, total, cell = best, total + margins[taken], cell + strides[groups[taken]]


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _one_pass(margins: Any, groups: Any, cell: int, strides: Any, values: Any, scale: float, chosen: Any) -> int:
    """Every element once, in the order of the data; it stays if it raises the objective."""
    value, total = 0.0, 0.0
    for i in range(len(margins)):
        loss = values[cell + strides[groups[i]]]
        raised = loss * (1.0 - scale * (total + margins[i])) if loss > 0.0 else 0.0
        if raised > value:
            chosen[i] = True
            value, total, cell = raised, total + margins[i], cell + strides[groups[i]]
    return cell


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def search_bags(margins: Any, bags: Any, tables: Any, scale: float, greedy: bool, chosen: Any, losses: Any) -> None:
    """Mark the set that is found in every bag, and write its loss."""
    offsets, groups, which = bags
    starts, strides, values = tables
    for i in range(len(which)):
        here, kind = slice(offsets[i], offsets[i + 1]), which[i]
        bag = (margins[here], groups[here], starts[kind], strides[kind], values, scale, chosen[here])
        losses[i] = values[_greedy(*bag) if greedy else _one_pass(*bag)]
