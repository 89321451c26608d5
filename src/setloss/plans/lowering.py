"""From surrogate objects to plans: the kind of every set function picks how its part is read.

sum_t weight_t B_t,   at most one B_t a `LovaszHinge`, at most one a `SlackRescaling` or `MarginRescaling`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.operators.cut import Surrogate, SurrogateSum
from setloss.operators.lovasz import LovaszHinge
from setloss.operators.rescaling import MarginRescaling, Rescaling, SlackRescaling
from setloss.plans.records import (
    CURVE,
    LINEAR,
    TABLE,
    TVERSKY,
    TVERSKY_SUBMODULAR,
    TVERSKY_SUPERMODULAR,
    Plans,
    blank_records,
    write_part,
)
from setloss.setfunctions.combinations import Linear, Sum, unscaled
from setloss.setfunctions.counts import CountFunction, Curve
from setloss.setfunctions.tversky import TverskyClosure, TverskyCounts, TverskySubmodular, TverskySupermodular
from setloss.typing import Array


class NoPlanError(TypeError):
    """A surrogate is not a sum of parts that a record can hold; it is evaluated by its own `cut`."""


@dataclass(frozen=True)
class Part:
    """A function of counts as a part of a plan: its fields, and values for the common array."""

    fields: dict[str, float]
    values: Array = field(default_factory=lambda: np.empty(0))


def lower(surrogates: Sequence[Surrogate]) -> Plans:
    """The plans of the given surrogates, in their order; a `NoPlanError` names the one that has none."""
    terms = [_terms(surrogate) for surrogate in surrogates]
    most_axes = max((len(term.function.sizes) for parts in terms for _, term in parts), default=1)
    records = blank_records(len(terms))
    sizes = np.zeros((len(terms), most_axes), dtype=np.int64)
    values, used = [np.zeros(1)], 1
    for k, parts in enumerate(terms):
        for weight, term in parts:
            here = term.function.sizes
            records["axes"][k], sizes[k, : len(here)] = len(here), here
            write = _write_hinge if isinstance(term, LovaszHinge) else _write_rescaling
            values.append(write(term, weight, used, records[k : k + 1]))
            used += values[-1].size
    return Plans(records, sizes, np.concatenate(values))


def _terms(surrogate: Surrogate) -> list[tuple[float, Any]]:
    """The parts a surrogate is the sum of: at most one Lovász hinge and one rescaling."""
    found = list(_flatten(surrogate, 1.0))
    hinges = sum(isinstance(term, LovaszHinge) for _, term in found)
    if hinges > 1 or len(found) - hinges > 1:
        raise NoPlanError("a plan is the sum of at most one Lovász hinge and one rescaling")
    if any(term.search != "exact" for _, term in found if isinstance(term, Rescaling)):
        raise NoPlanError('a plan searches worst sets with search="exact"')
    return found


def _flatten(surrogate: Surrogate, weight: float) -> Iterator[tuple[float, Any]]:
    if type(surrogate) is SurrogateSum:
        for inner, term in surrogate.terms:
            yield from _flatten(term, weight * inner)
    elif type(surrogate).cut_ordered in _KNOWN:
        yield weight, surrogate
    else:
        raise NoPlanError(f"a plan is made of Lovász hinges and rescalings; got {type(surrogate).__name__}")


_KNOWN = {kind.cut_ordered for kind in (LovaszHinge, SlackRescaling, MarginRescaling)}
"""Cuts that are lowered; a subclass with a cut of its own is another surrogate."""


def _write_hinge(hinge: LovaszHinge, weight: float, start: int, records: NDArray[np.void]) -> Array:
    inner, counts = unscaled(hinge.function.counts)
    part = gain_of(counts)
    write_part(records, "lovasz", start=start, weight=weight * inner, **part.fields)
    records["elementwise"] = hinge.elementwise
    return part.values


def _write_rescaling(rescaling: Rescaling, weight: float, start: int, records: NDArray[np.void]) -> Array:
    is_margin = isinstance(rescaling, MarginRescaling)
    inner, counts = unscaled(rescaling.function.counts)
    part = loss_of(counts)
    write_part(records, "rescaled", start=start, weight=weight * inner, **part.fields)
    # The weight of a margin rescaling multiplies the margins too; that of a slack rescaling the loss only.
    records["scale"] = rescaling.scale * (weight if is_margin else 1.0)
    records["margin"] = is_margin
    return part.values


def gain_of(counts: CountFunction) -> Part:
    """How the Lovász hinge reads increments of this kind of function."""
    match counts:
        case Linear() if len(set(counts.costs[1:])) <= 1:
            first, *others = counts.rates
            return Part({"kind": LINEAR, "false_negative": first, "false_positive": (others or [first])[0]})
        case TverskyCounts():
            return Part({"kind": TVERSKY, **_weights(counts)})
        case TverskySubmodular():
            return Part({"kind": TVERSKY_SUBMODULAR, **_weights(counts.loss)})
        case TverskyClosure():
            return Part({"kind": TVERSKY_SUBMODULAR, **_weights(counts.base.loss), "cap": counts.cap})
    if len(counts.sizes) == 1:
        return Part({"kind": CURVE}, counts.step(0, np.arange(counts.sizes[0])))
    return Part({"kind": TABLE}, counts.table().ravel())


def loss_of(counts: CountFunction) -> Part:
    """How the rescalings search this kind of function."""
    match counts:
        case TverskySupermodular():
            return Part({"kind": TVERSKY_SUPERMODULAR, **_weights(counts.loss)})
        case Curve():
            return Part({"kind": CURVE, "axis": counts.axis}, counts.values)
        case Sum() if not counts.terms:
            return Part({"kind": CURVE}, np.zeros(counts.sizes[0] + 1))
        case Linear() if len(counts.sizes) == 2:
            return Part({"kind": LINEAR, "false_negative": counts.rates[0], "false_positive": counts.rates[1]})
        case TverskyCounts():
            return Part({"kind": TVERSKY, **_weights(counts)})
    return Part({"kind": CURVE if len(counts.sizes) == 1 else TABLE}, counts.table().ravel())


def _weights(counts: TverskyCounts) -> dict[str, float]:
    return {"false_negative": counts.b, "false_positive": counts.a, "undefined": counts.undefined}
