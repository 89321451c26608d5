"""From reference operators to the rows of integers and floats that the kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.operators.cut import Surrogate, SurrogateSum
from setloss.operators.lovasz import LovaszHinge
from setloss.operators.rescaling import MarginRescaling, Rescaling
from setloss.setfunctions.counts import AxisCurve, CountFunction, Linear, Sum, unscaled
from setloss.setfunctions.tversky import TverskyClosure, TverskyCounts, TverskySubmodular
from setloss.typing import Array

# Kinds of gain for the Lovász part and of loss for the rescaled part.
NONE, CURVE, TABLE, LINEAR, TVERSKY, TVERSKY_SUBMODULAR, TVERSKY_CLOSURE, TVERSKY_SUPERMODULAR = range(8)

# Columns of the integer specs: the Lovász part, the rescaled part, the groups.
L_KIND, L_START, L_ELEMENTWISE, R_KIND, R_START, R_AXIS, R_MARGIN, GROUPS, SIZES = range(9)

# Columns of the float specs: weights, the scale c, and the parameters of either part: (a, b, undefined, cap) of
# the Tversky family, or the rates of the two groups.
L_WEIGHT, R_WEIGHT, SCALE, L_A, L_B, L_UNDEFINED, L_CAP, R_A, R_B, R_UNDEFINED = range(10)


@dataclass(frozen=True)
class SpecTable:
    """One row of `specs` and `reals` per kind of bag; curves and tables lie in one `buffer`."""

    specs: NDArray[np.int64]
    reals: Array
    buffer: Array

    @property
    def arrays(self) -> tuple[NDArray[np.int64], Array, Array]:
        """What the kernels take."""
        return self.specs, self.reals, self.buffer

    @property
    def most_groups(self) -> int:
        """The largest number of groups of any kind of bag."""
        return int(self.specs.shape[1]) - SIZES


@dataclass(frozen=True)
class Lowered:
    """A function of counts as the kernels see it: a kind, parameters, and values for the buffer."""

    kind: int
    parameters: tuple[float, ...] = ()
    values: Array = field(default_factory=lambda: np.empty(0))
    axis: int = 0


def lower(surrogates: Sequence[Surrogate]) -> SpecTable:
    """The specs of the given surrogates, in their order."""
    parts = [_terms(surrogate) for surrogate in surrogates]
    most_groups = max((len(term.function.sizes) for terms in parts for _, term in terms), default=1)
    specs = np.zeros((len(parts), SIZES + most_groups), dtype=np.int64)
    reals = np.zeros((len(parts), R_UNDEFINED + 1))
    buffer, used = [np.zeros(1)], 1
    for spec, real, terms in zip(specs, reals, parts, strict=True):
        for weight, term in terms:
            sizes = term.function.sizes
            spec[GROUPS], spec[SIZES : SIZES + len(sizes)] = len(sizes), sizes
            write = _write_hinge if isinstance(term, LovaszHinge) else _write_rescaling
            buffer.append(write(term, weight, used, spec, real))
            used += buffer[-1].size
    return SpecTable(specs, reals, np.concatenate(buffer))


def _terms(surrogate: Surrogate) -> list[tuple[float, Any]]:
    """The parts a surrogate is the sum of: at most one Lovász hinge and one rescaling."""
    found = list(_flatten(surrogate, 1.0))
    hinges = sum(isinstance(term, LovaszHinge) for _, term in found)
    if hinges > 1 or len(found) - hinges > 1:
        raise TypeError("a batch takes the sum of at most one Lovász hinge and one rescaling per bag")
    return found


def _flatten(surrogate: Surrogate, weight: float) -> Iterator[tuple[float, Any]]:
    if isinstance(surrogate, SurrogateSum):
        for inner, term in surrogate.terms:
            yield from _flatten(term, weight * inner)
    elif isinstance(surrogate, LovaszHinge | Rescaling):
        yield weight, surrogate
    else:
        raise TypeError(f"a batch takes Lovász hinges and rescalings; got {type(surrogate).__name__}")


def _write_hinge(hinge: LovaszHinge, weight: float, start: int, spec: Any, real: Any) -> Array:
    inner, counts = unscaled(hinge.function.counts)
    part = gain_of(counts)
    spec[L_KIND], spec[L_START], spec[L_ELEMENTWISE] = part.kind, start, hinge.elementwise
    real[L_WEIGHT] = weight * inner
    real[L_A : L_A + len(part.parameters)] = part.parameters
    return part.values


def _write_rescaling(rescaling: Rescaling, weight: float, start: int, spec: Any, real: Any) -> Array:
    if rescaling.search != "exact":
        raise TypeError(f"a batch is exact; it does not take search={rescaling.search!r}")
    is_margin = isinstance(rescaling, MarginRescaling)
    inner, counts = unscaled(rescaling.function.counts)
    part = loss_of(counts)
    spec[R_KIND], spec[R_START], spec[R_AXIS], spec[R_MARGIN] = part.kind, start, part.axis, is_margin
    real[R_WEIGHT] = weight * inner
    # The weight of a margin rescaling multiplies the margins too; that of a slack rescaling the loss only.
    real[SCALE] = rescaling.scale * (weight if is_margin else 1.0)
    real[R_A : R_A + len(part.parameters)] = part.parameters
    return part.values


@singledispatch
def gain_of(counts: CountFunction) -> Lowered:
    """How the Lovász hinge reads increments of this kind of function."""
    if len(counts.sizes) == 1:
        return Lowered(CURVE, values=counts.step(0, np.arange(counts.sizes[0])))
    return Lowered(TABLE, values=counts.table().ravel())


@gain_of.register
def _(counts: Linear) -> Lowered:
    if len(set(counts.rates)) == 1:
        return Lowered(CURVE, values=np.full(sum(counts.sizes), counts.rates[0]))
    return Lowered(LINEAR, counts.rates) if len(counts.sizes) == 2 else gain_of.dispatch(object)(counts)


@gain_of.register
def _(counts: TverskyCounts) -> Lowered:
    return Lowered(TVERSKY, (counts.a, counts.b, counts.undefined, np.inf))


@gain_of.register
def _(counts: TverskySubmodular) -> Lowered:
    loss = counts.loss
    return Lowered(TVERSKY_SUBMODULAR, (loss.a, loss.b, loss.undefined, np.inf))


@gain_of.register
def _(counts: TverskyClosure) -> Lowered:
    loss = counts.base.loss
    return Lowered(TVERSKY_CLOSURE, (loss.a, loss.b, loss.undefined, counts.cap))


@singledispatch
def loss_of(counts: CountFunction) -> Lowered:
    """How the rescalings search this kind of function."""
    if len(counts.sizes) == 1:
        return Lowered(CURVE, values=counts.table())
    return Lowered(TABLE, values=counts.table().ravel())


@loss_of.register
def _(counts: AxisCurve) -> Lowered:
    return Lowered(CURVE, values=counts.values, axis=counts.axis)


@loss_of.register
def _(counts: Sum) -> Lowered:
    if counts.terms:
        return loss_of.dispatch(object)(counts)
    return Lowered(CURVE, values=np.zeros(counts.sizes[0] + 1))


@loss_of.register
def _(counts: Linear) -> Lowered:
    return Lowered(LINEAR, counts.rates) if len(counts.sizes) == 2 else loss_of.dispatch(object)(counts)


@loss_of.register
def _(counts: TverskyCounts) -> Lowered:
    return Lowered(TVERSKY, (counts.a, counts.b, counts.undefined))
