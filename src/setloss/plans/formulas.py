"""The closed forms inside the kernels: values and increments of the parts of a plan at given counts.

n false negatives, q false positives and m positives are floats here: one compiled version of every formula.
"""

from __future__ import annotations

from setloss.compilation import kernel
from setloss.plans.records import CURVE, LINEAR, TABLE, TVERSKY, TVERSKY_SUPERMODULAR
from setloss.setfunctions import tversky

_denominator = kernel()(tversky.denominator)
_loss_value = kernel()(tversky.loss_value)
_miss_step = kernel()(tversky.false_negative_step)
_alarm_step = kernel()(tversky.false_positive_step)
_submodular_miss_step = kernel()(tversky.submodular_false_negative_step)
_supermodular_value = kernel()(tversky.supermodular_value)


@kernel()
def tversky_loss(n, q, m, part):
    """l(n, q), with the value of the part where it reads 0/0."""
    a, b = part.false_positive, part.false_negative
    if _denominator(n, q, m, a, b) > 0:
        return _loss_value(n, q, m, a, b)
    return part.undefined


@kernel()
def tversky_step(axis, n, q, m, part):
    """One more false negative (axis 0) or false positive; a difference only where l reads 0/0 at either end."""
    a, b = part.false_positive, part.false_negative
    further_n, further_q = (n + 1.0, q) if axis == 0 else (n, q + 1.0)
    if min(_denominator(n, q, m, a, b), _denominator(further_n, further_q, m, a, b)) > 0:
        return _miss_step(n, q, m, a, b) if axis == 0 else _alarm_step(n, q, m, a, b)
    return tversky_loss(further_n, further_q, m, part) - tversky_loss(n, q, m, part)


@kernel()
def tversky_gain(axis, n, q, m, part):
    """The increment of l, of its submodular part f, or of the closure min(f, cap)."""
    if part.kind == TVERSKY or axis == 1:
        gain = tversky_step(axis, n, q, m, part)
    else:
        gain = _submodular_miss_step(n, q, m, part.false_positive, part.false_negative)
    if part.cap < 1e308:
        room = part.cap - (tversky_loss(n, q, m, part) - _supermodular_value(n, m, part.false_negative))
        gain = min(max(gain, 0.0), max(room, 0.0))
    return gain


@kernel()
def curve_value(count, m, part, values):
    """The weighted loss at `count` mistakes of the one group that matters."""
    if part.kind == TVERSKY_SUPERMODULAR:
        return part.weight * _supermodular_value(float(count), m, part.false_negative)
    return part.weight * values[part.start + count]


@kernel()
def concave_value(n, q, m, part):
    """The weighted loss at n false negatives and q false positives."""
    if part.kind == LINEAR:
        return part.weight * (part.false_negative * n + part.false_positive * q)
    return part.weight * tversky_loss(n, q, m, part)


@kernel()
def concave_step(n, q, m, part):
    """The weighted loss of one more false positive."""
    if part.kind == LINEAR:
        return part.weight * part.false_positive
    return part.weight * tversky_step(1, n, q, m, part)


@kernel()
def value_at(counts, plan, sizes, values):
    """The weighted loss of the rescaled part at any counts, one per group."""
    part = plan.rescaled
    if part.kind in (CURVE, TVERSKY_SUPERMODULAR):
        return curve_value(counts[part.axis], float(sizes[0]), part, values)
    if part.kind == TABLE:
        cell = 0
        for b in range(plan.axes):
            cell = cell * (sizes[b] + 1) + counts[b]
        return part.weight * values[part.start + cell]
    return concave_value(float(counts[0]), float(counts[1]), float(sizes[0]), part)


@kernel()
def objective(is_margin, loss, total, scale):
    """The rescaled loss of a set whose margins sum to `total`."""
    if is_margin:
        return loss - scale * total
    return loss * (1.0 - scale * total) if loss > 0.0 else 0.0
