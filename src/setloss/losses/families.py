"""Families: one set function for every label vector, and what D and the operators make of all of them at once.

A loss is a family. So are the parts l = f + g of its decomposition, and any set function made of those of a family.
Where one formula covers all sets, `Family.closed_counts` gives it, with arrays for the numbers of positives and
negatives; the proofs about the formula then hold for all sets, and plans read its numbers. Where there is none, every
set has a function of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.arguments import as_labels, is_whole_number
from setloss.bags import Bags
from setloss.setfunctions.counts import CountFunction, Formula, Kind, Linear
from setloss.setfunctions.set_function import SetFunction
from setloss.setfunctions.tversky import TverskyCounts, some
from setloss.typing import Array, Flags


class Family(ABC):
    """A set function for every label vector y; what is made of it depends on the numbers in y only, or on its size.

    Examples
    --------
    >>> from setloss import Dice
    >>> dice = Dice()
    >>> dice.on_counts(2, 1) == dice.set_function([1, 1, 0])
    True
    >>> dice.closed_counts(2, 1)(1, 0)  # one false negative of two positives
    array(0.33333333)
    """

    by_counts = False
    """Whether any numbers of positives and negatives have a function, in which the elements of each are alike."""

    @abstractmethod
    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        """The set function of an example whose positives come first."""

    @abstractmethod
    def set_function(self, y_true: ArrayLike) -> SetFunction:
        """The set function of an example with labels `y_true`."""

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        """The one formula of all sets at these numbers: integers, arrays or tensors. None: there is no such one."""
        return None


class Form(NamedTuple):
    """The numbers of a loss with one formula for all counts; what reads losses elsewhere reads these.

    LINEAR: what a false negative and a false positive cost, divided by the number of elements if `mean`. TVERSKY:
    what they weigh against a true positive, and the loss where it reads 0/0.

    Examples
    --------
    >>> from setloss import Dice, Hamming
    >>> Dice().form.false_negative, Hamming().form.mean
    (0.5, True)
    """

    kind: Kind
    false_negative: float
    false_positive: float
    undefined: float = 0.0
    mean: bool = False

    def counts(self, positives: Any, negatives: Any) -> CountFunction:
        """The formula for these numbers of positives and negatives: integers, arrays or tensors."""
        if self.kind == Kind.TVERSKY:
            return TverskyCounts(positives, negatives, self.false_positive, self.false_negative, self.undefined)
        unit = 1 / some(positives + negatives) if self.mean else 1.0
        return Linear((positives, negatives), (self.false_negative, self.false_positive), unit)


class Loss(Family):
    """Delta(y, y~), a loss of the whole set of mistakes on one example.

    Examples
    --------
    >>> from setloss import Jaccard
    >>> loss = Jaccard()
    >>> loss([1, 1, 0], [1, 0, 0]), loss.set_function([1, 1, 0])({1})  # by labels, and by the set of mistakes
    (0.5, 0.5)
    """

    form: Form | None = None
    """The numbers of the one formula of all counts; None where there is none."""

    by_size = False
    """Whether only the number of mistakes matters, in sets of one size."""

    trial: tuple[int, int] | None = None
    """Numbers of positives and negatives on which an operator can be tried; None if no set is known to do."""

    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """Evaluate on one example ``(p,)``, on the rows of ``(n, p)``, or on bags.

        With `groups`, a bag id per element, the labels are flat and there is one value per bag, in sorted
        order of the ids.
        """
        truth, predicted = as_labels(y_true, "y_true"), as_labels(y_pred, "y_pred")
        if truth.shape != predicted.shape:
            raise ValueError(f"y_true has shape {truth.shape}, y_pred has shape {predicted.shape}")
        wrong = truth != predicted
        if groups is None:
            values = self._on_sets(np.atleast_2d(truth), np.atleast_2d(wrong), lambda flags: flags.sum(axis=1))
            return float(values[0]) if truth.ndim == 1 else values
        if truth.ndim != 1:
            raise ValueError(f"with groups the labels are flat, one per element; got shape {truth.shape}")
        bags = Bags.from_groups(groups)
        return self._on_sets(bags.gather(truth), bags.gather(wrong), lambda flags: bags.totals(flags.astype(np.intp)))

    @abstractmethod
    def _on_sets(self, truth: Flags, wrong: Flags, total: Callable[[Flags], NDArray[np.intp]]) -> Array:
        """The loss of every set, the elements of each in one piece; `total` counts flags set by set."""

    def distinct_counts(self, positives: NDArray[np.intp], negatives: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows (positives, negatives), or (size, 0), equal for examples that have the same set function."""
        sizes_only = self.by_size or not self.by_counts
        pair = (positives + negatives, np.zeros_like(positives)) if sizes_only else (positives, negatives)
        return np.stack(pair, axis=1)

    @abstractmethod
    def element_partition(self, truth: Flags) -> NDArray[np.signedinteger[Any]]:
        """The partitions of the set functions of whole sets: the group of every element of their flat labels."""


class CountLoss(Loss):
    """A loss of the numbers of false negatives and false positives.

    Examples
    --------
    >>> class MissedAny(CountLoss):
    ...     def value(self, false_negatives, false_positives, positives, negatives):
    ...         return 1.0 * (np.asarray(false_negatives) > 0)
    >>> MissedAny()([[1, 0], [1, 0]], [[1, 1], [0, 0]])
    array([0., 1.])
    """

    by_counts = True
    trial = 8, 8

    @abstractmethod
    def value(self, false_negatives: Any, false_positives: Any, positives: Any, negatives: Any) -> Any:
        """The loss; all four are arrays that broadcast together."""

    def counts(self, positives: int, negatives: int) -> CountFunction:
        """The loss of an example as a function of (false negatives, false positives)."""
        sizes = positives, negatives
        return self.closed_counts(*sizes) or Formula(sizes, self.value, fixed=sizes)

    def closed_counts(self, positives: Any, negatives: Any) -> CountFunction | None:
        return self.form and self.form.counts(positives, negatives)

    def on_counts(self, positives: int, negatives: int) -> SetFunction:
        if not (is_whole_number(positives, 0) and is_whole_number(negatives, 0)):
            raise ValueError(f"positives and negatives are whole numbers from 0 on; got {positives!r}, {negatives!r}")
        return self.set_function(np.repeat([True, False], [positives, negatives]))

    def set_function(self, y_true: ArrayLike) -> SetFunction:
        truth = as_labels(y_true, "y_true", ndim=(1,))
        positives = int(truth.sum())
        return SetFunction(self.counts(positives, len(truth) - positives), self.element_partition(truth))

    def element_partition(self, truth: Flags) -> NDArray[np.signedinteger[Any]]:
        return np.subtract(1, truth, dtype=np.int16)

    def _on_sets(self, truth: Flags, wrong: Flags, total: Callable[[Flags], NDArray[np.intp]]) -> Array:
        tallies = (total(flags) for flags in (wrong & truth, wrong & ~truth, truth, ~truth))
        return np.asarray(self.value(*tallies), dtype=np.float64)
