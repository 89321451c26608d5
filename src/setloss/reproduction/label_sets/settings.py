"""What all methods of the label-set benchmark have in common."""

from __future__ import annotations

from dataclasses import dataclass

from setloss.reproduction.label_sets.chosen import GRID


@dataclass(frozen=True)
class SelectionSettings:
    """How every method chooses, and how large the base models are.

    The grid of C, inner folds and their seed, the criterion; the gap to stop at; the numbers of trees of a forest and
    of rounds of boosting.
    """

    Cs: tuple[float, ...] = GRID
    folds: int = 5
    criterion: str = "f1"
    seed: int = 0
    tol: float = 1e-2
    max_iter: int = 200
    intercept_scaling: float = 1.0
    trees: int = 300
    rounds: int = 50
