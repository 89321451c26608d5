"""The judge: surrogates by enumeration of all sets of mistakes; none of the library's operators is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from setloss import decompose
from setloss.losses import Loss

MAX_ELEMENTS = 8
ROUNDING = 1e-9
"""Numbers are compared up to this fraction of the largest that went into them."""


@dataclass(frozen=True)
class Outcome:
    """How many things one case judged, the largest of its errors, and what else is to be counted."""

    judged: int
    largest: dict[str, float]
    counted: dict[str, int] = field(default_factory=dict)


class Judge:
    """B of one example with the given labels, at any number of margin vectors at once."""

    def __init__(self, loss: Loss, truth: np.ndarray, operator: str, scale: float) -> None:
        p = len(truth)
        self.masks = (np.arange(2**p)[:, None] >> np.arange(p - 1, -1, -1) & 1).astype(bool)
        self.operator, self.scale = operator, scale
        self.values = np.asarray(loss(np.tile(truth, (2**p, 1)), truth ^ self.masks))
        self.submodular, self.supermodular = self.values, np.zeros(2**p)
        if operator in ("bd", "bd-monotone"):
            parts = decompose(loss.set_function(truth))
            self.submodular, self.supermodular = parts.submodular(self.masks), parts.supermodular(self.masks)
            if operator == "bd-monotone":
                self.submodular = self._closure(self.submodular)
        self.size = float(np.max(np.abs([self.values, self.submodular, self.supermodular]))) or 1.0

    def __call__(self, margins: np.ndarray) -> np.ndarray:
        """The surrogate at each row of margins."""
        if self.operator == "hinge":
            return np.sum(np.maximum(1 - margins, 0.0), axis=1)
        if self.operator == "slack":
            return self._slack(self.values, margins)
        if self.operator == "margin":
            return np.max(self.values - self.scale * margins @ self.masks.T, axis=1)
        return self._lovasz(self.submodular, margins) + self._slack(self.supermodular, margins)

    def unit(self, margins: np.ndarray) -> np.ndarray:
        """What rounding errors at each row are relative to."""
        reach = 1 + np.sum(np.abs(margins), axis=1)
        return np.maximum(self.size, 1.0 if self.operator in ("hinge", "margin") else 0.0) * reach

    def _slack(self, values: np.ndarray, margins: np.ndarray) -> np.ndarray:
        return np.max(values * (1 - self.scale * margins @ self.masks.T), axis=1)

    def _lovasz(self, values: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """The gains along the chain of worst elements; the positive part outside unless f is increasing."""
        n, p = margins.shape
        order = np.argsort(margins, axis=1)
        places = np.cumsum(2 ** (p - 1 - order), axis=1)
        gains = np.diff(values[np.concatenate([np.zeros((n, 1), dtype=np.intp), places], axis=1)], axis=1)
        slack = 1 - np.take_along_axis(margins, order, axis=1)
        if self._increasing(values):
            return np.sum(gains * np.maximum(slack, 0.0), axis=1)
        return np.maximum(np.sum(gains * slack, axis=1), 0.0)

    def _increasing(self, values: np.ndarray) -> bool:
        gains = np.concatenate([values[high] - values[low] for low, high in self._edges()])
        return bool(gains.min() >= -ROUNDING * np.abs(gains).max())

    def _closure(self, values: np.ndarray) -> np.ndarray:
        """min over B containing A of f(B)."""
        closed = values.copy()
        for low, high in self._edges():
            closed[low] = np.minimum(closed[low], closed[high])
        return closed

    def _edges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For every element, the sets without it and the same sets with it."""
        p = self.masks.shape[1]
        index = np.arange(2**p)
        without = [index[~self.masks[:, i]] for i in range(p)]
        return [(low, low + 2 ** (p - 1 - i)) for i, low in enumerate(without)]


def require(holds: bool | np.bool_, words: str) -> None:
    """Raise where a figure is not what it must be."""
    if not holds:
        raise AssertionError(words)
