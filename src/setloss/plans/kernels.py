"""Numba kernels: the cuts of a whole ragged data set in one call, one sort per bag.

Each bag refers to a *spec*, one row of integers and one of floats that `setloss.plans.lowering` makes of the
reference operators: a Lovász part (how the gains along the sorted margins are read) and a rescaled part (how
the worst set is found). Positives are group 0, negatives group 1; symmetric functions have group 0 only.
The compiled code is cached; after a change of `tversky` or `lowering` the cache has to go, as `make test` does.
Arithmetic is in float64 whatever the margins are; nothing is allocated but scratch of the size of the data.
"""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.plans.lowering import (
    CURVE,
    GROUPS,
    L_A,
    L_B,
    L_CAP,
    L_ELEMENTWISE,
    L_KIND,
    L_START,
    L_UNDEFINED,
    L_WEIGHT,
    LINEAR,
    NONE,
    R_A,
    R_AXIS,
    R_B,
    R_KIND,
    R_MARGIN,
    R_START,
    R_UNDEFINED,
    R_WEIGHT,
    SCALE,
    SIZES,
    TABLE,
    TVERSKY,
    TVERSKY_CLOSURE,
    TVERSKY_SUPERMODULAR,
)
from setloss.plans.sorting import sort_elements
from setloss.setfunctions import tversky

ELEMENT = 0xFFFFFFFF
"""The bits of a ranked element that are its place in the bag; those above are its group."""

_denominator = kernel()(tversky.denominator)
_loss_value = kernel()(tversky.loss_value)
_miss_step = kernel()(tversky.false_negative_step)
_alarm_step = kernel()(tversky.false_positive_step)
_submodular_miss_step = kernel()(tversky.submodular_false_negative_step)
_supermodular_value = kernel()(tversky.supermodular_value)


@kernel()
def _tversky(n, q, m, a, b, undefined):
    if _denominator(n, q, m, a, b) > 0:
        return _loss_value(n, q, m, a, b)
    return undefined


@kernel()
def _tversky_step(axis, n, q, m, a, b, undefined):
    here = _denominator(n, q, m, a, b)
    there = _denominator(n + (axis == 0), q + (axis == 1), m, a, b)
    if min(here, there) > 0:
        return _miss_step(n, q, m, a, b) if axis == 0 else _alarm_step(n, q, m, a, b)
    return _tversky(n + (axis == 0), q + (axis == 1), m, a, b, undefined) - _tversky(n, q, m, a, b, undefined)


@kernel()
def _tversky_gain(kind, axis, n, q, m, a, b, undefined, cap):
    """The increment of l, of its submodular part f, or of f capped at f(V)."""
    if kind == TVERSKY or axis == 1:
        gain = _tversky_step(axis, n, q, m, a, b, undefined)
    else:
        gain = _submodular_miss_step(n, q, m, a, b)
    if kind == TVERSKY_CLOSURE:
        room = cap - (_tversky(n, q, m, a, b, undefined) - _supermodular_value(n, m, b))
        gain = min(max(gain, 0.0), max(room, 0.0))
    return gain


@kernel()
def _rank_elements(margins, group, spec, order, spare, ranked):
    """Elements by ascending margin at the front of `order`, each as group << 32 | element, their margins in `ranked`.

    Returns how many matter: an element-wise Lovász hinge on its own never looks at margins of 1 and more, and they
    are not even sorted. From here on memory is read in one direction.
    """
    active_only = spec[L_ELEMENTWISE] and spec[R_KIND] == NONE
    count = 0
    for i in range(len(margins)):
        if not active_only or margins[i] < 1:
            order[count] = i
            count += 1
    sort_elements(margins, order[:count], spare[:count])
    for k in range(count):
        i = order[k]
        ranked[k] = margins[i]
        order[k] = (np.int64(group[i]) << 32) | i
    return count


@kernel()
def _lovasz(ranked, order, spec, real, buffer, slope):
    """Write the slopes of the Lovász part; returns its offset and value."""
    kind, start, elementwise = spec[L_KIND], spec[L_START], spec[L_ELEMENTWISE]
    weight = real[L_WEIGHT]
    a, b, undefined, cap = real[L_A], real[L_B], real[L_UNDEFINED], real[L_CAP]
    m = np.float64(spec[SIZES])
    k = spec[GROUPS]
    misses = alarms = 0.0
    cell = start
    offset = value = 0.0
    for rank in range(len(order)):
        slack = 1.0 - np.float64(ranked[rank])
        if elementwise and slack <= 0.0:
            break
        axis = order[rank] >> 32
        if kind == CURVE:
            gain = buffer[start + rank]
        elif kind == LINEAR:
            gain = real[L_A + axis]
        elif kind == TABLE:
            stride = 1
            for c in range(axis + 1, k):
                stride *= spec[SIZES + c] + 1
            gain = buffer[cell + stride] - buffer[cell]
            cell += stride
        else:
            gain = _tversky_gain(kind, axis, misses, alarms, m, a, b, undefined, cap)
            if axis == 0:
                misses += 1.0
            else:
                alarms += 1.0
        gain *= weight
        slope[order[rank] & ELEMENT] = gain
        offset += gain
        value += gain * slack
    if not elementwise and not value > 0.0:
        slope[:] = 0.0
        return 0.0, 0.0
    return offset, value


@kernel()
def _objective(is_margin, loss, total, scale):
    if is_margin:
        return loss - scale * total
    return loss * (1.0 - scale * total) if loss > 0.0 else 0.0


@kernel()
def _sums(ranked, order, spec, grouped, sums):
    """Group after group: its margins in ascending order, and the sums of its k smallest ones.

    Group b starts at ``s = sizes[0] + ... + sizes[b - 1]`` of `grouped` and at ``s + b`` of `sums`.
    """
    n = 0
    for b in range(spec[GROUPS]):
        total = 0.0
        sums[n + b] = total
        for k in range(len(order)):
            if order[k] >> 32 == b:
                grouped[n] = ranked[k]
                total += ranked[k]
                n += 1
                sums[n + b] = total


@kernel()
def _curve_value(spec, real, buffer, count):
    """The loss at `count` mistakes of the one group that matters."""
    if spec[R_KIND] == TVERSKY_SUPERMODULAR:
        return real[R_WEIGHT] * _supermodular_value(count, spec[SIZES], real[R_B])
    return real[R_WEIGHT] * buffer[spec[R_START] + count]


@kernel()
def _best_of_curve(ranked, order, spec, real, buffer, chosen):
    """One count matters: every other element is in exactly if its margin is negative."""
    axis, is_margin, scale = spec[R_AXIS], spec[R_MARGIN], real[SCALE]
    total = 0.0
    if spec[GROUPS] > 1:
        for k in range(len(order)):
            if ranked[k] >= 0:
                break
            if order[k] >> 32 != axis:
                total += ranked[k]
    best, best_count, count = max(_objective(is_margin, 0.0, total, scale), 0.0), 0, 0
    for k in range(len(order)):
        if order[k] >> 32 == axis:
            count += 1
            total += ranked[k]
            value = _objective(is_margin, _curve_value(spec, real, buffer, count), total, scale)
            if value > best:
                best, best_count = value, count
    if best > 0.0:
        left = best_count
        for k in range(len(order)):
            if order[k] >> 32 == axis:
                chosen[order[k] & ELEMENT] = left > 0
                left -= 1
            elif ranked[k] < 0:
                chosen[order[k] & ELEMENT] = True
            elif left <= 0:
                break
    return _curve_value(spec, real, buffer, best_count), best


@kernel()
def _best_of_cells(spec, real, buffer, sums, digits):
    """Every cell of a table: the last count runs fastest, the others turn like an odometer."""
    k, cell, is_margin = spec[GROUPS], spec[R_START], spec[R_MARGIN]
    weight, scale = real[R_WEIGHT], real[SCALE]
    last = spec[SIZES + k - 1]
    tail = len(sums) - last - 1
    turning = np.zeros(k, np.int64)
    best = best_loss = 0.0
    while True:
        base = 0.0
        start = 0
        for b in range(k - 1):
            base += sums[start + turning[b]]
            start += spec[SIZES + b] + 1
        for a in range(last + 1):
            loss = weight * buffer[cell]
            value = _objective(is_margin, loss, base + sums[tail + a], scale)
            cell += 1
            if value > best:
                best, best_loss = value, loss
                digits[:k] = turning
                digits[k - 1] = a
        b = k - 2
        while b >= 0 and turning[b] == spec[SIZES + b]:
            turning[b] = 0
            b -= 1
        if b < 0:
            return best_loss, best
        turning[b] += 1


@kernel()
def _concave_loss(n, q, spec, real):
    """The loss at n false negatives and q false positives."""
    if spec[R_KIND] == LINEAR:
        return real[R_WEIGHT] * (real[R_A] * n + real[R_B] * q)
    return real[R_WEIGHT] * _tversky(n, q, spec[SIZES], real[R_A], real[R_B], real[R_UNDEFINED])


@kernel()
def _alarm_helps(n, q, margin, total, spec, real):
    """Whether the objective rises from q to q + 1 false positives; `total` includes the new one's margin."""
    if spec[R_KIND] == LINEAR:
        step = real[R_WEIGHT] * real[R_B]
    else:
        step = real[R_WEIGHT] * _tversky_step(1, n, q, spec[SIZES], real[R_A], real[R_B], real[R_UNDEFINED])
    if spec[R_MARGIN]:
        return step > real[SCALE] * margin
    loss = _concave_loss(n, q, spec, real)
    return step * (1.0 - real[SCALE] * total) > real[SCALE] * loss * margin


@kernel()
def _best_of_concave(spec, real, grouped, sums, digits):
    """For every number of false negatives, the number of false positives up to which one more helps.

    A binary search; it starts with steps that double from where the last one ended, which is near. Numbers of false
    negatives for which not even the largest loss would win are passed over.
    """
    is_margin, scale, m, most = spec[R_MARGIN], real[SCALE], spec[SIZES], spec[SIZES + 1]
    negatives, misses, alarms = grouped[m:], sums[: m + 1], sums[m + 1 :]
    fewest = 0
    while fewest < most and negatives[fewest] < 0:
        fewest += 1
    best = best_loss = 0.0
    near = fewest
    for n in range(m + 1):
        largest = _concave_loss(n, most, spec, real) if spec[R_KIND] == LINEAR else real[R_WEIGHT]
        if not _objective(is_margin, largest, misses[n] + alarms[fewest], scale) > best:
            continue
        low, high, stride = fewest, most, 1
        q = min(near, most - 1)
        while low < high:
            if _alarm_helps(n, q, negatives[q], misses[n] + alarms[q + 1], spec, real):
                low = q + 1
                q += stride
            else:
                high = q
                q -= stride
            stride *= 2
            if not low <= q < high:
                q = (low + high) // 2
        near = low
        loss = _concave_loss(n, low, spec, real)
        value = _objective(is_margin, loss, misses[n] + alarms[low], scale)
        if value > best:
            best, best_loss = value, loss
            digits[0], digits[1] = n, low
    return best_loss, best


@kernel()
def _worst_set(ranked, order, spec, real, buffer, grouped, sums, chosen):
    """Mark the set that maximises the rescaled loss in `chosen`; returns its loss and the objective."""
    if spec[R_KIND] in (CURVE, TVERSKY_SUPERMODULAR):
        return _best_of_curve(ranked, order, spec, real, buffer, chosen)
    _sums(ranked, order, spec, grouped, sums)
    digits = np.zeros(spec[GROUPS], np.int64)
    if spec[R_KIND] == TABLE:
        loss, best = _best_of_cells(spec, real, buffer, sums[: len(order) + spec[GROUPS]], digits)
    else:
        loss, best = _best_of_concave(spec, real, grouped, sums, digits)
    missing = digits.sum()
    for k in range(len(order)):
        if missing == 0:
            break
        axis = order[k] >> 32
        if digits[axis] > 0:
            chosen[order[k] & ELEMENT] = True
            digits[axis] -= 1
            missing -= 1
    return loss, best


@kernel()
def bag_cut(margins, group, spec, real, buffer, order, spare, sums, slope, chosen):
    """The cut of one bag: fills `slope` and `chosen`, returns offset and value.

    `slope` may be the memory of `margins`, which are not read any more when it is written. Of scratch, `order` is as
    long as the bag, `spare` twice (once if margins are float32), and `sums` longer by the number of groups.
    """
    p = len(margins)
    values = spare.view(margins.dtype)
    count = _rank_elements(margins, group, spec, order, spare, values)
    ranked, elements = values[:count], order[:count]
    slope[:] = 0.0
    chosen[:] = False
    offset = value = 0.0
    if spec[L_KIND] != NONE:
        offset, value = _lovasz(ranked, elements, spec, real, buffer, slope)
    if spec[R_KIND] != NONE:
        loss, best = _worst_set(ranked, elements, spec, real, buffer, values[p:], sums, chosen)
        if best > 0.0:
            offset += loss
            value += best
            rate = real[SCALE] if spec[R_MARGIN] else real[SCALE] * loss
            for i in range(p):
                if chosen[i]:
                    slope[i] += rate
    return offset, value


@kernel()
def write_cuts(first, last, data, specs, out):
    """The cuts of the bags from `first` up to `last`; `out` receives slopes, worst sets, and offset and value."""
    margins, starts, groups, which = data
    integers, reals, buffer = specs
    slopes, chosen, totals = out
    widest = 0
    for i in range(first, last):
        widest = max(widest, starts[i + 1] - starts[i])
    order, spare, sums = scratch(widest, integers.shape[1], margins.itemsize)
    for i in range(first, last):
        lo, hi, kind = starts[i], starts[i + 1], which[i]
        totals[i, 0], totals[i, 1] = bag_cut(
            margins[lo:hi],
            groups[lo:hi],
            integers[kind],
            reals[kind],
            buffer,
            order[: hi - lo],
            spare[: (2 * (hi - lo) * margins.itemsize + 7) // 8],
            sums,
            slopes[lo:hi],
            chosen[lo:hi],
        )


@kernel()
def scratch(widest, groups, itemsize):
    """Room for the cut of a bag of up to `widest` elements."""
    return np.empty(widest, np.int64), np.empty((2 * widest * itemsize + 7) // 8, np.int64), np.empty(widest + groups)
