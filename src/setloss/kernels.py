"""Numba kernels: the cuts of a whole ragged data set in one call, one sort per bag.

Each bag refers to a *spec*, one row of integers and one of floats that `setloss.lowering` makes of the
reference operators: a Lovász part (how the gains along the sorted margins are read) and a rescaled part (how
the worst set is found). Positives are group 0, negatives group 1; symmetric functions have group 0 only.
The compiled code is cached; after a change of `tversky` or `lowering` the cache has to go, as `make test` does.
Arithmetic is in float64 whatever the margins are; nothing is allocated but scratch of the size of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from setloss import tversky
from setloss.lowering import (
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
)

SMALL = 24
"""Bags up to this size are sorted by insertion."""

_options: dict[str, Any] = {"cache": True, "error_model": "numpy", "nogil": True}
_denominator = njit(**_options)(tversky.denominator)
_loss_value = njit(**_options)(tversky.loss_value)
_miss_step = njit(**_options)(tversky.false_negative_step)
_alarm_step = njit(**_options)(tversky.false_positive_step)
_submodular_miss_step = njit(**_options)(tversky.submodular_false_negative_step)
_supermodular_value = njit(**_options)(tversky.supermodular_value)


@njit(**_options)
def _tversky(n, q, m, a, b, undefined):
    if _denominator(n, q, m, a, b) > 0:
        return _loss_value(n, q, m, a, b)
    return undefined


@njit(**_options)
def _tversky_step(axis, n, q, m, a, b, undefined):
    here = _denominator(n, q, m, a, b)
    there = _denominator(n + (axis == 0), q + (axis == 1), m, a, b)
    if min(here, there) > 0:
        return _miss_step(n, q, m, a, b) if axis == 0 else _alarm_step(n, q, m, a, b)
    return _tversky(n + (axis == 0), q + (axis == 1), m, a, b, undefined) - _tversky(n, q, m, a, b, undefined)


@njit(**_options)
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


@njit(**_options)
def _sort(margins, order):
    """Fill `order` with the positions of `margins` in ascending order; ties keep their order."""
    n = len(margins)
    if n > SMALL:
        order[:] = np.argsort(margins, kind="mergesort")
        return
    for i in range(n):
        key = margins[i]
        j = i
        while j > 0 and margins[order[j - 1]] > key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i


@njit(**_options)
def _lovasz(margins, order, group, spec, real, buffer, slope):
    """Add the Lovász part to `slope`; returns its offset and value."""
    kind, start, elementwise = spec[L_KIND], spec[L_START], spec[L_ELEMENTWISE]
    weight = real[L_WEIGHT]
    m = spec[SIZES]
    k = spec[GROUPS]
    counts = np.zeros(2, np.int64)
    cell = start
    offset = value = 0.0
    for rank in range(len(order)):
        i = order[rank]
        slack = 1.0 - np.float64(margins[i])
        if elementwise and slack <= 0.0:
            break
        axis = group[i]
        if kind == CURVE:
            gain = buffer[start + rank]
        elif kind == LINEAR:
            gain = real[L_A + axis]
        elif kind == TABLE:
            stride = 1
            for b in range(axis + 1, k):
                stride *= spec[SIZES + b] + 1
            gain = buffer[cell + stride] - buffer[cell]
            cell += stride
        else:
            gain = _tversky_gain(
                kind, axis, counts[0], counts[1], m, real[L_A], real[L_B], real[L_UNDEFINED], real[L_CAP]
            )
            counts[axis] += 1
        gain *= weight
        slope[i] = gain
        offset += gain
        value += gain * slack
    if not elementwise and not value > 0.0:
        slope[:] = 0.0
        return 0.0, 0.0
    return offset, value


@njit(**_options)
def _objective(is_margin, loss, total, scale):
    if is_margin:
        return loss - scale * total
    return loss * (1.0 - scale * total) if loss > 0.0 else 0.0


@njit(**_options)
def _rank(margins, order, group, spec, ranked, sums):
    """Group after group: its elements by ascending margin, and the sums of its k smallest margins.

    Group b starts at ``s = sizes[0] + ... + sizes[b - 1]`` of `ranked` and at ``s + b`` of `sums`.
    """
    start = 0
    for b in range(spec[GROUPS]):
        n = start
        sums[start + b] = 0.0
        for i in order:
            if group[i] == b:
                ranked[n] = i
                sums[n + b + 1] = sums[n + b] + margins[i]
                n += 1
        start = n


@njit(**_options)
def _best_of_curve(margins, order, group, spec, real, buffer, chosen):
    """One count matters: every other element is in exactly if its margin is negative."""
    axis, start, is_margin = spec[R_AXIS], spec[R_START], spec[R_MARGIN]
    weight, scale = real[R_WEIGHT], real[SCALE]
    total = 0.0
    if spec[GROUPS] > 1:
        for i in order:
            if margins[i] >= 0:
                break
            if group[i] != axis:
                total += margins[i]
    best, best_count, count = max(_objective(is_margin, 0.0, total, scale), 0.0), 0, 0
    for i in order:
        if group[i] == axis:
            count += 1
            total += margins[i]
            value = _objective(is_margin, weight * buffer[start + count], total, scale)
            if value > best:
                best, best_count = value, count
    if best > 0.0:
        left = best_count
        for i in order:
            if group[i] == axis:
                chosen[i] = left > 0
                left -= 1
            else:
                chosen[i] = margins[i] < 0
    return weight * buffer[start + best_count], best


@njit(**_options)
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


@njit(**_options)
def _best_of_concave(margins, spec, real, ranked, sums, digits):
    """Binary search in the false positives for every number of false negatives."""
    kind, is_margin, m, most = spec[R_KIND], spec[R_MARGIN], spec[SIZES], spec[SIZES + 1]
    weight, scale, a, b, undefined = real[R_WEIGHT], real[SCALE], real[R_A], real[R_B], real[R_UNDEFINED]
    negatives, misses, alarms = ranked[m:], sums[: m + 1], sums[m + 1 :]
    fewest = 0
    while fewest < most and margins[negatives[fewest]] < 0:
        fewest += 1
    best = best_loss = 0.0
    for n in range(m + 1):
        low, high = fewest, most
        while low < high:
            q = (low + high) // 2
            margin = np.float64(margins[negatives[q]])
            if kind == LINEAR:
                step, loss = weight * b, weight * (a * n + b * q)
            else:
                step = weight * _tversky_step(1, n, q, m, a, b, undefined)
                loss = weight * _tversky(n, q, m, a, b, undefined)
            if is_margin:
                gain = step - scale * margin
            else:
                gain = step * (1.0 - scale * (misses[n] + alarms[q + 1])) - scale * loss * margin
            if gain > 0.0:
                low = q + 1
            else:
                high = q
        plain = a * n + b * low if kind == LINEAR else _tversky(n, low, m, a, b, undefined)
        loss = weight * plain
        value = _objective(is_margin, loss, misses[n] + alarms[low], scale)
        if value > best:
            best, best_loss = value, loss
            digits[0], digits[1] = n, low
    return best_loss, best


@njit(**_options)
def _worst_set(margins, order, group, spec, real, buffer, ranked, sums, chosen):
    """Mark the set that maximises the rescaled loss in `chosen`; returns its loss and the objective."""
    if spec[R_KIND] == CURVE:
        return _best_of_curve(margins, order, group, spec, real, buffer, chosen)
    _rank(margins, order, group, spec, ranked, sums)
    digits = np.zeros(spec[GROUPS], np.int64)
    if spec[R_KIND] == TABLE:
        loss, best = _best_of_cells(spec, real, buffer, sums[: len(order) + spec[GROUPS]], digits)
    else:
        loss, best = _best_of_concave(margins, spec, real, ranked, sums, digits)
    start = 0
    for b in range(spec[GROUPS]):
        for j in range(digits[b]):
            chosen[ranked[start + j]] = True
        start += spec[SIZES + b]
    return loss, best


@njit(**_options)
def bag_cut(margins, group, spec, real, buffer, order, ranked, sums, slope, chosen):
    """The cut of one bag: fills `slope` and `chosen`, returns offset and value."""
    _sort(margins, order)
    slope[:] = 0.0
    chosen[:] = False
    offset = value = 0.0
    if spec[L_KIND] != NONE:
        offset, value = _lovasz(margins, order, group, spec, real, buffer, slope)
    if spec[R_KIND] != NONE:
        loss, best = _worst_set(margins, order, group, spec, real, buffer, ranked, sums, chosen)
        if best > 0.0:
            offset += loss
            value += best
            rate = real[SCALE] if spec[R_MARGIN] else real[SCALE] * loss
            for i in range(len(slope)):
                if chosen[i]:
                    slope[i] += rate
    return offset, value


@njit(**_options)
def _write_cut(i, data, specs, scratch, out):
    """The cut of bag i, written to its part of the outputs."""
    margins, starts, groups, which = data
    integers, reals, buffer = specs
    order, ranked, sums = scratch
    slopes, chosen, totals = out
    room = (sums.size - margins.size) // len(which)
    lo, hi, kind = starts[i], starts[i + 1], which[i]
    totals[i, 0], totals[i, 1] = bag_cut(
        margins[lo:hi],
        groups[lo:hi],
        integers[kind],
        reals[kind],
        buffer,
        order[lo:hi],
        ranked[lo:hi],
        sums[lo + i * room : hi + (i + 1) * room],
        slopes[lo:hi],
        chosen[lo:hi],
    )


@njit(**_options)
def cuts_serial(data, specs, scratch, out):
    """All bags, one after the other; `out` receives slopes, worst sets, and offset and value per bag."""
    for i in range(len(data[3])):
        _write_cut(i, data, specs, scratch, out)


@njit(parallel=True, **_options)
def cuts_parallel(data, specs, scratch, out):
    """The same with the bags shared among threads; every bag is computed as in `cuts_serial`."""
    for i in prange(len(data[3])):
        _write_cut(i, data, specs, scratch, out)
