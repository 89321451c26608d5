"""Decisions for label sets on tensors; `setloss.decisions.decide` does the work, in float64 on the host."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from setloss.decisions import decide as decide_arrays
from setloss.losses import Loss


@dataclass(frozen=True)
class LabelDecisions:
    """Chosen sets, bool (N, C); the expected loss of each, and how many labels each has, both (N,)."""

    sets: Tensor
    expected: Tensor
    sizes: Tensor


@torch.no_grad()
def decide(logits: Tensor, loss: str | Loss, *, counts: Tensor | None = None) -> LabelDecisions:
    """The label set of least expected loss for every example, on the device of the logits.

    Parameters
    ----------
    logits
        Log-odds ``(N, C)``.
    loss
        Any loss of counts, or the name of one.
    counts
        Log-potentials ``(K + 1,)`` or ``(N, K + 1)`` of the number of positives, as `CountModelLoss` learns them;
        None for independent labels. Decisions for images are `setloss.nn.decide_pixels`.
    """
    if logits.ndim != 2:
        raise ValueError(f"logits of label sets are (N, C); got {tuple(logits.shape)}. For images: decide_pixels")
    potentials = None if counts is None else counts.detach().cpu().double().numpy()
    found = decide_arrays(logits.detach().cpu().double().numpy(), loss, counts=potentials)
    device = logits.device
    expected = torch.from_numpy(found.expected_loss)
    return LabelDecisions(
        torch.from_numpy(found.sets).to(device),
        (expected.float() if device.type == "mps" else expected).to(device),
        torch.from_numpy(found.sizes).to(device),
    )
