"""Calls that are legal and almost surely not what was meant: said once, by a warning."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

SAMPLE = 16
"""So many logits are looked at first; one outside of [0, 1] among them ends the matter."""

FEWEST = 16
"""Fewer logits than this may lie in [0, 1] by chance."""

COMPARABLE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)

MOST_CHANNELS = 32


class SetLossWarning(UserWarning):
    """Something that looks like a slip in a call of `SetLoss`."""


def warn_of_slips(logits: Tensor, mode: str) -> None:
    """A forgotten mode, and probabilities in place of logits; costs nothing in a compiled graph or on a device."""
    if torch.compiler.is_compiling() or logits.device.type != "cpu" or type(logits) is not Tensor:
        return
    if mode == "binary" and _looks_like_channels(logits.shape):
        warnings.warn(
            f"mode='binary' judges all {logits.shape[1]} channels of logits {tuple(logits.shape)} as one set of "
            "pixels; for classes or labels set mode='multiclass' or mode='multilabel'",
            SetLossWarning,
            stacklevel=4,
        )
    if not torch._C._functorch.is_functorch_wrapped_tensor(logits) and _look_like_probabilities(logits):
        warnings.warn(
            "all logits lie in [0, 1], as probabilities do; give the scores before the sigmoid or softmax",
            SetLossWarning,
            stacklevel=4,
        )


def _looks_like_channels(shape: torch.Size) -> bool:
    return len(shape) == 4 and 1 < shape[1] <= min(MOST_CHANNELS, *(side // 4 for side in shape[2:]))


def _look_like_probabilities(logits: Tensor) -> bool:
    if logits.numel() < FEWEST or logits.dtype not in COMPARABLE:
        return False
    values = logits.detach()
    if any(not 0 <= one <= 1 for one in _sample(values)):
        return False
    low, high = torch.aminmax(values)
    return bool((low >= 0) & (high <= 1) & (low < high))


def _sample(values: Tensor) -> list[float]:
    """Some of the first values; by NumPy, which is quick to ask, but has no bfloat16."""
    if values.dtype == torch.bfloat16:
        values = values[(0,) * (values.ndim - 1)][:SAMPLE].float()
    some: list[float] = values.numpy().flat[:SAMPLE].tolist()
    return some
