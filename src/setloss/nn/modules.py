"""Set-level losses as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from setloss.losses import Loss
from setloss.nn.functional import check_choices, set_loss
from setloss.nn.margins import Margins
from setloss.nn.plan import Scale, plan_number
from setloss.nn.recipe import LOSS, recipe_of
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.sets import Over
from setloss.nn.targets import Mode

CHOICES = (
    *("loss", "operator", "scale", "margins", "with_cross_entropy", "mode", "over", "classes", "include_background"),
    *("ignore_index", "absent", "reduction", "sync"),
)


class SetLoss(nn.Module):
    """B(m) of every set of decisions, plus cross-entropy: `setloss.nn.functional.set_loss`, called as ``(logits,
    target)``.

    ``SetLoss()`` is what trains networks best: L of Jaccard of probabilities, plus cross-entropy. ``SetLoss("dice",
    "bd")`` is exactly that operator, of logits.

    Parameters are those of the function; `mask`, `weight`, `element_weight` and `groups` are given with each call.
    The plan is made here, so that a loss and an operator that do not go together are refused before training starts.
    """

    class_weight: Tensor | None

    def __init__(
        self,
        loss: str | Loss = LOSS,
        operator: str | None = None,
        *,
        scale: Scale = "mean",
        margins: Margins | None = None,
        with_cross_entropy: float | None = None,
        mode: Mode = "binary",
        over: Over | None = None,
        classes: Sequence[int] | Literal["present"] | None = None,
        include_background: bool = True,
        class_weight: Tensor | Sequence[float] | None = None,
        ignore_index: int | None = None,
        absent: Absent | None = None,
        reduction: Reduction = "mean",
        sync: bool = False,
    ) -> None:
        super().__init__()
        check_choices(mode, over, absent, reduction, sync)
        recipe = recipe_of(loss, operator, scale, margins, with_cross_entropy, absent, over, mode, reduction)
        plan_number(recipe.loss, recipe.operator, recipe.scale)
        self.loss, self.operator, self.scale = recipe.loss, recipe.operator, recipe.scale
        self.margins, self.with_cross_entropy = recipe.margins, recipe.with_cross_entropy
        self.mode, self.over, self.classes, self.include_background = mode, recipe.over, classes, include_background
        self.ignore_index, self.absent, self.reduction, self.sync = ignore_index, recipe.absent, reduction, sync
        factors = class_weight if class_weight is None else torch.as_tensor(class_weight, dtype=torch.float32)
        self.register_buffer("class_weight", factors, persistent=False)

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        mask: Tensor | None = None,
        weight: Tensor | None = None,
        element_weight: Tensor | None = None,
        groups: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch; a mean or sum, or one number per set."""
        return set_loss(
            logits,
            target,
            loss=self.loss,
            operator=self.operator,
            scale=self.scale,
            margins=self.margins,  # type: ignore[arg-type]
            with_cross_entropy=self.with_cross_entropy,
            mode=self.mode,
            over=self.over,  # type: ignore[arg-type]
            classes=self.classes,
            include_background=self.include_background,
            ignore_index=self.ignore_index,
            absent=self.absent,  # type: ignore[arg-type]
            reduction=self.reduction,
            sync=self.sync,
            mask=mask,
            weight=weight,
            class_weight=self.class_weight,
            element_weight=element_weight,
            groups=groups,
        )

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in CHOICES)
