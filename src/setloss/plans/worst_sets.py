"""The parts of a plan, compiled: increments of f, and the worst set of a rescaled loss l.

    max over A of l(A) (1 - c sum_A m),      or of l(A) - c sum_A m

Inside a group the worst k elements are those of smallest margin, so only counts are searched: one count of a curve,
every cell of a table, and for closed forms that are concave in the false positives a binary search per number of
false negatives.
"""

import numpy as np

from setloss.compilation import inner_kernel
from setloss.plans.records import CURVE, LINEAR, TABLE, TVERSKY, TVERSKY_SUPERMODULAR
from setloss.setfunctions import tversky

ELEMENT = 0xFFFFFFFF
"""The bits of a ranked element that are its place in the bag; those above are its group."""

# ---------------------------------------------------------------- values and increments at given counts
# n false negatives, q false positives and m positives are floats here: one compiled version of every formula.

_denominator = inner_kernel(forceinline=True)(tversky.denominator)
_loss_value = inner_kernel(forceinline=True)(tversky.loss_value)
_miss_step = inner_kernel(forceinline=True)(tversky.false_negative_step)
_alarm_step = inner_kernel(forceinline=True)(tversky.false_positive_step)
_submodular_miss_step = inner_kernel(forceinline=True)(tversky.submodular_false_negative_step)
_supermodular_value = inner_kernel(forceinline=True)(tversky.supermodular_value)


@inner_kernel(forceinline=True)
def tversky_loss(n, q, m, part):
    """l(n, q), with the value of the part where it reads 0/0."""
    a, b = part.false_positive, part.false_negative
    if _denominator(n, q, m, a, b) > 0:
        return _loss_value(n, q, m, a, b)
    return part.undefined


@inner_kernel(forceinline=True)
def tversky_step(axis, n, q, m, part):
    """One more false negative (axis 0) or false positive; a difference only where l reads 0/0 at either end."""
    a, b = part.false_positive, part.false_negative
    further_n, further_q = (n + 1.0, q) if axis == 0 else (n, q + 1.0)
    if min(_denominator(n, q, m, a, b), _denominator(further_n, further_q, m, a, b)) > 0:
        return _miss_step(n, q, m, a, b) if axis == 0 else _alarm_step(n, q, m, a, b)
    return tversky_loss(further_n, further_q, m, part) - tversky_loss(n, q, m, part)


@inner_kernel(forceinline=True)
def tversky_gain(axis, n, q, m, part):
    """The increment of l, of its submodular part f, or of the closure min(f, cap)."""
    if part.kind == TVERSKY or axis == 1:
        gain = tversky_step(axis, n, q, m, part)
    else:
        gain = _submodular_miss_step(n, q, m, part.false_positive, part.false_negative)
    if part.cap < 1e308:
        left = part.cap - (tversky_loss(n, q, m, part) - _supermodular_value(n, m, part.false_negative))
        gain = min(max(gain, 0.0), max(left, 0.0))
    return gain


@inner_kernel(forceinline=True)
def concave_value(n, q, m, part):
    """The weighted loss at n false negatives and q false positives."""
    if part.kind == LINEAR:
        return part.weight * (part.false_negative * n + part.false_positive * q)
    return part.weight * tversky_loss(n, q, m, part)


@inner_kernel(forceinline=True)
def objective(is_margin, loss, total, scale):
    """The rescaled loss of a set whose margins sum to `total`."""
    if is_margin:
        return loss - scale * total
    return loss * (1.0 - scale * total) if loss > 0.0 else 0.0


# ---------------------------------------------------------------- the worst set


@inner_kernel(inline="always")
def worst_set(ranked, order, plan, tables, grouped, space, chosen):
    """Mark the set that maximises the rescaled loss in `chosen`; returns its loss and the objective."""
    if plan.rescaled.kind in (CURVE, TVERSKY_SUPERMODULAR):
        return _best_of_curve(ranked, order, plan, tables, chosen)
    return _best_of_counts(ranked, order, plan, tables, grouped, space.search, chosen)


@inner_kernel(forceinline=True)
def _best_of_counts(ranked, order, plan, tables, grouped, space, chosen):
    """Several counts matter."""
    if space is None:  # no plan needs it, and numba leaves the rest out
        return 0.0, 0.0
    sums, counts, within = space.sums, space.counts, space.within
    sizes, values = tables
    _sums(ranked, order, plan.axes, grouped, sums, within)
    for b in range(plan.axes):
        counts[b] = 0
    if plan.rescaled.kind == TABLE:
        loss, best = _best_of_cells(plan, sizes, values, sums, counts, space.turning, within)
    else:
        loss, best = _best_of_concave(plan, sizes, grouped, sums, counts, within)
    for k in range(len(order)):
        axis = order[k] >> 32
        if counts[axis] > 0:
            chosen[order[k] & ELEMENT] = True
            counts[axis] -= 1
    return loss, best


@inner_kernel(forceinline=True)
def _sums(ranked, order, axes, grouped, sums, within):
    """Group after group: its margins in ascending order, and the sums of its k smallest ones.

    `within` receives the number of ranked elements of each group, all or some of its size. Group b starts at
    ``s = within[0] + ... + within[b - 1]`` of `grouped` and at ``s + b`` of `sums`.
    """
    n = 0
    for b in range(axes):
        total = 0.0
        before = n
        sums[n + b] = total
        for k in range(len(order)):
            if order[k] >> 32 == b:
                grouped[n] = ranked[k]
                total += ranked[k]
                n += 1
                sums[n + b] = total
        within[b] = n - before


@inner_kernel(inline="always")
def _best_of_curve(ranked, order, plan, tables, chosen):
    """One count matters: every other element is in exactly if its margin is negative."""
    sizes, values = tables
    part, m = plan.rescaled, float(sizes[0])
    axis = part.axis
    total = 0.0
    if plan.axes > 1:
        for k in range(len(order)):
            if ranked[k] >= 0:
                break
            if order[k] >> 32 != axis:
                total += ranked[k]
    best = max(objective(plan.margin, 0.0, total, plan.scale), 0.0)
    best_count = count = np.int64(0)  # a literal 0 would compile `_mark` once more
    best_loss = 0.0
    for k in range(len(order)):
        if order[k] >> 32 == axis:
            count += 1
            total += ranked[k]
            if part.kind == TVERSKY_SUPERMODULAR:
                loss = part.weight * _supermodular_value(float(count), m, part.false_negative)
            else:
                loss = part.weight * values[part.start + count]
            value = objective(plan.margin, loss, total, plan.scale)
            if value > best:
                best, best_count, best_loss = value, count, loss
    if best > 0.0:
        _mark(ranked, order, axis, best_count, chosen)
    return best_loss, best


@inner_kernel(forceinline=True)
def _mark(ranked, order, axis, left, chosen):
    """Choose the `left` smallest margins of one group, and all negative ones of the others."""
    for k in range(len(order)):
        if order[k] >> 32 == axis:
            chosen[order[k] & ELEMENT] = left > 0
            left -= 1
        elif ranked[k] < 0:
            chosen[order[k] & ELEMENT] = True
        elif left <= 0:
            break


@inner_kernel(forceinline=True)
def _best_of_cells(plan, sizes, values, sums, counts, turning, within):
    """Every cell of a table within reach: for all counts of the groups but the last, all counts of the last."""
    last, weight = plan.axes - 1, plan.rescaled.weight
    outer, tail = 1, 0
    for b in range(last):
        outer, tail = outer * (within[b] + 1), tail + within[b] + 1
    best = best_loss = 0.0
    for number in range(outer):
        base, cell, stride, start = 0.0, plan.rescaled.start, sizes[last] + 1, tail
        for b in range(last - 1, -1, -1):
            number, turning[b] = divmod(number, within[b] + 1)
            start -= within[b] + 1
            base += sums[start + turning[b]]
            cell += turning[b] * stride
            stride *= sizes[b] + 1
        for a in range(within[last] + 1):
            loss = weight * values[cell + a]
            value = objective(plan.margin, loss, base + sums[tail + a], plan.scale)
            if value > best:
                best, best_loss = value, loss
                for b in range(last):
                    counts[b] = turning[b]
                counts[last] = a
    return best_loss, best


@inner_kernel(forceinline=True)
def _alarm_helps(n, q, m, margin, total, plan):
    """Whether the objective rises from q to q + 1 false positives; `total` includes the new one's margin."""
    part = plan.rescaled
    step = part.weight * (part.false_positive if part.kind == LINEAR else tversky_step(np.int64(1), n, q, m, part))
    if plan.margin:
        return step > plan.scale * margin
    return step * (1.0 - plan.scale * total) > plan.scale * concave_value(n, q, m, part) * margin


@inner_kernel(forceinline=True)
def _best_of_concave(plan, sizes, grouped, sums, counts, within):
    """For every number of false negatives, the number of false positives up to which one more helps, by bisection.

    Numbers of false negatives for which not even the largest loss would win are passed over.
    """
    part, positives, most = plan.rescaled, within[0], within[1]
    m = float(sizes[0])
    negatives, alarms = grouped[positives:], sums[positives + 1 :]
    fewest = 0
    while fewest < most and negatives[fewest] < 0:
        fewest += 1
    best = best_loss = 0.0
    for n in range(positives + 1):
        largest = concave_value(float(n), float(most), m, part) if part.kind == LINEAR else part.weight
        if not objective(plan.margin, largest, sums[n] + alarms[fewest], plan.scale) > best:
            continue
        low, high = fewest, most
        while low < high:
            q = (low + high) // 2
            if _alarm_helps(float(n), float(q), m, negatives[q], sums[n] + alarms[q + 1], plan):
                low = q + 1
            else:
                high = q
        loss = concave_value(float(n), float(low), m, part)
        value = objective(plan.margin, loss, sums[n] + alarms[low], plan.scale)
        if value > best:
            best, best_loss = value, loss
            counts[0], counts[1] = n, low
    return best_loss, best
