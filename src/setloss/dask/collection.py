"""Data on disk in the form that ``fit`` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Collection:
    """What an estimator of `setloss.dask` takes: ``fit(X, y, groups)`` for bags, ``fit(X, y)`` for label sets."""

    X: Any
    y: Any
    groups: Any = None
    feature_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None

    @property
    def targets(self) -> tuple[Any, ...]:
        """What goes beside X."""
        return (self.y,) if self.groups is None else (self.y, self.groups)
