"""In place of ``segmentation_models_pytorch.losses``.

The set losses are L of Jaccard (`LovaszLoss`, `JaccardLoss`) and the recommended surrogate of Dice or Tversky, of
probabilities; without cross-entropy, as theirs are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from setloss.losses import Tversky
from setloss.nn.compat.arguments import refuse_others
from setloss.nn.modules import SetLoss

SMP_MODES = ("binary", "multilabel", "multiclass")
USUAL = {"log_loss": False, "from_logits": True, "smooth": 0.0, "eps": 1e-7, "gamma": 1.0}
"""What arguments without a counterpart are where nobody sets them."""


class LovaszLoss(nn.Module):
    """``segmentation_models_pytorch.losses.LovaszLoss(mode, per_image, ignore_index, from_logits)``.

    Equal to theirs in value: the Lovász hinge of logits for "binary" and "multilabel", LovaszSoftmax over the classes
    that are present for "multiclass".
    """

    def __init__(
        self, mode: str, per_image: bool = False, ignore_index: int | None = None, from_logits: bool = True
    ) -> None:
        super().__init__()
        refuse_others("LovaszLoss", {"from_logits": from_logits}, USUAL)
        classes = mode == "multiclass"
        self.set_loss = SetLoss(
            "jaccard",
            "lovasz",
            mode="multiclass" if classes else "binary",
            margins="softmax" if classes else "logits",
            over="image" if per_image else "batch",
            absent="skip" if classes else "keep",
            ignore_index=ignore_index,
        )

    def forward(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Their order of arguments."""
        if self.set_loss.mode == "binary" and y_pred.ndim == 4 and y_pred.shape[1] > 1:
            y_pred, y_true = y_pred.flatten(1), y_true.flatten(1)  # labels and pixels are one set, as theirs are
        loss: Tensor = self.set_loss(y_pred, y_true)
        return loss


class _Overlap(nn.Module):
    """A set loss of probabilities in smp's modes, one set per class over the batch; `others` must be `USUAL`."""

    def __init__(
        self, loss: Any, mode: str, classes: Sequence[int] | None, ignore_index: int | None, **others: Any
    ) -> None:
        super().__init__()
        refuse_others(type(self).__name__, others, USUAL)
        if mode not in SMP_MODES:
            raise ValueError(f"mode is one of {', '.join(map(repr, SMP_MODES))}; got {mode!r}")
        if classes is not None and mode != "multiclass":
            raise ValueError("classes is for mode='multiclass'")
        self.set_loss = SetLoss(
            loss,
            mode=mode,  # type: ignore[arg-type]
            over="class",
            classes=classes,
            absent="skip",
            ignore_index=ignore_index,
            with_cross_entropy=0.0,
        )

    def forward(self, y_pred: Tensor, y_true: Tensor) -> Tensor:
        """Their order of arguments."""
        loss: Tensor = self.set_loss(y_pred, y_true)
        return loss


class DiceLoss(_Overlap):
    """``segmentation_models_pytorch.losses.DiceLoss(mode, classes, log_loss, from_logits, smooth, ignore_index)``."""

    def __init__(
        self,
        mode: str,
        classes: Sequence[int] | None = None,
        log_loss: bool = False,
        from_logits: bool = True,
        smooth: float = 0.0,
        ignore_index: int | None = None,
        eps: float = 1e-7,
    ) -> None:
        others = {"log_loss": log_loss, "from_logits": from_logits, "smooth": smooth, "eps": eps}
        super().__init__("dice", mode, classes, ignore_index, **others)


class JaccardLoss(_Overlap):
    """``segmentation_models_pytorch.losses.JaccardLoss(mode, classes, log_loss, from_logits, smooth)``."""

    def __init__(
        self,
        mode: str,
        classes: Sequence[int] | None = None,
        log_loss: bool = False,
        from_logits: bool = True,
        smooth: float = 0.0,
        eps: float = 1e-7,
    ) -> None:
        others = {"log_loss": log_loss, "from_logits": from_logits, "smooth": smooth, "eps": eps}
        super().__init__("jaccard", mode, classes, None, **others)


class TverskyLoss(_Overlap):
    """``segmentation_models_pytorch.losses.TverskyLoss(mode, ..., alpha, beta)``; alpha weighs false alarms."""

    def __init__(
        self,
        mode: str,
        classes: Sequence[int] | None = None,
        log_loss: bool = False,
        from_logits: bool = True,
        smooth: float = 0.0,
        ignore_index: int | None = None,
        eps: float = 1e-7,
        alpha: float = 0.5,
        beta: float = 0.5,
        gamma: float = 1.0,
    ) -> None:
        others = {"log_loss": log_loss, "from_logits": from_logits, "smooth": smooth, "eps": eps, "gamma": gamma}
        super().__init__(Tversky(alpha, beta), mode, classes, ignore_index, **others)
