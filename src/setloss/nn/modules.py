"""Set-level losses as modules."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

import torch
from torch import Tensor, nn

from setloss.defaults import NETWORKS
from setloss.losses import Loss
from setloss.nn.functional import check_choices, loss_of_batch
from setloss.nn.margins import Margins
from setloss.nn.plan import Scale, make_plan
from setloss.nn.recipe import recipe_of
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.sets import Over
from setloss.nn.targets import Mode
from setloss.operators.names import Operator

CHOICES = (
    *("loss", "operator", "scale", "margins", "with_cross_entropy", "mode", "over", "classes", "include_background"),
    *("ignore_index", "absent", "reduction", "sync"),
)


def _choice(name: str) -> Any:
    """A choice that is made once: the plan depends on it."""
    return property(attrgetter(f"recipe.{name}"))


class SetLoss(nn.Module):
    """B(m) of every set of decisions, plus cross-entropy: `setloss.nn.functional.set_loss`, called as ``(logits,
    target)``.

    ``SetLoss()`` is what trains networks best: L of Jaccard of probabilities, plus cross-entropy. ``SetLoss("dice",
    "bd")`` is exactly that operator, of logits.

    Parameters are those of the function; `mask`, `weight`, `element_weight` and `groups` are given with each call.
    The plan is made here, so that a loss and an operator that do not go together are refused before training starts,
    and is freed with the module.
    """

    class_weight: Tensor | None
    loss, operator, scale, margins = (_choice(name) for name in ("loss", "operator", "scale", "margins"))
    with_cross_entropy, absent, over = (_choice(name) for name in ("with_cross_entropy", "absent", "over"))

    def __init__(
        self,
        loss: str | Loss = NETWORKS.loss,
        operator: str | Operator | None = None,
        *,
        scale: Scale = NETWORKS.scale,
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
        self.recipe, self.plan = recipe, make_plan(recipe.loss, recipe.operator, recipe.scale)
        self.mode, self.classes, self.include_background = mode, classes, include_background
        self.ignore_index, self.reduction, self.sync = ignore_index, reduction, sync
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
        return loss_of_batch(
            self.recipe,
            self.plan.number,
            logits,
            target,
            mode=self.mode,
            classes=self.classes,
            include_background=self.include_background,
            ignore_index=self.ignore_index,
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
