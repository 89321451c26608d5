"""Choosing C by held-out losses, in one way for label sets and for tracks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

H = TypeVar("H")
R = TypeVar("R")

CHEAP, PATIENCE = 3.0, 2
"""From C = `CHEAP` on, a path may end after `PATIENCE` values in a row that do worse than the best: large C costs
most."""


@dataclass(frozen=True)
class ChosenC(Generic[R]):
    """A value of C, its held-out loss, and the rule that goes with it."""

    C: float
    loss: float
    rule: R


def choose_C(
    Cs: Sequence[float],
    folds: Sequence[Iterable[H]],
    judge: Callable[[list[H]], Sequence[tuple[float, R]]],
    patience: float = math.inf,
) -> list[ChosenC[R]]:
    """The C of least held-out loss, the smallest of equally good ones.

    Parameters
    ----------
    Cs
        The values of C, ascending.
    folds
        One iterable per inner fold: for every C what a model that is trained without the fold says of it. A path
        ends where the first of them ends.
    judge
        From what the folds have for one C to pairs of loss and rule. Several ways to decide that share a training
        are several pairs, and each gets a choice of its own.
    patience
        The path ends after this many values of C in a row where nothing got better; see `CHEAP`.
    """
    best: list[ChosenC[R]] = []
    worse = 0
    for C, *held_out in zip(Cs, *folds, strict=False):
        offers = [ChosenC(C, loss, rule) for loss, rule in judge(held_out)]
        best = best or offers
        worse = 0 if any(new.loss <= old.loss for new, old in zip(offers, best, strict=True)) else worse + 1
        best = [min(pair, key=_loss) for pair in zip(best, offers, strict=True)]
        if worse >= patience and C >= CHEAP:
            break
    return best


def _loss(choice: ChosenC[R]) -> float:
    return choice.loss
