"""Set-level losses as modules."""

from __future__ import annotations

from torch import Tensor, nn

from setloss.losses import Loss
from setloss.nn.functional import Absent, Reduction, check_choices, set_loss
from setloss.nn.plan import Scale, plan_number
from setloss.nn.sets import Mode, Over


class SetLoss(nn.Module):
    """B(m) of every set of decisions, as `setloss.nn.functional.set_loss`, called as ``(logits, target)``.

    Parameters are those of the function; `mask` and `weight` are given with each call. The plan is made here, so that
    a loss and an operator that do not go together are refused before training starts.
    """

    def __init__(
        self,
        loss: str | Loss = "dice",
        operator: str = "bd-monotone",
        *,
        scale: Scale = "mean",
        mode: Mode = "binary",
        over: Over = "image",
        ignore_index: int | None = None,
        absent: Absent = "keep",
        reduction: Reduction = "mean",
        sync: bool = False,
    ) -> None:
        super().__init__()
        check_choices(mode, over, absent, reduction, sync)
        plan_number(loss, operator, scale)
        self.loss, self.operator, self.scale = loss, operator, scale
        self.mode, self.over, self.ignore_index = mode, over, ignore_index
        self.absent, self.reduction, self.sync = absent, reduction, sync

    def forward(
        self, logits: Tensor, target: Tensor, *, mask: Tensor | None = None, weight: Tensor | None = None
    ) -> Tensor:
        """The loss of a batch; a mean or sum, or one number per set."""
        return set_loss(
            logits,
            target,
            loss=self.loss,
            operator=self.operator,
            scale=self.scale,
            mode=self.mode,
            over=self.over,
            ignore_index=self.ignore_index,
            absent=self.absent,
            reduction=self.reduction,
            sync=self.sync,
            mask=mask,
            weight=weight,
        )

    def extra_repr(self) -> str:
        names = ("loss", "operator", "scale", "mode", "over", "ignore_index", "absent", "reduction", "sync")
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
