"""In place of ``monai.losses.DiceLoss`` and ``DiceCELoss``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from setloss.nn.compat.arguments import refuse_others
from setloss.nn.modules import SetLoss

USUAL = {"other_act": None, "squared_pred": False, "smooth_nr": 1e-5, "smooth_dr": 1e-5, "soft_label": False}


class DiceLoss(nn.Module):
    """``DiceLoss(include_background, to_onehot_y, sigmoid, softmax, jaccard, reduction, batch, weight, ...)``.

    Inputs are logits ``(B, C, ...)``, so one of `sigmoid` and `softmax` is True; targets are one-hot, or class ids
    ``(B, 1, ...)`` with `to_onehot_y`.
    """

    def __init__(
        self,
        include_background: bool = True,
        to_onehot_y: bool = False,
        sigmoid: bool = False,
        softmax: bool = False,
        other_act: Any = None,
        squared_pred: bool = False,
        jaccard: bool = False,
        reduction: str = "mean",
        smooth_nr: float = 1e-5,
        smooth_dr: float = 1e-5,
        batch: bool = False,
        weight: Sequence[float] | Tensor | None = None,
        soft_label: bool = False,
    ) -> None:
        super().__init__()
        given = {"other_act": other_act, "squared_pred": squared_pred, "soft_label": soft_label}
        refuse_others("DiceLoss", given | {"smooth_nr": smooth_nr, "smooth_dr": smooth_dr}, USUAL)
        if sigmoid == softmax:
            raise ValueError("DiceLoss: inputs are logits here, so set sigmoid=True or softmax=True")
        self.softmax, self.to_onehot_y, self.batch = softmax, to_onehot_y, batch
        self.include_background = include_background
        options: dict[str, Any] = {"reduction": reduction, "with_cross_entropy": 0.0}
        if softmax:
            options |= {"mode": "multiclass", "include_background": include_background, "class_weight": weight}
        elif weight is not None:
            raise ValueError("DiceLoss: weight is for softmax=True")
        options["over"] = "batch" if batch and softmax else "image"
        self.set_loss = SetLoss("jaccard" if jaccard else "dice", **options)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Their order of arguments."""
        if self.to_onehot_y and not self.softmax:
            classes = torch.arange(input.shape[1], device=target.device).view(-1, *[1] * (input.ndim - 2))
            target = target == classes
        if not self.softmax:
            input, target = _channels_as_images(input, target, 0 if self.include_background else 1, self.batch)
        loss: Tensor = self.set_loss(input, target.long() if self.to_onehot_y and self.softmax else target)
        return loss


class DiceCELoss(nn.Module):
    """``DiceCELoss(..., lambda_dice, lambda_ce)`` for softmax: the sum of `DiceLoss` and cross-entropy."""

    def __init__(
        self,
        include_background: bool = True,
        to_onehot_y: bool = False,
        softmax: bool = True,
        jaccard: bool = False,
        batch: bool = False,
        lambda_dice: float = 1.0,
        lambda_ce: float = 1.0,
    ) -> None:
        super().__init__()
        if not softmax:
            raise ValueError("DiceCELoss: softmax=True here; for one channel use setloss.nn.SetLoss()")
        self.factor, self.to_onehot_y = lambda_dice, to_onehot_y
        self.set_loss = SetLoss(
            "jaccard" if jaccard else "dice",
            mode="multiclass",
            include_background=include_background,
            over="batch" if batch else "image",
            with_cross_entropy=lambda_ce / lambda_dice,
        )

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Their order of arguments."""
        loss: Tensor = self.set_loss(input, target.long() if self.to_onehot_y else target)
        return self.factor * loss


def _channels_as_images(logits: Tensor, target: Tensor, first: int, batch: bool) -> tuple[Tensor, Tensor]:
    """A set per image and channel, or per channel over the batch."""
    dims = (1, 0) if batch else (0, 1)
    moved = [one[:, first:].movedim(dims[0], 0) for one in (logits, target)]
    if batch:
        return moved[0].flatten(1), moved[1].flatten(1)
    return moved[0].flatten(0, 1), moved[1].flatten(0, 1)
