"""A bound on the memory of a fit in one process: what it needs is known before it begins."""

from __future__ import annotations

from typing import Any

from setloss.dask.reports import Summary

COPIES = 3
"""A partition as it is read, as rows of numbers, and one more for what reads it."""

LINE_BYTES = 120
"""Per element, for cutting planes: truth, row, task, sign, group, three sets of margins, slopes and their sums."""

BLOCK_BYTES = 300
"""Per element, for dual steps: the same, and the active cuts of its bag."""

VECTORS = 500
"""Of the size of the parameters, on the driver: planes, where they touch the risk, and copies while they grow."""

SHARES = 150
"""Of the size of the parameters, for dual steps: what a partition remembers of its shares of the planes."""

SMALL_PARTITION = 64_000_000
"""Bytes; a partition may remember as much as it is large, or so much."""

INTERPRETER = 350_000_000
"""Python with NumPy, numba, Dask and PyArrow, before any data."""


def in_bytes(memory: Any) -> int:
    """A number of bytes, also as text with a unit."""
    from dask.utils import parse_bytes

    try:
        amount = int(parse_bytes(memory)) if memory else 0
    except (ValueError, TypeError):
        amount = 0
    if amount <= 0:
        raise ValueError(f'memory is a number of bytes or text as "2GB"; got {memory!r}')
    return amount


def share_bytes(parameters: int) -> int:
    """What dual steps make a partition remember of planes."""
    return 8 * SHARES * parameters


def check_memory(memory: int, shape: tuple[int, int], found: Summary, *, steps: bool, asked: bool) -> bool:
    """Refuse what cannot fit; returns whether dual steps do, which `asked` makes a must."""
    fixed = INTERPRETER + COPIES * found.largest + VECTORS * 8 * shape[0] * shape[1]
    shares = len(found.digests) * share_bytes(shape[0] * shape[1])
    needs = {True: fixed + BLOCK_BYTES * found.elements + shares, False: fixed + LINE_BYTES * found.elements}
    if steps and needs[True] <= memory:
        return True
    needed = needs[True] if asked else needs[False]
    if needed <= memory:
        return False
    raise ValueError(
        f"memory={_words(memory)} is too little; this fit needs about {_words(needed)}: {_words(INTERPRETER)} for "
        f"Python and its libraries, {COPIES} times the largest partition of {_words(found.largest)}, "
        f"{_words(needed - fixed)} for {found.elements} elements, and some vectors. Allow more, make smaller parts"
        + (', or take solver="cutting_plane"' if asked and needs[False] <= memory else "")
    )


def _words(amount: int) -> str:
    return f"{amount / 1e9:.2f} GB" if amount >= 10**9 else f"{amount / 1e6:.1f} MB"
