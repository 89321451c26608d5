"""From logits and targets of any rank to decisions: what is scored, what is true, what counts.

A wrong target is a ValueError on the CPU. Where values cannot be read, on other devices and in a compiled graph, it
becomes an index out of range, which every device refuses without being waited for.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

Mode = Literal["binary", "multilabel", "multiclass"]

FEWEST = 16
"""Fewest logits that are suspected of being probabilities; fewer may lie in [0, 1] by chance."""


class SetLossWarning(UserWarning):
    """A call of `SetLoss` that looks like a slip.

    Examples
    --------
    >>> import torch, warnings
    >>> from setloss.nn import SetLoss
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     _ = SetLoss()(torch.linspace(0, 1, 32).view(2, 16), torch.zeros(2, 16))
    >>> print(seen[0].message)
    all logits lie in [0, 1], as probabilities do; give the scores before the sigmoid or softmax
    """


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


# ---------------------------------------------------------------- values of targets


def label_range(target: Tensor) -> tuple[float, float]:
    """Least and largest value of the dtype; torch compares with the lowest bits of a number beyond it."""
    if target.is_floating_point():
        return -torch.inf, torch.inf
    if target.dtype == torch.bool:
        return 0, 1
    return torch.iinfo(target.dtype).min, torch.iinfo(target.dtype).max


def read(flag: Tensor) -> bool | None:
    """The value of a tensor of one flag; None where reading it means waiting for a device, or there is no value."""
    return None if flag.device.type != "cpu" or torch.compiler.is_compiling() else bool(flag)


def check_labels(target: Tensor, valid: Tensor | None, classes: int | None, soft: bool) -> tuple[bool, Tensor | None]:
    """Refuse labels that are not 0 or 1, no class id below `classes`, or with `soft` not in [0, 1].

    Returns whether labels have to be taken as shares in [0, 1], which real targets are where their values cannot be
    read, and the assertion for that case.
    """
    if target.dtype == torch.bool or read((fits := _fits(target, valid, classes, soft=False)).all()):
        return False, None
    soft = soft and target.is_floating_point()
    fits = _fits(target, valid, classes, soft=True) if soft else fits
    return soft, _assertion(fits, lambda where: _refusal(target, where, classes, soft))


def check_one_hot(target: Tensor, valid: Tensor | None) -> Tensor | None:
    """The classes of every valid pixel share out 1; the assertion where that cannot be read."""
    total = target.sum(1, dtype=torch.float32)
    fits = (total - 1).abs() <= 1e-3  # distributions over classes come in half precision, too
    return _assertion(
        fits if valid is None else fits | ~valid,
        lambda where: (
            f"one-hot targets have one 1 among the classes of a pixel; those at {where} sum to "
            f"{total[where].item():g}. Leave pixels without a label out with mask."
        ),
    )


def _assertion(fits: Tensor, refusal: Callable[[tuple[int, ...]], str]) -> Tensor | None:
    """A ValueError about the first entry that does not fit; unread, an index out of range, or 0 where all fit."""
    all_fit = read(fits.all())
    if all_fit is None:
        wrong = (~fits).any().to(torch.int64)
        return torch.zeros(1, device=fits.device).gather(0, wrong.view(1)).squeeze(0)
    if not all_fit:
        raise ValueError(refusal(tuple(int(i) for i in torch.nonzero(~fits)[0])))
    return None


def _fits(target: Tensor, valid: Tensor | None, classes: int | None, soft: bool) -> Tensor:
    if soft:
        fits = (target >= 0) & (target <= 1)
    elif classes is None:
        fits = (target == 0) | (target == 1)
    else:
        fits = (target >= 0) & (target <= min(classes - 1, label_range(target)[1]))
    return fits if valid is None else fits | ~valid


def _refusal(target: Tensor, where: tuple[int, ...], classes: int | None, soft: bool) -> str:
    wanted = "labels in [0, 1]" if soft else "0 and 1" if classes is None else f"class ids from 0 to {classes - 1}"
    value = target[where].item()
    hint = "Name a value that stands for 'no label' with ignore_index, or leave elements out with mask."
    if classes is None and not soft and isinstance(value, float) and 0 < value < 1:
        hint = (
            "Soft labels need a loss that knows weights of elements: the Lovász hinge of Jaccard, "
            'SetLoss("jaccard", "lovasz"), takes them; other losses count elements.'
        )
    elif classes is None and value == 255:
        hint = f"If 255 is the foreground of an image file, give target > 0. {hint}"
    return f"targets are {wanted}; the one at {where} is {value}. {hint}"


def warn_of_classes(target: Tensor) -> None:
    """Warn of one-hot classes among the decisions of one mask; nothing is read from a device."""
    if target.device.type != "cpu" or torch.compiler.is_compiling() or target.ndim < 3 or target.shape[1] < 2:
        return
    first = target[:1].flatten(2)[:, :, :FEWEST].sum(1)
    if first.numel() >= FEWEST and bool((first == 1).all()) and bool((target.sum(1) == 1).all()):
        message = (
            f"every pixel has one 1 among the {target.shape[1]} channels of the target, as classes do, and "
            'mode="binary" takes all channels of an image for one set; set mode="multiclass" or "multilabel"'
        )
        warnings.warn(message, SetLossWarning, stacklevel=4)


def warn_of_probabilities(logits: Tensor) -> None:
    """Warn of probabilities in place of logits; nothing is read from a device."""
    if logits.device.type != "cpu" or torch.compiler.is_compiling() or logits.numel() < FEWEST:
        return
    few = logits.detach()[(0,) * (logits.ndim - 1)][:FEWEST].tolist()
    if not all(0 <= one <= 1 for one in few):  # which ends the matter for almost all logits
        return
    low, high = torch.aminmax(logits.detach().float())
    if low >= 0 and high <= 1 and low < high:
        message = "all logits lie in [0, 1], as probabilities do; give the scores before the sigmoid or softmax"
        warnings.warn(message, SetLossWarning, stacklevel=4)
