"""In place of ``mmseg.models.losses``: ``dict(type="SetLoss", ...)`` in a configuration.

``setloss.nn.compat.mmseg.register(MODELS)`` adds the class to a registry of MMEngine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor, nn

from setloss.nn.functional import set_loss


class MMSegSetLoss(nn.Module):
    """A set loss with MMSegmentation's calls: ``forward(cls_score, label, weight, ignore_index=255)``.

    Parameters
    ----------
    loss, operator, margins, with_cross_entropy, classes
        As for `setloss.nn.SetLoss`, in multiclass mode; ``operator="lovasz", margins="softmax"`` is their
        ``LovaszLoss``.
    class_weight, loss_weight, loss_name
        As theirs.
    """

    def __init__(
        self,
        loss: str = "jaccard",
        operator: str | None = None,
        margins: Any = None,
        with_cross_entropy: float | None = None,
        per_image: bool = False,
        classes: Sequence[int] | Literal["present"] | None = "present",
        class_weight: Sequence[float] | None = None,
        loss_weight: float = 1.0,
        loss_name: str = "loss_set",
    ) -> None:
        super().__init__()
        self.choices: dict[str, Any] = {
            "loss": loss,
            "operator": operator,
            "margins": margins,
            "with_cross_entropy": with_cross_entropy,
            "over": "image" if per_image else "batch",
            "classes": classes,
        }
        self.class_weight, self.loss_weight, self.loss_name = class_weight, loss_weight, loss_name

    def forward(
        self,
        cls_score: Tensor,
        label: Tensor,
        weight: Tensor | None = None,
        avg_factor: int | None = None,
        reduction_override: str | None = None,
        ignore_index: int = 255,
    ) -> Tensor:
        """Their order of arguments; `weight` is theirs per pixel, 0 for pixels that do not count, else 1."""
        if avg_factor is not None or reduction_override not in (None, "mean"):
            raise ValueError("a set loss is a mean over sets: avg_factor=None and reduction_override=None or 'mean'")
        factors = None if self.class_weight is None else cls_score.new_tensor(self.class_weight)
        loss = set_loss(
            cls_score,
            label,
            mode="multiclass",
            ignore_index=ignore_index,
            class_weight=factors,
            mask=None if weight is None else weight > 0,
            **self.choices,
        )
        return self.loss_weight * loss


def register(registry: Any) -> None:
    """Add `MMSegSetLoss` as ``SetLoss`` to a registry, as ``mmseg.registry.MODELS``."""
    registry.register_module(name="SetLoss", module=MMSegSetLoss)
