"""In place of nnU-Net's ``MemoryEfficientSoftDiceLoss`` and ``DC_and_CE_loss``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from setloss.nn.functional import set_loss
from setloss.nn.relaxed import SoftShare
from setloss.nn.targets import Mode


class RegionLoss(nn.Module):
    """``MemoryEfficientSoftDiceLoss(apply_nonlin, batch_dice, do_bg, smooth, ddp)``: ``forward(x, y, loss_mask)``.

    Logits ``(N, C, ...)`` and class ids ``(N, 1, ...)`` or one-hot; `apply_nonlin` and `smooth` are taken for the
    signature's sake: the margins are softmax probabilities of the logits, and nothing is smoothed.
    ``loss="dice", soft_share=1.0`` is 1 plus their value for ``smooth=0`` where every class is present.
    """

    def __init__(
        self,
        apply_nonlin: Callable[[Tensor], Tensor] | None = None,
        batch_dice: bool = False,
        do_bg: bool = True,
        smooth: float = 1.0,
        ddp: bool = True,
        loss: str = "jaccard",
        soft_share: SoftShare | None = None,
        with_cross_entropy: float = 0.0,
    ) -> None:
        super().__init__()
        self.batch_dice, self.do_bg, self.ddp = batch_dice, do_bg, ddp
        self.loss, self.soft_share, self.with_cross_entropy = loss, soft_share, with_cross_entropy

    def forward(self, x: Tensor, y: Tensor, loss_mask: Tensor | None = None) -> Tensor:
        """Their order of arguments; the mask is 0 and 1 or bool, ``(N, 1, ...)``."""
        mode: Mode = "multiclass"
        return set_loss(
            x,
            y if y.shape == x.shape else y.long(),
            loss=self.loss,
            soft_share=self.soft_share,
            mode=mode,
            over="batch" if self.batch_dice else "image",
            include_background=self.do_bg,
            with_cross_entropy=self.with_cross_entropy,
            sync=self.ddp and self.batch_dice and _in_a_group(),
            mask=None if loss_mask is None else loss_mask.bool(),
        )


class RegionAndCELoss(nn.Module):
    """``DC_and_CE_loss(soft_dice_kwargs, ce_kwargs, weight_ce, weight_dice, ignore_label, dice_class)``.

    `dice_class` is taken for the signature's sake; `region` are arguments of `RegionLoss`.
    """

    def __init__(
        self,
        soft_dice_kwargs: dict[str, Any],
        ce_kwargs: dict[str, Any] | None = None,
        weight_ce: float = 1.0,
        weight_dice: float = 1.0,
        ignore_label: int | None = None,
        dice_class: object = None,
        **region: Any,
    ) -> None:
        super().__init__()
        if ce_kwargs:
            raise ValueError(f"RegionAndCELoss: cross-entropy is plain here; got ce_kwargs={ce_kwargs!r}")
        self.weight_dice, self.ignore_label = weight_dice, ignore_label
        self.region = RegionLoss(**soft_dice_kwargs, with_cross_entropy=weight_ce / weight_dice, **region)

    def forward(self, net_output: Tensor, target: Tensor) -> Tensor:
        """Their order of arguments."""
        mask = None
        if self.ignore_label is not None:
            mask = target != self.ignore_label
            target = target * mask
        loss: Tensor = self.region(net_output, target, mask)
        return self.weight_dice * loss


def _in_a_group() -> bool:
    from torch import distributed

    return distributed.is_available() and distributed.is_initialized()
