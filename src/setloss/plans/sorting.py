"""The order of margins, compiled: insertion for small bags, radix sort for others. Both keep the order of ties.

A comparison sort of a million margins costs more than all the rest of a cut; passes over eight bits each do not.
"""

import numpy as np

from setloss.compilation import inner_kernel

SMALL = 64
"""Up to this many elements are sorted by insertion."""

BUCKETS = 256
_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_SIGN, _ALL = np.uint32(0x80000000), np.uint32(0xFFFFFFFF)


@inner_kernel(forceinline=True)
def sort_elements(margins, order, spare, tallies):
    """Sort the elements in `order`, given in ascending order, by their margins.

    `spare` is workspace as long as `order`, `tallies` for `BUCKETS` counters.
    """
    if len(order) <= SMALL:
        _insertion(margins, order)
    else:
        _radix(margins, order, spare, tallies)


@inner_kernel(forceinline=True)
def _insertion(margins, order):
    for k in range(1, len(order)):
        element = order[k]
        key = margins[element]
        j = k
        while j > 0 and margins[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = element


@inner_kernel(forceinline=True)
def _radix(margins, order, spare, tallies):
    """Word by word: the lower half of a float64 first, then the upper half, or the one word of a float32."""
    words = margins.view(np.uint32)
    width = np.uint64(len(words) // len(margins))
    source, target = order.view(np.uint64), spare.view(np.uint64)
    for word in range(width):
        for k in range(len(source)):
            element = source[k] & _LOW
            first, top = words[width * element], words[width * element + width - np.uint64(1)]
            part = words[width * element + np.uint64(word)]
            # As unsigned words, floats of either sign ascend once negative ones are inverted; -0 is 0.
            if top >= _SIGN and (top > _SIGN or (width > 1 and first > 0)):
                part = part ^ _ALL
            elif word == width - 1:
                part = part | _SIGN
            source[k] = (np.uint64(part) << _WORD) | element
        for digit in range(4):
            if _sort_digit(source, target, _WORD + np.uint64(8 * digit), tallies):
                source, target = target, source
    for k in range(len(source)):
        order[k] = np.int64(source[k] & _LOW)


@inner_kernel(forceinline=True)
def _sort_digit(source, target, shift, tallies):
    """Sort by the eight bits from `shift` on; False, and nothing to do, where these are all the same."""
    for b in range(BUCKETS):
        tallies[b] = 0
    for pair in source:
        tallies[(pair >> shift) & np.uint64(255)] += 1
    if tallies[(source[0] >> shift) & np.uint64(255)] == len(source):
        return False
    total = 0
    for b in range(BUCKETS):
        tallies[b], total = total, total + tallies[b]
    for pair in source:
        bucket = (pair >> shift) & np.uint64(255)
        target[tallies[bucket]] = pair
        tallies[bucket] += 1
    return True
