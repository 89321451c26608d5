"""Set-level losses as modules."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

import torch
from torch import Tensor, nn

from setloss.defaults import NETWORKS
from setloss.losses import Loss
from setloss.nn.functional import Extras, loss_of_batch
from setloss.nn.margins import Margins
from setloss.nn.plan import Scale, make_plan
from setloss.nn.recipe import recipe_of
from setloss.nn.reduction import Absent, Reduction
from setloss.nn.relaxed import SoftShare
from setloss.nn.sets import Over
from setloss.nn.targets import Mode
from setloss.operators.names import Operator

CHOICES = (
    *("loss", "operator", "scale", "margins", "soft_share", "with_cross_entropy", "mode", "over", "classes"),
    *("include_background", "ignore_index", "absent", "reduction", "sync"),
)


def _choice(name: str) -> Any:
    """A choice that is made once: the plan depends on it."""
    return property(attrgetter(f"recipe.{name}"))


class SetLoss(nn.Module):
    """B(m) of every set of decisions, plus cross-entropy: `setloss.nn.functional.set_loss`, called as ``(logits,
    target)``.

    ``SetLoss()`` is what trains networks best: L of Jaccard mixed with soft Jaccard, both of probabilities, and
    cross-entropy. ``SetLoss("dice", "bd")`` is exactly that operator, of logits.

    Parameters are those of the function; `mask`, `weight`, `element_weight` and `groups` are given with each call.
    The plan is made here, so that a loss and an operator that do not go together are refused before training starts,
    and is freed with the module.
    """

    class_weight: Tensor | None
    loss, operator, scale, margins, soft_share, with_cross_entropy, mode = map(_choice, CHOICES[:7])
    over, classes, include_background, ignore_index, absent, reduction, sync = map(_choice, CHOICES[7:])

    def __init__(
        self,
        loss: str | Loss = NETWORKS.loss,
        operator: str | Operator | None = None,
        *,
        scale: Scale = NETWORKS.scale,
        margins: Margins | None = None,
        soft_share: SoftShare | None = None,
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
        given = locals()
        super().__init__()
        self.recipe = recipe_of(**{name: given[name] for name in CHOICES})
        self.plan = make_plan(self.recipe.loss, self.recipe.operator, self.recipe.scale)
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
        extras = Extras(mask, weight, self.class_weight, element_weight, groups)
        return loss_of_batch(self.recipe, self.plan.number, logits, target, extras)

    def __prepare_scriptable__(self) -> SetLoss:
        """What `torch.jit.script` asks first."""
        raise RuntimeError(
            "torch.jit.script cannot read SetLoss, which runs compiled kernels behind an operator of its own; use "
            "torch.compile, or script the network and leave the loss outside"
        )

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in CHOICES)
