"""From decisions to sets: one row of scores per set of decisions that is judged as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor

from setloss.nn.margins import scores_of, scores_of_argmax
from setloss.nn.targets import Decisions, Mode

Over = Literal["image", "batch", "class", "groups"]


@dataclass(frozen=True)
class Sets:
    """A set per row; `shape` is how the rows are laid out for the user, one number per set."""

    scores: Tensor
    truth: Tensor
    valid: Tensor | None
    shape: tuple[int, ...]


def arrange(given: Decisions, mode: Mode, over: Over, margins: str, chosen: list[int] | None) -> Sets:
    """The sets of a batch; see `setloss.nn.functional.set_loss` for what `mode`, `over` and `margins` mean.

    `chosen` are the classes that have sets, None for all.
    """
    scores, truth, valid = decided(given, margins), given.truth, given.counted
    if chosen is not None:
        index = torch.tensor(chosen, device=scores.device)
        scores, truth = scores.index_select(1, index), truth.index_select(1, index)
        valid = None if valid is None else valid.index_select(1, index)
    rows, shape = layout(scores.shape, mode, over)
    return Sets(rows(scores), rows(truth), None if valid is None else rows(valid), shape)


def decided(given: Decisions, margins: str) -> Tensor:
    """The scores of all decisions; logits that do not count cannot spoil those of their pixel that do."""
    logits, counted = given.logits, given.counted
    if counted is not None and margins in ("softmax", "argmax"):
        logits = logits.masked_fill(~counted, 0.0)
    if margins != "argmax":
        return scores_of(logits, given.truth, margins)
    if logits.shape[1] < 2:
        raise ValueError("margins='argmax' compares classes; the logits have one only")
    return scores_of_argmax(
        logits, given.labels if given.valid is None else torch.where(given.valid, given.labels, 0)
    )


def layout(shape: torch.Size, mode: Mode, over: Over) -> tuple[Callable[[Tensor], Tensor], tuple[int, ...]]:
    """How decisions become rows, and the shape of one number per set."""
    sets, classes_first = _sets(shape, mode, over)
    number = prod(sets)

    def rows(tensor: Tensor) -> Tensor:
        moved = tensor.movedim(1, 0) if classes_first else tensor
        if moved.ndim == 2 and moved.shape[0] == number:
            return moved  # a view of the same shape is one more step backward
        return moved.reshape(number, tensor.numel() // max(number, 1))

    return rows, sets


def _sets(shape: torch.Size, mode: Mode, over: Over) -> tuple[tuple[int, ...], bool]:
    """The shape of one number per set, and whether classes have to come first."""
    if mode == "multiclass":
        return (tuple(shape[:2]), False) if over == "image" else ((shape[1],), True)
    if mode == "multilabel" and over == "class":
        return (shape[1],), True
    return ((shape[0],) if over == "image" else (1,)), False
