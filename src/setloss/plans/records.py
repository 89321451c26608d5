"""Records: what is computed for one kind of bag, and how surrogates are read into them.

A record has at most one Lovász hinge and at most one rescaled loss:

    B(m) = weight L f(m)  +  max over A of  weight l(A) (1 - c sum_{i in A} m_i)      or  l(A) - c sum_{i in A} m_i

It names how the increments of f are read and how l is maximised; every interpreter reads these fields and nothing
else. Bags of equal (positives, negatives) share one record. Positives are group 0, negatives group 1; symmetric
functions have group 0 only.

A surrogate of one set is read by `read`, with a curve or a table where its function has no closed form. A surrogate
of all sets of a family is read by `read_family`: its functions have formulas, and the numbers of positives and
negatives are integers, arrays or tensors, which the numbers that are read then are, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setloss.losses.families import Family
from setloss.operators.cut import Surrogate, SurrogateSum
from setloss.operators.lovasz import LovaszHinge
from setloss.operators.rescaling import MarginRescaling, Rescaling, SlackRescaling
from setloss.setfunctions.counts import CountCurve, CountFunction, Kind, Linear, Sum, unscaled
from setloss.setfunctions.tversky import (
    TverskyClosure,
    TverskyCounts,
    TverskySubmodular,
    TverskySupermodular,
    some,
)
from setloss.typing import Array

NONE, CURVE, TABLE, LINEAR, TVERSKY, TVERSKY_SUBMODULAR, TVERSKY_SUPERMODULAR = map(int, Kind)
"""The kinds of parts as constants of kernels (`setloss.compilation`)."""

PART = np.dtype(
    [
        ("kind", np.int64),
        ("start", np.int64),  # of the curve or table in the values
        ("axis", np.int64),  # the group a curve counts
        ("weight", np.float64),
        ("false_negative", np.float64),  # weights of the closed forms: Tversky's b, or the cost of one
        ("false_positive", np.float64),  # Tversky's a, or the cost of one
        ("undefined", np.float64),  # the Tversky loss where it reads 0/0
        ("cap", np.float64),  # the monotone closure min(f, cap) of f; infinite where f itself is meant
    ]
)

PLAN = np.dtype(
    [
        ("lovasz", PART),
        ("rescaled", PART),
        ("elementwise", np.int64),  # whether the positive part of the hinge is taken element by element
        ("margin", np.int64),  # margin instead of slack rescaling
        ("scale", np.float64),
        ("axes", np.int64),  # the number of groups that the partition of a bag has
    ]
)


@dataclass(frozen=True)
class Plans:
    """One record and one row of group sizes per kind of bag; curves and tables lie in one array of values."""

    records: NDArray[np.void]
    sizes: NDArray[np.int64]
    values: Array
    exact = True  # every cut touches its surrogate

    @cached_property
    def search_counts(self) -> bool:
        """Whether the worst set of some kind is searched among the counts of several groups."""
        kinds = self.records["rescaled"]["kind"]
        return bool(np.any((kinds != NONE) & (kinds != CURVE) & (kinds != TVERSKY_SUPERMODULAR)))

    @property
    def arrays(self) -> tuple[NDArray[np.void], NDArray[np.int64], Array]:
        """What the kernels take."""
        return self.records, self.sizes, self.values


@dataclass(frozen=True)
class BatchCuts:
    """One cut per bag: ``B_i(m') >= offsets[i] - <slopes of bag i, m'>``, equal to ``values[i]`` at m.

    Where `exact` is False a heuristic was asked, and `values` is what it saw: the cuts are minorants that need not
    touch.
    """

    offsets: Array
    slopes: NDArray[np.floating]
    values: Array
    exact: bool = True


def blank_records(count: int) -> NDArray[np.void]:
    """Records without any part."""
    records = np.zeros(count, dtype=PLAN)
    records["lovasz"]["weight"] = records["rescaled"]["weight"] = 1.0
    records["lovasz"]["cap"] = np.inf
    return records


# ---------------------------------------------------------------- reading


class NoPlanError(TypeError):
    """A surrogate is not a sum of parts that a record can hold; it is evaluated by its own `cut`."""


class PartNumbers(NamedTuple):
    """One part of a record, see `setloss.plans.records.PART`, and the curve or table that its `start` refers to."""

    kind: Kind = Kind.NONE
    axis: int = 0
    weight: Any = 1.0
    false_negative: Any = 0.0
    false_positive: Any = 0.0
    undefined: Any = 0.0
    cap: Any = np.inf
    values: Array = np.empty(0)


class Reading(NamedTuple):
    """The numbers of a surrogate, see `setloss.plans.records.PLAN`, and the sizes of the groups."""

    sizes: tuple[Any, ...]
    lovasz: PartNumbers = PartNumbers()
    rescaled: PartNumbers = PartNumbers()
    elementwise: Any = False
    margin: bool = False
    scale: Any = 0.0

    def write(self, records: NDArray[np.void], start: int = 0) -> Array:
        """Fill the records; returns the values that they refer to from `start` on."""
        for name, part in (("lovasz", self.lovasz), ("rescaled", self.rescaled)):
            if part.kind == Kind.NONE:
                continue  # as blank records are
            for field in PartNumbers._fields[:-1]:
                records[name][field] = getattr(part, field)
            records[name]["start"] = start
            start += part.values.size
        records["elementwise"], records["margin"] = self.elementwise, self.margin
        records["scale"], records["axes"] = self.scale, len(self.sizes)
        return np.concatenate([self.lovasz.values, self.rescaled.values])


def lower(surrogates: Sequence[Surrogate], partitions: Sequence[NDArray[Any]]) -> Plans:
    """The plans of surrogates of one set each, in their order, and the groups of the elements of these sets.

    A `NoPlanError` names the surrogate that has no plan.
    """
    readings = [read(surrogate, partition) for surrogate, partition in zip(surrogates, partitions, strict=True)]
    records = blank_records(len(readings))
    sizes = np.zeros((len(readings), max((len(reading.sizes) for reading in readings), default=1)), dtype=np.int64)
    values, used = [np.zeros(1)], 1
    for k, reading in enumerate(readings):
        sizes[k, : len(reading.sizes)] = reading.sizes
        values.append(reading.write(records[k : k + 1], used))
        used += values[-1].size
    return Plans(records, sizes, np.concatenate(values))


def read(surrogate: Surrogate, partition: NDArray[Any]) -> Reading:
    """The numbers of the surrogate of one set whose elements belong to these groups."""
    reading = Reading(tuple(np.bincount(partition).tolist()))
    for weight, term in _terms(surrogate):
        inner, counts = unscaled(term.one.counts)
        if np.array_equal(term.one.partition, partition):
            reading = reading._replace(sizes=counts.sizes)
        elif not (isinstance(term, LovaszHinge) and (len(counts.sizes) == 1 or counts.laws.get("symmetric"))):
            raise NoPlanError("a plan is made of functions over the groups of elements that the loss has")
        if isinstance(term, LovaszHinge):
            part = (closed_gain(counts) or _stored_gain(counts))._replace(weight=weight * inner)
            reading = reading._replace(lovasz=part, elementwise=term.elementwise)
        elif _matters(term, counts):
            part = (closed_loss(counts) or _stored_loss(counts))._replace(weight=weight * inner)
            reading = _with_rescaling(reading, term, part, weight)
    return reading


def read_family(surrogate: Surrogate, positives: Any, negatives: Any) -> Reading | None:
    """The numbers of a surrogate of all sets; None where each set has to be read for itself.

    That is so where a function has no formula that a record holds, and where the laws that its operator needs are not
    proved for all sets: each set is then judged, and refused with a witness.
    """
    try:
        terms = _terms(surrogate)
    except NoPlanError:
        return None
    reading = Reading((positives, negatives))
    for weight, term in terms:
        counts = term.function.closed_counts(positives, negatives) if isinstance(term.function, Family) else None
        if counts is None:
            return None
        if isinstance(term, LovaszHinge):
            part, laws = closed_gain(counts), counts.laws
            increasing = laws.get("increasing")
            elementwise = increasing if term.positive_part is None else term.positive_part == "elementwise"
            allowed = laws.get("submodular") and (term.positive_part != "elementwise" or increasing is True)
            if part is None or elementwise is None or not allowed:
                return None
            reading = reading._replace(lovasz=part._replace(weight=weight), elementwise=elementwise)
        elif _matters(term, counts):
            part = closed_loss(counts)
            if part is None:
                return None
            reading = _with_rescaling(reading, term, part._replace(weight=weight), weight)
    return reading


def _matters(term: Rescaling, counts: CountFunction) -> bool:
    """Slack rescaling of the zero function is 0; margin rescaling is not."""
    return isinstance(term, MarginRescaling) or not (isinstance(counts, Sum) and not counts.terms)


def _with_rescaling(reading: Reading, term: Rescaling, part: PartNumbers, weight: float) -> Reading:
    margin = isinstance(term, MarginRescaling)
    scale = 2 / some(sum(reading.sizes)) if term.scale == "mean" else float(term.scale)
    # The weight of a margin rescaling multiplies the margins too; that of a slack rescaling the loss only.
    return reading._replace(rescaled=part, margin=margin, scale=scale * (weight if margin else 1.0))


def _terms(surrogate: Surrogate) -> list[tuple[float, Any]]:
    """The parts a surrogate is the sum of: at most one Lovász hinge and one rescaling."""
    terms = list(_flatten(surrogate, 1.0))
    hinges = sum(isinstance(term, LovaszHinge) for _, term in terms)
    if hinges > 1 or len(terms) - hinges > 1:
        raise NoPlanError("a plan is the sum of at most one Lovász hinge and one rescaling")
    if any(term.search != "exact" for _, term in terms if isinstance(term, Rescaling)):
        raise NoPlanError('a plan searches worst sets with search="exact"')
    return terms


def _flatten(surrogate: Surrogate, weight: float) -> Iterator[tuple[float, Any]]:
    if type(surrogate) is SurrogateSum:
        for inner, term in surrogate.terms:
            yield from _flatten(term, weight * inner)
    elif type(surrogate) in (LovaszHinge, SlackRescaling, MarginRescaling):
        yield weight, surrogate
    else:
        raise NoPlanError(f"a plan is made of Lovász hinges and rescalings; got {type(surrogate).__name__}")


def closed_gain(counts: CountFunction) -> PartNumbers | None:
    """How the Lovász hinge reads increments of this kind of function, where it has a formula."""
    match counts:
        case Linear() if len(set(counts.costs[1:])) <= 1:
            return PartNumbers(Kind.LINEAR, false_negative=counts.rates[0], false_positive=counts.rates[-1])
        case TverskyCounts():
            return _tversky(Kind.TVERSKY, counts)
        case TverskySubmodular():
            return _tversky(Kind.TVERSKY_SUBMODULAR, counts.loss)
        case TverskyClosure():
            return _tversky(Kind.TVERSKY_SUBMODULAR, counts.base.loss)._replace(cap=counts.cap)
    return None


def closed_loss(counts: CountFunction) -> PartNumbers | None:
    """How the rescalings search this kind of function, where it has a formula; those that have are non-negative."""
    match counts:
        case Linear() if len(counts.sizes) == 2:
            return PartNumbers(Kind.LINEAR, false_negative=counts.rates[0], false_positive=counts.rates[1])
        case TverskyCounts():
            return _tversky(Kind.TVERSKY, counts)
        case TverskySupermodular():
            return _tversky(Kind.TVERSKY_SUPERMODULAR, counts.loss)
    return None


def _tversky(kind: Kind, counts: TverskyCounts) -> PartNumbers:
    return PartNumbers(kind, false_negative=counts.b, false_positive=counts.a, undefined=counts.undefined)


def _stored_gain(counts: CountFunction) -> PartNumbers:
    """The increments of a curve, or the cells of a table."""
    if len(counts.sizes) == 1:
        return PartNumbers(Kind.CURVE, values=counts.step(0, np.arange(counts.sizes[0])))
    return PartNumbers(Kind.TABLE, values=counts.table().ravel())


def _stored_loss(counts: CountFunction) -> PartNumbers:
    """The values of a curve, or the cells of a table."""
    if isinstance(counts, CountCurve):
        return PartNumbers(Kind.CURVE, axis=counts.axis, values=counts.values)
    return PartNumbers(Kind.CURVE if len(counts.sizes) == 1 else Kind.TABLE, values=counts.table().ravel())
