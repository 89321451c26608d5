"""The order of margins, compiled: insertion for small bags, merge sort, and radix sort from a thousand elements on.

A comparison sort of a million margins costs more than all the rest of a cut; three passes over eleven bits each of
a float32 do not. All three keep the order of ties, so the size of a bag never shows in a result.
"""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel

SMALL = 24
"""Up to this many elements are sorted by insertion."""

LARGE = 1024
"""From here on clearing and summing the radix counters no longer shows."""


_BITS, _BUCKETS = np.uint64(11), 2048
TALLIES = 3 * _BUCKETS
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_SIGN, _ALL = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)


@kernel(forceinline=True)
def sort_elements(margins, order, spare, tallies):
    """Sort the elements in `order`, given in ascending order, by their margins; `spare` is as long as `order`.

    `tallies` are `TALLIES` counters for radix sort; None where no bag is large.
    """
    if tallies is None or len(order) < LARGE:
        _merge(margins, order, spare)
    else:
        _radix(margins, order, spare, tallies)


@kernel(forceinline=True)
def _insertion(margins, order, first, last):
    for k in range(first + 1, last):
        element = order[k]
        key = margins[element]
        j = k
        while j > first and margins[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = element


@kernel(forceinline=True)
def _merge(margins, order, spare):
    """Runs of `SMALL` elements by insertion; then neighbouring runs are merged until there is one."""
    n, run = len(order), SMALL
    for start in range(0, n, run):
        _insertion(margins, order, start, min(start + run, n))
    while run < n:
        for start in range(0, n, 2 * run):
            middle, end = min(start + run, n), min(start + 2 * run, n)
            left, right = start, middle
            for k in range(start, end):
                if right >= end or (left < middle and margins[order[left]] <= margins[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
        for k in range(n):
            order[k] = spare[k]
        run *= 2


@kernel(forceinline=True)
def _radix(margins, order, spare, tallies):
    """Stable, word by word: the lower half of a float64 first, then the upper half, or the one word of a float32."""
    words = margins.view(np.uint32)
    width = len(words) // len(margins)
    pairs, free = order.view(np.uint64), spare.view(np.uint64)
    for word in range(width):
        for k in range(len(order)):
            element = order[k]
            top = words[width * element + width - 1]
            part = words[width * element + word]
            # As unsigned words, floats of either sign ascend once negative ones are inverted; -0 is 0.
            if top >= _SIGN and (top > _SIGN or words[width * element] > (_SIGN if width == 1 else np.uint32(0))):
                part = part ^ _ALL
            elif word == width - 1:
                part = part | _SIGN
            pairs[k] = (np.uint64(part) << _WORD) | np.uint64(element)
        _sort_pairs(pairs, free, tallies)
        for k in range(len(order)):
            pairs[k] &= _LOW


@kernel(forceinline=True)
def _sort_pairs(pairs, spare, tallies):
    """Sort by the upper 32 bits, least significant digit first; digits that are all the same cost nothing."""
    n = len(pairs)
    for b in range(TALLIES):
        tallies[b] = 0
    for k in range(n):
        key = pairs[k] >> _WORD
        tallies[key & np.uint64(2047)] += 1
        tallies[_BUCKETS + np.int64((key >> _BITS) & np.uint64(2047))] += 1
        tallies[2 * _BUCKETS + np.int64(key >> np.uint64(22))] += 1
    source, target = pairs, spare
    moved = 0
    for digit in range(3):
        shift = _WORD + np.uint64(digit) * _BITS
        tally = tallies[digit * _BUCKETS : (digit + 1) * _BUCKETS]
        if tally[(source[0] >> shift) & np.uint64(2047)] == n:
            continue
        total = 0
        for b in range(_BUCKETS):
            tally[b], total = total, total + tally[b]
        for k in range(n):
            pair = source[k]
            bucket = (pair >> shift) & np.uint64(2047)
            target[tally[bucket]] = pair
            tally[bucket] += 1
        source, target = target, source
        moved += 1
    if moved % 2:
        for k in range(n):
            pairs[k] = spare[k]
