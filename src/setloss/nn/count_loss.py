"""The likelihood of a label set under a count model, on tensors.

    L(s, u) = -log P(y) = log sum_k e^{u_k} e_k(e^{s_1}, ..., e^{s_p}) - sum_i y_i s_i - u_{|y|}.

Scores s say which labels are positive, potentials u how many; with u = 0 this is the sum of binary cross-entropies.
It is convex in (s, u). The elementary symmetric polynomials e_k are products of factors (1 + e^{s_i} z), multiplied
two by two in the log domain: O(p K) numbers and log2(p) steps, and autograd's gradients are the exact ones,
P(y_i = 1) - y_i and P(|y| = k) - [|y| = k]. `setloss.decisions.CountModel` is the same model on arrays.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from setloss.nn.recipe import check_choices
from setloss.nn.reduction import Reduction, reduced


def count_loss(
    logits: Tensor,
    target: Tensor,
    counts: Tensor,
    *,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
    mask: Tensor | None = None,
    weight: Tensor | None = None,
) -> Tensor:
    """-log P(y) of every example; see the module for the model.

    Parameters
    ----------
    logits, target
        Both ``(N, C)``; targets 0 and 1 or bool.
    counts
        Log-potentials u of 0, ..., K positives, ``(K + 1,)`` or ``(N, K + 1)``; more than K positives are impossible.
        A parameter or an output of the network.
    ignore_index, mask
        Labels with this target, or where the bool `mask` is False, are unknown: they are summed out. An example
        without any known label costs 0 and is not counted by "mean".
    reduction, weight
        As in `setloss.nn.set_loss`: "mean", "sum" or "none", and a factor for each example.
    """
    check_choices("multilabel", "image", "keep", reduction, False)
    truth, known = _labels(logits, target, ignore_index, mask)
    scores, potentials = _in_one_precision(logits, counts)
    if not torch.compiler.is_compiling() and scores.device.type == "cpu":
        _check_sizes(truth, potentials)
    total = _log_sum(potentials + log_polynomial(torch.zeros_like(scores), scores, potentials.shape[-1]))
    if known is None:
        sizes = truth.sum(1, keepdim=True).clamp(max=potentials.shape[-1] - 1)
        seen = (scores * truth).sum(1) + potentials.expand(len(scores), -1).gather(1, sizes).squeeze(1)
        return reduced(total - seen, None, weight, reduction)
    # A known label has one of its two terms only, an unknown one has both.
    without = torch.where(known & truth, -torch.inf, 0.0).to(scores.dtype)
    with_it = scores.masked_fill(known & ~truth, -torch.inf)
    seen = _log_sum(potentials + log_polynomial(without, with_it, potentials.shape[-1]))
    return reduced(total - seen, known.any(1), weight, reduction)


class CountModelLoss(nn.Module):
    """`count_loss` as a module, called as ``(logits, target)``.

    Parameters
    ----------
    counts
        The largest number K of positives: the K + 1 log-potentials are then parameters of this module, `potentials`,
        to be given to the optimiser. None: they are an output of the network, given with each call.
    mode
        "multilabel": one set for each example.
    ignore_index, reduction
        As in `count_loss`; `mask` and `weight` are given with each call.
    """

    potentials: nn.Parameter | None

    def __init__(
        self,
        counts: int | None = None,
        *,
        mode: str = "multilabel",
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        if mode != "multilabel":
            raise ValueError(f"CountModelLoss is for label sets, mode='multilabel'; got {mode!r}")
        if counts is not None and counts < 0:
            raise ValueError(f"counts is the largest number of positives, or None; got {counts!r}")
        check_choices("multilabel", "image", "keep", reduction, False)
        self.ignore_index, self.reduction = ignore_index, reduction
        self.potentials = None if counts is None else nn.Parameter(torch.zeros(counts + 1))

    def forward(
        self,
        logits: Tensor,
        target: Tensor,
        *,
        counts: Tensor | None = None,
        mask: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch; a mean or sum, or one number per example."""
        if (counts is None) == (self.potentials is None):
            raise ValueError("give counts with the call, or their largest number to CountModelLoss; one of the two")
        potentials = counts if counts is not None else self.potentials
        assert potentials is not None
        return count_loss(
            logits,
            target,
            potentials,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            mask=mask,
            weight=weight,
        )

    def extra_repr(self) -> str:
        largest = None if self.potentials is None else len(self.potentials) - 1
        return f"counts={largest}, ignore_index={self.ignore_index}, reduction={self.reduction!r}"


def log_polynomial(without: Tensor, with_it: Tensor, width: int) -> Tensor:
    """Logarithms (N, width) of the coefficients of prod_i (e^{without_i} + e^{with_i} z); -inf beyond the degree."""
    factors = torch.stack([without, with_it], dim=-1)
    product, start, p = None, 0, factors.shape[1]
    for power in reversed(range(p.bit_length())):
        if not p >> power & 1:
            continue
        block = factors[:, start : start + 2**power]
        start += 2**power
        while block.shape[1] > 1:
            block = _product(block[:, 0::2], block[:, 1::2], width)
        product = block if product is None else _product(product, block, width)
    if product is None:
        product = factors.new_zeros(len(factors), 1, 1)
    product = product[:, 0, :width]
    return pad(product, (0, width - product.shape[1]), value=-torch.inf)


def _product(left: Tensor, right: Tensor, width: int) -> Tensor:
    """The first coefficients of products of polynomials, in logarithms; `right` has no more of them than `left`."""
    a, b = right.shape[-1], left.shape[-1]
    found = min(a + b - 1, width)
    windows = pad(left, (a - 1, max(found - b, 0)), value=-torch.inf).unfold(-1, a, 1)[..., :found, :]
    return _log_sum(windows + right.flip(-1).unsqueeze(-2))


def _log_sum(terms: Tensor) -> Tensor:
    """Like torch.logsumexp over the last axis, with gradient 0 instead of NaN where all terms are -inf."""
    top = terms.detach().amax(-1, keepdim=True)
    top = torch.where(top > -torch.inf, top, 0.0)
    total = (terms - top).exp().sum(-1)
    some = total > 0
    return torch.where(some, torch.where(some, total, 1.0).log() + top.squeeze(-1), -torch.inf)


def _in_one_precision(logits: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Scores and potentials (1, L) or (N, L) in float32 at least."""
    if not counts.is_floating_point():
        raise TypeError("counts are log-potentials, a tensor of real numbers (K + 1,) or (N, K + 1)")
    potentials = counts if counts.ndim == 2 else counts.unsqueeze(0)
    if potentials.ndim != 2 or potentials.shape[0] not in (1, len(logits)) or potentials.shape[1] == 0:
        raise ValueError(f"counts are (K + 1,) or ({len(logits)}, K + 1); got {tuple(counts.shape)}")
    wide = torch.promote_types(torch.promote_types(logits.dtype, counts.dtype), torch.float32)
    return logits.to(wide), potentials.to(wide)


def _labels(
    logits: Tensor, target: Tensor, ignore_index: int | None, mask: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The positive labels, and which labels are known; None if all are."""
    if logits.ndim != 2 or logits.shape != target.shape:
        raise ValueError(
            f"logits and targets of label sets are (N, C); got {tuple(logits.shape)} and {tuple(target.shape)}"
        )
    known = None if ignore_index is None or target.dtype == torch.bool else target != ignore_index
    if mask is not None:
        if mask.dtype != torch.bool or mask.shape != target.shape:
            raise ValueError(f"the mask is bool, of the shape of the targets; got {mask.dtype} {tuple(mask.shape)}")
        known = mask if known is None else known & mask
    truth = target if target.dtype == torch.bool else target == 1
    return truth if known is None else truth & known, known


def _check_sizes(truth: Tensor, potentials: Tensor) -> None:
    sizes = truth.sum(1)
    if len(sizes) and int(sizes.max()) >= potentials.shape[1]:
        i = int(sizes.argmax())
        raise ValueError(
            f"example {i} has {int(sizes[i])} positives; counts have potentials for up to {potentials.shape[1] - 1}"
        )
