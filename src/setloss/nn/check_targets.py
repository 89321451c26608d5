"""Validate targets: a ValueError on the CPU, a device assertion on accelerators (no synchronisation).

Where values cannot be read, on other devices and in a compiled graph, a wrong target becomes an index out of range:
every device refuses one without being waited for.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

SUM_TOLERANCE = 1e-3
"""Allowed error of the sum of a pixel's shares: distributions over classes come in half precision, too."""

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
    fits = (total - 1).abs() <= SUM_TOLERANCE
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
