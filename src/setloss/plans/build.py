"""The one place where a loss and an operator become plans.

An operator takes a set function or a whole loss. Taken of the loss it is tried first: where its functions have
formulas, one reading gives the records of all sets. Otherwise it is taken of the set functions one by one, and each
surrogate is read as a record where it can be. Where it cannot, as those that users write, it is evaluated by its own
`cut`, bag by bag: a hundred times as long as by the kernels, and said once. Whatever works with plans works with it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.decomposition.certificate import ProgramTooLargeError, TableRangeError
from setloss.losses import Loss
from setloss.operators import Operator, operator_named
from setloss.operators.cut import Surrogate
from setloss.operators.rescaling import Scale
from setloss.plans.records import BatchCuts, NoPlanError, Plans, Reading, blank_records, lower, read_family
from setloss.setfunctions.counts import TableTooLargeError

Counts = NDArray[np.intp]

MANY_ELEMENTS = 2048
"""Surrogates of larger sets hold arrays of their size; only a few of them are kept."""


@dataclass(frozen=True)
class LossSurrogate:
    """An operator, of the given scale where it is a name, on a loss: the surrogates of all sets."""

    loss: Loss
    operator: str | Operator
    scale: Scale = 2.0

    @property
    def apply(self) -> Operator:
        """The operator as a function."""
        return operator_named(self.operator, self.scale) if isinstance(self.operator, str) else self.operator

    @property
    def closed(self) -> bool:
        """Whether one reading covers all sets."""
        return _is_closed(self)

    def read(self, positives: Any, negatives: Any) -> Reading | None:
        """The numbers of sets with these numbers of positives and negatives: integers, arrays or tensors."""
        surrogate = _of_all(self)
        return None if surrogate is None else read_family(surrogate, positives, negatives)

    def on_counts(self, positives: int, negatives: int) -> Surrogate:
        """The surrogate of a set with that many positives and negatives, positives first; cached."""
        cached = _small_surrogate if positives + negatives <= MANY_ELEMENTS else _large_surrogate
        return cached(self, positives, negatives)

    def plans(self, positives: Counts, negatives: Counts) -> "Plans | PythonPlans":
        """The plans of sets with these numbers of positives and negatives."""
        reading = self.read(positives, negatives)
        if reading is not None:
            if np.any(positives == 0):
                self.on_counts(0, 1)  # raises where the loss costs something on sets that are predicted right
            records = blank_records(len(positives))
            reading.write(records)
            return Plans(records, np.stack([positives, negatives], axis=1).astype(np.int64), np.zeros(1))
        pairs = list(zip(positives.tolist(), negatives.tolist(), strict=True))
        surrogates = [self.on_counts(m, q) for m, q in pairs]
        partitions = [self.loss.element_partition(np.repeat([True, False], pair)) for pair in pairs]
        try:
            return lower(surrogates, partitions)
        except NoPlanError:
            return PythonPlans(surrogates, partitions)


@lru_cache(maxsize=1024)
def _of_all(surrogate: LossSurrogate) -> Surrogate | None:
    """The operator of the loss; None where it asks for what only a set function has. Other errors show set by set."""
    try:
        return surrogate.apply(surrogate.loss)
    except (TypeError, AttributeError):
        return None


def _surrogate(surrogate: LossSurrogate, positives: int, negatives: int) -> Surrogate:
    """The surrogate of one set; an error about the table of a loss without a formula says which loss and set."""
    name, counts = type(surrogate.loss).__name__, f"a set of {positives} positives and {negatives} negatives"
    try:
        return surrogate.apply(surrogate.loss.on_counts(positives, negatives))
    except TableRangeError as error:
        raise type(error)(f"{name} on {counts}, operator={surrogate.operator!r}: {error}") from error
    except (TableTooLargeError, ProgramTooLargeError) as error:
        raise type(error)(
            f"{name} has no closed form for operator={surrogate.operator!r}, and {counts} is too large without one. "
            "Dice, Jaccard, Tversky with beta >= 1/2, Hamming and cost curves work at any size; else make the sets "
            f"smaller. ({error})"
        ) from error


_small_surrogate = lru_cache(maxsize=65536)(_surrogate)
_large_surrogate = lru_cache(maxsize=16)(_surrogate)


@lru_cache(maxsize=1024)
def _is_closed(surrogate: LossSurrogate) -> bool:
    return surrogate.read(1, 1) is not None


# ---------------------------------------------------------------- surrogates without a record


class SlowSurrogateWarning(UserWarning):
    """A surrogate is evaluated by its own Python code, bag by bag."""


class PythonPlans:
    """One surrogate per kind of bag, over elements in the order of its `partitions`, one of each kind."""

    def __init__(self, surrogates: Sequence[Surrogate], partitions: Sequence[NDArray[Any]]) -> None:
        self.surrogates = tuple(surrogates)
        self._places = [np.argsort(of_kind, kind="stable") for of_kind in partitions]
        self.exact = True

    def cuts(
        self, flat: NDArray[np.floating], bags: Bags, partition: NDArray[np.int16], which: NDArray[np.intp]
    ) -> BatchCuts:
        """The cut of every bag at gathered margins."""
        offsets, values, slopes = np.zeros(len(bags)), np.zeros(len(bags)), np.zeros_like(flat)
        exact = True
        for i, kind in enumerate(which):
            here = slice(bags.offsets[i], bags.offsets[i + 1])
            margins, place = np.empty(here.stop - here.start), self._places[kind]
            order = np.argsort(partition[here], kind="stable")
            margins[place] = flat[here][order]
            cut = self.surrogates[kind].cut(margins)
            offsets[i], values[i] = cut.offset, cut(margins)
            slopes[here][order] = cut.slope[place]
            exact = exact and cut.exact
        self.exact = self.exact and exact
        warnings.warn(
            f"{type(self.surrogates[0]).__name__} has no plan, so its Python code is called for every bag, at every "
            "evaluation: some hundred times as long as what is compiled, sums of one Lovász hinge and one slack or "
            "margin rescaling.",
            SlowSurrogateWarning,
            stacklevel=2,
        )
        return BatchCuts(offsets, slopes, values, exact)
