"""The loss at expected counts, known as soft Dice and soft Jaccard: mixed with the surrogate of probabilities.

With q_i the probability of a mistake at element i, both this and L are extensions of the loss. L(q) is the expected
loss if one threshold, common to all elements, decides where mistakes are made; (a sum_N q + b sum_P q) / (...) is, to
first order, that of independent mistakes. While a network cannot yet tell positives from negatives the slope of L is
all on one of them; here it is shared out and smooth. Late in training L weighs what is still wrong.

The share of this loss is a number, or "adaptive": this loss itself, set by set, taken as a constant. Weights of more
than 1 together are then divided by their sum, so the soft loss of Jaccard is soft Dice: twice as steep while little
is found, half as steep where a set is nearly right. Training starts as with cross-entropy + soft Dice.

Sets without positives have no loss at expected counts; B, the largest probability of a false alarm, is all there is.
Its slope is all on one element, and teaches a network to find nothing where it cannot tell small objects from
background: at the start, and later on doubtful images. Without any, false alarms on empty images stay. So with
"adaptive" the slope has a factor: the square of half the mean overlap 1 - s of the other sets, 1/400 where that
is a tenth, at most 1/4, and 0 in a batch without any. A factor of up to 1 leaves more images empty, with objects too.
"""

from typing import Literal

import torch
from torch import Tensor

from setloss.losses import Form
from setloss.nn.sets import Sets

SoftShare = float | Literal["adaptive"]
"""Share of the loss at expected counts: a number from 0 to 1, or for each set its own."""


def mixed(surrogate: Tensor, sets: Sets, loss: Form, share: SoftShare) -> Tensor:
    """(1 - s) B + s l of every set of probabilities, l the loss at expected counts, s the share, or l as a constant.

    Sets without positives have the value B, with "adaptive" times a factor from 0 to 1/4 in the slope.
    """
    p, positive = sets.predicted, sets.labels
    assert positive is not None
    if sets.weight is not None:
        p, positive = p * sets.weight, positive * sets.weight
    # Products and sums: autocast would take dot products in half precision.
    right, positives, predicted = (sets.predicted * positive).sum(1), positive.sum(1), p.sum(1)
    some = positives > 0
    a, b = loss.false_positive, loss.false_negative
    if share == "adaptive" and a + b > 1:
        a, b = a / (a + b), b / (a + b)
    total = torch.add(b * positives, predicted, alpha=a)
    if a + b != 1:
        total = total + (1 - a - b) * right
    soft = (total - right) / torch.where(total > 0, total, 1.0)  # 0/0: no mistake has a weight
    if share != "adaptive":
        return torch.lerp(surrogate, torch.where(some, soft, surrogate), share)
    fixed = soft.detach()
    overlap = torch.where(some, fixed - 1, 0.0).sum() / some.sum().clamp(min=1)  # with a minus, which a square loses
    constant = torch.where(some, fixed, 1 - overlap * overlap / 4)
    return torch.lerp(surrogate, torch.where(some, soft, surrogate.detach()), constant)
