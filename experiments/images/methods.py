"""The losses that are compared, by name; each takes logits ``(N, C, H, W)`` and labels ``(N, H, W)``, -1 for none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot

from experiments.images.data import NO_LABEL
from setloss.nn import SetLoss, component_groups

Criterion = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class SegmentationLoss:
    """A loss to train with: its name in tables, for masks and for classes; None where there is no such thing."""

    label: str
    binary: Criterion | None
    classes: Criterion | None


def pixelwise(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy, every pixel for itself."""
    if logits.shape[1] == 1:
        return binary_cross_entropy_with_logits(logits.squeeze(1), labels.to(logits.dtype))
    return cross_entropy(logits, labels, ignore_index=NO_LABEL)


def soft_dice(logits: Tensor, labels: Tensor) -> Tensor:
    """1 - 2 <p, y> / (|p| + |y|): per image for masks, per class over the batch for classes, as people run it."""
    if logits.shape[1] == 1:
        p, y = logits.sigmoid().flatten(1), labels.to(logits.dtype).flatten(1)
        overlap, total = 2 * (p * y).sum(1), p.sum(1) + y.sum(1)
        return (1 - overlap / total.clamp(min=1e-6)).mean()
    counted = (labels != NO_LABEL).unsqueeze(1)
    y = one_hot(labels.clamp(min=0), logits.shape[1]).movedim(-1, 1) * counted
    p = logits.softmax(1) * counted
    overlap, total = 2 * (p * y).sum((0, 2, 3)), (p + y).sum((0, 2, 3))
    return (1 - (overlap + 1e-5) / (total + 1e-5)).mean()


def soft_dice_with_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum of the two, which nnU-Net trains with."""
    return pixelwise(logits, labels) + soft_dice(logits, labels)


def _ours(label: str, loss: str = "jaccard", operator: str | None = None, **options: Any) -> SegmentationLoss:
    """`SetLoss` for masks and, where the options allow, for classes."""
    shared: dict[str, Any] = {"mode": "multiclass", "ignore_index": NO_LABEL, "classes": "present"}
    both = options.pop("over_classes", {})
    binary = None if options.get("margins") == "argmax" else partial(_call, SetLoss(loss, operator, **options))
    return SegmentationLoss(label, binary, partial(_call, SetLoss(loss, operator, **options, **shared, **both)))


def _call(loss: SetLoss, logits: Tensor, labels: Tensor) -> Tensor:
    value: Tensor = loss(logits, labels)
    return value


def by_object(logits: Tensor, labels: Tensor) -> Tensor:
    """A set for every connected component and the background nearest to it, plus cross-entropy."""
    value: Tensor = BY_OBJECT(logits.squeeze(1), labels, groups=component_groups(labels))
    return value


BY_OBJECT = SetLoss(over="groups")
BATCH = {"over": "batch"}

METHODS = {
    "ce": SegmentationLoss("cross-entropy", pixelwise, pixelwise),
    "soft-dice": SegmentationLoss("soft Dice", soft_dice, soft_dice),
    "ce+soft-dice": SegmentationLoss("cross-entropy + soft Dice", *[soft_dice_with_cross_entropy] * 2),
    "lovasz": _ours("L Jaccard, logits (published hinge)", operator="lovasz"),
    "lovasz-p": _ours(
        "L Jaccard, probabilities (published LovaszSoftmax)",
        operator="lovasz",
        margins="probabilities",
        over_classes=BATCH,
    ),
    "bd-monotone": _ours("B_D monotone Dice, logits", "dice", "bd-monotone"),
    "slack": _ours("S Dice, logits", "dice", "slack"),
    "ce+lovasz": _ours("L Jaccard, logits + cross-entropy", operator="lovasz", with_cross_entropy=1.0),
    "ce+bd-monotone-p": _ours('SetLoss("dice")', "dice"),
    "ce+lovasz-p": _ours(
        "L Jaccard, probabilities + cross-entropy",
        operator="lovasz",
        margins="probabilities",
        with_cross_entropy=1.0,
        over_classes=BATCH,
    ),
    "ce+soft-jaccard": _ours("soft Jaccard + cross-entropy", soft_share=1.0, with_cross_entropy=1.0),
    "default": SegmentationLoss(
        "L Jaccard + soft Jaccard + cross-entropy: SetLoss()",
        partial(_call, SetLoss()),
        partial(_call, SetLoss(mode="multiclass", ignore_index=NO_LABEL)),
    ),
    "equal-parts": SegmentationLoss(
        "the same in equal parts: SetLoss(soft_share=0.5)", partial(_call, SetLoss(soft_share=0.5)), None
    ),
    "objects": SegmentationLoss('every object a set: SetLoss(over="groups")', by_object, None),
    "argmax": _ours("L Jaccard, argmax", operator="lovasz", margins="argmax", over_classes=BATCH),
    "ce+argmax": _ours(
        "L Jaccard, argmax + cross-entropy",
        operator="lovasz",
        margins="argmax",
        with_cross_entropy=1.0,
        over_classes=BATCH,
    ),
}

OBJECTS = "objects"
"""The method that is judged object by object, too."""

FIRST = "ce+soft-dice"
"""What differences in the tables are taken from."""


def names(classes: int) -> list[str]:
    """The methods for masks (one class), or for several classes."""
    return [name for name, method in METHODS.items() if (method.binary if classes == 1 else method.classes)]


def methods_named(chosen: list[str] | None, classes: int) -> list[str]:
    """Those of the chosen methods, or of all, that suit the problem; refuses names that are not known."""
    for name in chosen or []:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}; the names are {', '.join(METHODS)}")
    known = names(classes)
    return known if chosen is None else [name for name in chosen if name in known]


def criterion(name: str, classes: int) -> Criterion:
    """The loss of that name."""
    method = METHODS[name]
    found = method.binary if classes == 1 else method.classes
    if found is None:
        raise ValueError(f"{name} is not for {'masks' if classes == 1 else 'classes'}")
    return found
