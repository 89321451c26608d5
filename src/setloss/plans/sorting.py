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
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_SIGN, _ALL = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)


@kernel()
def sort_elements(margins, order, spare):
    """Sort the elements in `order`, given in ascending order, by their margins; `spare` is as long as `order`."""
    n = len(order)
    if n <= SMALL:
        _insertion(margins, order)
    elif n < LARGE:
        spare[:] = order
        ranks = np.argsort(margins[order], kind="mergesort")
        for k in range(n):
            order[k] = spare[ranks[k]]
    else:
        _radix(margins, order, spare)


@kernel()
def _insertion(margins, order):
    for k in range(1, len(order)):
        element = order[k]
        key = margins[element]
        j = k
        while j > 0 and margins[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = element


@kernel()
def _radix(margins, order, spare):
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
        _sort_pairs(pairs, free)
        for k in range(len(order)):
            pairs[k] &= _LOW


@kernel()
def _sort_pairs(pairs, spare):
    """Sort by the upper 32 bits, least significant digit first; digits that are all the same cost nothing."""
    n = len(pairs)
    tallies = np.zeros((3, _BUCKETS), np.int64)
    for k in range(n):
        key = pairs[k] >> _WORD
        tallies[0, key & np.uint64(2047)] += 1
        tallies[1, (key >> _BITS) & np.uint64(2047)] += 1
        tallies[2, key >> np.uint64(22)] += 1
    source, target = pairs, spare
    moved = 0
    for digit in range(3):
        shift = _WORD + np.uint64(digit) * _BITS
        tally = tallies[digit]
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
        pairs[:] = spare
