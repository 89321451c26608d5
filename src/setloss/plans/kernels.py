"""The numba interpreter: the cuts of a whole ragged data set in one call, one sort per bag.

Each bag refers to one record of `setloss.plans.records`, its Lovász part and its rescaled part. Arithmetic is in
float64 whatever the margins are, and nothing is allocated here: `setloss.plans.batch.space_for_cuts` does.

Kernels are written for short compilation, too: plain loops in place of array expressions, which numba compiles with
all their error messages, and one version for plans of every kind, without the radix sort and the search of counts
where their workspace is None. Kernels that take arrays and are called once a bag are inlined by numba, which counts
references to the arrays of every call; formulas of numbers are left to LLVM.
"""

import numpy as np

from setloss.compilation import inner_kernel, kernel
from setloss.plans.records import CURVE, LINEAR, NONE, TABLE
from setloss.plans.worst_sets import ELEMENT, tversky_gain, worst_set

SMALL = 160
"""Up to this many elements are sorted by their ranks: n^2 / 2 comparisons, several at a time."""

BUCKETS = 256
LOWEST = -(2**31)
"""The highest bit of a word of 32 bits: the sign."""

# ---------------------------------------------------------------- the order of margins
# A comparison sort of a million margins costs more than all the rest of a cut; passes over eight bits each do not.
# Both sorts keep the order of ties.


@inner_kernel(forceinline=True)
def sort_elements(margins, order, spare, tallies, keys, words):
    """Sort the elements in `order`, given in ascending order, by their margins; for the others see `SortSpace`."""
    if words is not None and len(order) > SMALL:  # numba leaves a branch out that None never takes
        _radix(margins, order, spare, tallies, keys, words)
    else:
        _ranks(margins, order, spare, tallies, keys)


@inner_kernel(forceinline=True)
def _ranks(margins, order, spare, ranks, keys):
    """The rank of an element is the number of those that come before it: pairs are compared without a branch.

    New margins in every call make a processor guess wrong at the branches of insertion sort, at 50 elements five
    times as long.
    """
    for k in range(len(order)):
        key, rank = margins[order[k]], 0
        for j in range(k):
            later = keys[j] > key
            ranks[j] += later
            rank += not later
        keys[k], spare[k], ranks[k] = key, order[k], rank
    for k in range(len(order)):
        order[ranks[k]] = spare[k]


@inner_kernel(forceinline=True)
def _radix(margins, order, spare, tallies, keys, words):
    """Word by word: the lower half of a float64 first, then the upper half, or the one word of a float32.

    What is moved is word << 32 | element. As unsigned words, floats of either sign ascend once negative ones are
    inverted and others have the highest bit; -0 is 0.
    """
    source, target, width = order, spare[: len(order)], margins.itemsize // 4
    for k in range(len(order)):
        keys[order[k]] = margins[order[k]]
    for word in range(width):
        for k in range(len(order)):
            element = source[k] & ELEMENT
            first = width * element
            part, top = np.int64(words[first + word]), words[first + width - 1]
            if top < 0 and (top > LOWEST or (width > 1 and words[first] != 0)):
                part = ~part
            elif word == width - 1:
                part |= LOWEST
            source[k] = (part << 32) | element
        for digit in range(4):
            if _sort_digit(source, target, 32 + 8 * digit, tallies):
                source, target = target, source
    for k in range(len(order)):
        order[k] = source[k] & ELEMENT


@inner_kernel(forceinline=True)
def _sort_digit(source, target, shift, tallies):
    """Sort by the eight bits from `shift` on; False, and nothing to do, where these are all the same."""
    for b in range(BUCKETS):
        tallies[b] = 0
    for pair in source:
        tallies[(pair >> shift) & 255] += 1
    if tallies[(source[0] >> shift) & 255] == len(source):
        return False
    total = 0
    for b in range(BUCKETS):
        tallies[b], total = total, total + tallies[b]
    for pair in source:
        bucket = (pair >> shift) & 255
        target[tallies[bucket]] = pair
        tallies[bucket] += 1
    return True


# ---------------------------------------------------------------- cuts of bags


@inner_kernel(inline="always")
def _rank_elements(margins, partition, active_only, space):
    """Elements by ascending margin at the front of `space.order`, each as group << 32 | element; their margins.

    Returns how many matter: an element-wise Lovász hinge on its own never looks at margins of 1 and more, and they
    are not even sorted. From here on memory is read in one direction.
    """
    count, order, ranked = 0, space.order, space.ranked
    for i in range(len(margins)):
        if not active_only or margins[i] < 1:
            order[count] = i
            count += 1
    spare, tallies, keys, words = space.sorting
    sort_elements(margins, order[:count], spare, tallies, keys, words)
    for k in range(count):
        i = order[k]
        ranked[k] = margins[i]
        order[k] = (np.int64(partition[i]) << 32) | i
    return count


@inner_kernel(inline="always")
def _lovasz(ranked, order, plan, tables, slope):
    """Write the slopes of the Lovász part; returns its offset and value."""
    sizes, values = tables
    part, elementwise = plan.lovasz, plan.elementwise
    m, cell = float(sizes[0]), part.start
    misses = alarms = offset = value = 0.0
    rank = 0
    while rank < len(order) and (ranked[rank] < 1.0 or not elementwise):
        slack = 1.0 - np.float64(ranked[rank])
        axis = order[rank] >> 32
        if part.kind == CURVE:
            gain = values[part.start + rank]
        elif part.kind == LINEAR:
            gain = part.false_negative if axis == 0 else part.false_positive
        elif part.kind == TABLE:
            before, stride = values[cell], 1
            for c in range(axis + 1, plan.axes):
                stride *= sizes[c] + 1
            cell += stride
            gain = values[cell] - before
        else:
            gain = tversky_gain(axis, misses, alarms, m, part)
        gain *= part.weight
        if axis == 0:
            misses += 1.0
        else:
            alarms += 1.0
        slope[order[rank] & ELEMENT] = gain
        offset += gain
        value += gain * slack
        rank += 1
    if not elementwise and not value > 0.0:
        for i in range(len(slope)):
            slope[i] = 0.0
        offset = value = 0.0
    return offset, value


@inner_kernel()
def bag_cut(margins, partition, plan, tables, space, slope, chosen):
    """The cut of one bag: fills `slope` and `chosen`, returns offset and value.

    `partition` has the group of every element, `plan` is the record of the bag, `tables` its group sizes and the
    common values, `space` a `CutSpace`. `slope` may be the memory of `margins`, which are not read any
    more when it is written.
    """
    order, ranked, p = space.order, space.ranked, len(margins)
    active_only = plan.elementwise != 0 and plan.rescaled.kind == NONE
    count = _rank_elements(margins, partition, active_only, space)
    for i in range(p):
        slope[i] = 0.0
        chosen[i] = False
    offset = value = 0.0
    if plan.lovasz.kind != NONE:
        offset, value = _lovasz(ranked, order[:count], plan, tables, slope)
    if plan.rescaled.kind != NONE:
        loss, best = worst_set(ranked, order[:count], plan, tables, ranked[p:], space, chosen)
        if best > 0.0:
            offset += loss
            value += best
            rate = plan.scale if plan.margin else plan.scale * loss
            for i in range(p):
                if chosen[i]:
                    slope[i] += rate
    return offset, value


@kernel()
def write_cuts(first, last, data, plans, space, chosen, out):
    """The cuts of the bags from `first` up to `last`; `out` receives slopes, and the offset and value of each bag."""
    margins, starts, partitions, which = data
    records, sizes, values = plans
    slopes, totals = out
    for i in range(first, last):
        lo, hi, kind = starts[i], starts[i + 1], which[i]
        tables = (sizes[kind], values)
        totals[i, 0], totals[i, 1] = bag_cut(
            margins[lo:hi], partitions[lo:hi], records[kind], tables, space, slopes[lo:hi], chosen[: hi - lo]
        )


# ---------------------------------------------------------------- sets of equal size


@kernel()
def write_row_cuts(first, last, data, plans, space, own, out):
    """The cuts of the rows from `first` up to `last`; `out` receives values and gradients in the scores.

    Both are NaN where a score is not finite. `every_kind` says whether there is a plan for each number of positives,
    or one for each row. A row of gradients holds its margins first and its slopes then; `own` is workspace for a
    partition and the worst set.
    """
    scores, truth, every_kind = data
    records, sizes, cells = plans
    partition, chosen = own
    values, gradients = out
    width = scores.shape[1]
    for i in range(first, last):
        gradient, finite, positives = gradients[i], True, 0
        for j in range(width):
            partition[j] = 0 if truth[i, j] else 1
            gradient[j] = scores[i, j] if truth[i, j] else -scores[i, j]
            finite &= np.isfinite(gradient[j])
            positives += truth[i, j]
        kind = positives if every_kind else i
        if finite:
            tables = sizes[kind], cells
            values[i] = bag_cut(gradient, partition, records[kind], tables, space, gradient, chosen)[1]
            for j in range(width):
                if truth[i, j]:
                    gradient[j] = -gradient[j]
        else:
            values[i] = np.nan
            for j in range(width):
                gradient[j] = np.nan
