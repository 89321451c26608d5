"""Cuts without a plan: `Surrogate.cut`, bag by bag, for every surrogate that no record can hold.

It is for surrogates that users write. It takes some ten microseconds a bag and more, a hundred times as long as the
kernels, and says so once; whatever works with plans works with it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setloss.bags import Bags
from setloss.operators.cut import Surrogate
from setloss.plans.records import BatchCuts


class SlowSurrogateWarning(UserWarning):
    """A surrogate is evaluated by its own Python code, bag by bag."""


_named: set[str] = set()
"""The surrogates that were warned of in this process."""


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
        began = time.perf_counter()
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
        if len(bags):
            _warn_once(self.surrogates[0], (time.perf_counter() - began) / len(bags))
        return BatchCuts(offsets, slopes, values, exact)


def _warn_once(surrogate: Surrogate, seconds: float) -> None:
    name = type(surrogate).__name__
    if name not in _named:
        _named.add(name)
        warnings.warn(
            f"{name} has no plan, so its Python code is called for every bag: {1e6 * seconds:.0f} microseconds a bag "
            "here, at every evaluation. Sums of one Lovász hinge and one slack or margin rescaling are compiled.",
            SlowSurrogateWarning,
            stacklevel=2,
        )
