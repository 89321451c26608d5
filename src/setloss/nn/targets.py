"""From logits and targets of any rank to decisions: what is scored, what is true, what counts."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from setloss.nn.check_targets import check_labels, check_one_hot, label_range

Mode = Literal["binary", "multilabel", "multiclass"]


class Decisions(NamedTuple):
    """One decision per entry of `logits` and `truth`; `labels` and `valid` have an entry per pixel.

    In multiclass mode a pixel has C decisions and `labels` are class ids; otherwise pixels and decisions are the
    same. `shares` are soft labels in [0, 1] of the shape of the logits, None where every label is 0 or 1. `assertion`
    is a zero to add to the loss, so that a compiled graph keeps the check of its targets.
    """

    logits: Tensor
    truth: Tensor
    labels: Tensor
    valid: Tensor | None
    shares: Tensor | None = None
    assertion: Tensor | None = None

    @property
    def of_classes(self) -> bool:
        """Whether a pixel has one of several classes."""
        return self.labels.ndim < self.truth.ndim

    @property
    def counted(self) -> Tensor | None:
        """Which decisions count, of the shape of `truth`; None where all do."""
        if self.valid is None or self.valid.shape == self.truth.shape:
            return self.valid
        return self.valid.unsqueeze(1).expand(self.truth.shape)


def decisions(
    logits: Tensor, target: Tensor, mask: Tensor | None, mode: Mode, ignore_index: int | None, soft: bool = False
) -> Decisions:
    """The decisions of a batch; `soft` says whether labels between 0 and 1 can be used."""
    check_mode(mode)
    _check_tensors(logits, target, ignore_index)
    scores = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
    if mode == "multiclass":
        return _of_classes(scores, target, mask, ignore_index, soft)
    if mode == "binary":
        scores, target = _same_rank(scores, target)
    elif logits.ndim < 2 or logits.shape != target.shape:
        raise ValueError(
            "multilabel logits and targets have one shape (N, C, ...); got "
            f"{tuple(logits.shape)} and {tuple(target.shape)}"
        )
    valid = _counted(target, ignore_index, mask, mode == "multilabel")
    partial, assertion = check_labels(target, valid, None, soft)
    truth = target if target.dtype == torch.bool else target > 0 if partial else target == 1
    return Decisions(scores, truth, target, valid, target.to(scores.dtype) if partial else None, assertion)


def _of_classes(
    scores: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int | None, soft: bool
) -> Decisions:
    pixels = [*scores.shape[:1], *scores.shape[2:]]
    if scores.ndim > 1 and scores.shape[1] > 1 and _equal(target.shape, scores.shape):
        return _of_one_hot(scores, target, mask, ignore_index, soft)
    if scores.ndim > 1 and target.ndim == scores.ndim and target.shape[1] == 1:
        target = target.squeeze(1)
    if scores.ndim < 2 or not _equal(target.shape, pixels):
        raise ValueError(
            "multiclass logits are (N, C, ...) and targets class ids (N, ...) or one-hot (N, C, ...); got "
            f"{tuple(scores.shape)} and {tuple(target.shape)}"
        )
    if target.is_floating_point() or target.dtype == torch.bool:
        raise TypeError(f"multiclass targets are class ids of an integer dtype, or one-hot; got {target.dtype}")
    valid = _counted(target, ignore_index, mask)
    _, assertion = check_labels(target, valid, scores.shape[1], soft=False)
    classes = torch.arange(scores.shape[1], device=target.device)
    truth = target.unsqueeze(1) == classes.view(-1, *[1] * (target.ndim - 1))
    return Decisions(scores, truth, target, valid, None, assertion)


def _of_one_hot(
    scores: Tensor, target: Tensor, mask: Tensor | None, ignore_index: int | None, soft: bool
) -> Decisions:
    """One-hot targets, or a distribution over the classes for every pixel."""
    labels = target.to(torch.uint8).argmax(1) if target.dtype == torch.bool else target.argmax(1)
    valid = _counted(labels, ignore_index, mask)
    if valid is not None:
        target = torch.where(valid.unsqueeze(1), target, torch.zeros((), dtype=target.dtype, device=target.device))
    partial, assertion = check_labels(target, None, None, soft)
    sums = check_one_hot(target, valid)
    assertion = sums if assertion is None or sums is None else assertion + sums
    shares = target.to(scores.dtype) if partial else None
    return Decisions(scores, target.to(torch.bool), labels, valid, shares, assertion)


def _equal(first: Sequence[int], second: Sequence[int]) -> bool:
    """Number by number: a compiled graph has symbols for them, which tuples do not compare."""
    return len(first) == len(second) and all(n == m for n, m in zip(first, second, strict=True))


def check_mode(mode: object) -> None:
    """Refuse anything but the name of a mode."""
    if mode not in get_args(Mode):
        raise ValueError(f"mode is one of {', '.join(map(repr, get_args(Mode)))}; got {mode!r}")


def _check_tensors(logits: Tensor, target: Tensor, ignore_index: int | None) -> None:
    for name, tensor in (("logits", logits), ("target", target)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor; got {type(tensor).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits are real scores; got {logits.dtype}")
    if logits.ndim < 1:
        raise ValueError("logits have the batch as their first dimension; got a single number")
    if logits.device != target.device:
        raise ValueError(f"logits are on {logits.device}, the target is on {target.device}")
    if ignore_index is not None and not isinstance(ignore_index, int):
        raise TypeError(f"ignore_index is an integer or None; got {ignore_index!r}")


def _same_rank(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """A channel of one is dropped where the other one has none."""
    if scores.ndim == target.ndim + 1 and scores.shape[1] == 1:
        scores = scores.squeeze(1)
    elif target.ndim == scores.ndim + 1 and target.shape[1] == 1:
        target = target.squeeze(1)
    if scores.shape != target.shape:
        raise ValueError(
            "binary logits and targets have one shape, (N, ...) or (N, 1, ...); got "
            f"{tuple(scores.shape)} and {tuple(target.shape)}. For several channels, set mode."
        )
    return scores, target


def _counted(target: Tensor, ignore_index: int | None, mask: object, channels: bool = False) -> Tensor | None:
    """Which entries of the target are not the ignored value, and inside of the mask; None where all are."""
    valid = None
    if ignore_index is not None:
        low, high = label_range(target)
        valid = target != ignore_index if low <= ignore_index <= high else None
    if mask is None:
        return valid
    inside = fitted_mask(mask, target.shape, channels)
    return inside if valid is None else valid & inside


def fitted_mask(mask: object, shape: torch.Size, channels: bool) -> Tensor:
    """The mask, expanded to the shape of the target; one without the dimension of channels is for all of them."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        found = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"the mask is a bool tensor, True for elements that count; got {found}")
    fitted = mask
    if mask.ndim == len(shape) + 1 and mask.shape[1] == 1:
        fitted = mask.squeeze(1)
    elif len(shape) > 1 and mask.ndim == len(shape) - 1 and (channels or shape[1] == 1):
        fitted = mask.unsqueeze(1)
    try:
        return fitted.expand(shape)
    except RuntimeError:
        hint = "; without channels it is (N, ...)" if channels else ""
        raise ValueError(f"a mask of shape {tuple(mask.shape)} does not fit a target {tuple(shape)}{hint}") from None
