"""From decisions to sets: one row of scores y_i m_i per set of decisions that is judged as a whole.

The operators are functions of margins, m_i > 0 where decision i is right; y_i = 1 where the truth holds, else -1.

- ``"logits"``: m_i = y_i h_i. Convex; bounds the loss of sign(h).
- ``"probabilities"``: m_i is the probability of the true answer, by a sigmoid or for classes a softmax, so the slack
  s_i = 1 - m_i is the probability of the mistake. L of Jaccard is then the loss known as LovaszSoftmax, to the last
  digit. Not convex and no bound, but bounded and smooth in h: what trains networks best (docs/pytorch.md).
"""

from collections.abc import Sequence
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setloss.nn.targets import Decisions, Mode

Margins = Literal["logits", "probabilities"]
Over = Literal["image", "batch", "class", "groups"]
Classes = Sequence[int] | None


class Sets(NamedTuple):
    """A set per row; `shape` is how the rows are laid out for the user, one number per set.

    `predicted` are logits, or probabilities of a positive. Sets of probabilities and sets with weights or soft labels
    have `labels` in [0, 1] and factors `weight`, None for ones, 0 where an element does not count. `classes` is the
    class of every row where `shape` does not end with the classes.
    """

    predicted: Tensor
    truth: Tensor
    valid: Tensor | None
    shape: tuple[int, ...]
    margins: Margins
    labels: Tensor | None = None
    weight: Tensor | None = None
    classes: Tensor | None = None

    @property
    def scores(self) -> Tensor:
        """The product y m of every element, of the margins and labels of 0 and 1."""
        if self.margins == "logits" or self.labels is None:
            return self.predicted
        return self.predicted + (self.labels - 1)


def chosen_classes(classes: Classes, include_background: bool, logits: Tensor, mode: Mode) -> list[int] | None:
    """The numbers of the classes that have sets; None for all."""
    if (classes is not None or not include_background) and mode != "multiclass":
        raise ValueError(f"classes and include_background are for mode='multiclass'; the mode is {mode!r}")
    if classes is None:
        return None if include_background else list(range(1, logits.shape[1]))
    numbers = set(classes)
    if not numbers or len(numbers) < len(classes) or not numbers <= set(range(logits.shape[1])):
        raise ValueError(
            f"classes are different numbers from 0 to {logits.shape[1] - 1}; got {classes!r}. Those that occur: "
            "absent='skip'"
        )
    return [int(c) for c in classes if include_background or c != 0]


def arrange(
    given: Decisions, mode: Mode, over: Over, margins: Margins, chosen: list[int] | None, weight: Tensor | None
) -> Sets:
    """The sets of a batch over images, classes or the whole batch; `chosen` as from `chosen_classes`."""
    predicted, labels, weight = _elements(given, margins, weight)
    by_class = mode == "multiclass" or (mode == "multilabel" and over == "class")
    images = over == "image"
    shape: tuple[int, ...] = (len(predicted) if images else 1,)
    if by_class:
        channels = predicted.shape[1] if chosen is None else len(chosen)
        shape = (len(predicted), channels) if images else (channels,)
    number, classes = prod(shape), None if chosen is None else torch.tensor(chosen, device=predicted.device)

    def rows(tensor: Tensor | None) -> Any:
        if tensor is None:
            return None
        some = tensor if classes is None else tensor.index_select(1, classes)
        moved = some.movedim(1, 0) if by_class and not images else some
        if moved.ndim == 2 and moved.shape[0] == number:
            return moved  # a view of the same shape is one more step backward
        return moved.reshape(number, moved.numel() // max(number, 1))

    parts = rows(predicted), rows(given.truth), rows(given.counted)
    return Sets(*parts, shape, margins, rows(labels), rows(weight))


def _elements(
    given: Decisions, margins: Margins, weight: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """What is predicted of every decision, its label as a number and its weight.

    Logits that do not count become 0 before they can spoil the others of a pixel. Labels are None where only the cuts
    of logits are asked for, which read bools.
    """
    if margins == "logits" and given.shares is None and weight is None:
        return given.logits, None, None
    logits, counted = given.logits, given.counted
    if counted is not None:
        logits = logits.masked_fill(~counted, 0.0)
        weight = counted.to(logits.dtype) if weight is None else torch.where(counted, weight, 0.0)
    labels = given.truth.to(logits.dtype) if given.shares is None else given.shares
    if margins == "probabilities":
        logits = logits.softmax(1) if given.of_classes else logits.sigmoid()
    return logits, labels, weight


# ---------------------------------------------------------------- objects


def arrange_groups(
    given: Decisions, groups: Tensor | None, mode: Mode, margins: Margins, chosen: list[int] | None
) -> Sets:
    """A set per image, class and group number; decisions of group 0 belong to no set.

    Groups differ in size, so rows are filled up with elements that do not count.
    """
    numbers = _checked_groups(given, groups).to(torch.int64)
    channels = 1 if mode == "binary" else numbers.shape[1]
    pictures = len(numbers) * channels
    numbers = numbers.reshape(pictures, numbers.numel() // max(pictures, 1))
    channel = torch.arange(pictures, device=numbers.device) % channels
    if chosen is not None:
        numbers = numbers * torch.isin(channel, torch.tensor(chosen, device=channel.device)).unsqueeze(1)
    inside = numbers > 0 if given.counted is None else (numbers > 0) & given.counted.reshape(numbers.shape)
    members = torch.nonzero(inside.flatten()).squeeze(1)
    most = int(numbers.max()) + 1 if numbers.numel() else 1
    keys = numbers + most * torch.arange(pictures, device=numbers.device).unsqueeze(1)
    distinct, place, sizes = torch.unique(keys.flatten()[members], return_inverse=True, return_counts=True)
    order = torch.argsort(place, stable=True)
    column = torch.arange(len(order), device=order.device) - (torch.cumsum(sizes, 0) - sizes)[place[order]]
    shape = (len(sizes), int(sizes.max()) if len(sizes) else 0)
    where = torch.zeros(shape, dtype=torch.int64, device=numbers.device)
    valid = torch.zeros(shape, dtype=torch.bool, device=numbers.device)
    where[place[order], column], valid[place[order], column] = members[order], True
    predicted, labels, _ = _elements(given, margins, None)
    return Sets(
        predicted.flatten()[where],
        given.truth.flatten()[where],
        valid,
        (len(sizes),),
        margins,
        None if labels is None else labels.flatten()[where],
        valid.to(predicted.dtype),
        channel[distinct // most],
    )


def _checked_groups(given: Decisions, groups: object) -> Tensor:
    if groups is None:
        raise ValueError(
            "over='groups' needs groups=, an integer per decision; setloss.nn.component_groups makes them"
        )
    if torch.compiler.is_compiling():
        raise RuntimeError("over='groups' makes as many sets as there are groups, which cannot be compiled")
    if not isinstance(groups, Tensor) or groups.is_floating_point() or groups.dtype == torch.bool:
        found = groups.dtype if isinstance(groups, Tensor) else type(groups).__name__
        raise TypeError(f"groups is an integer tensor, 0 for pixels of no group; got {found}")
    shape = given.truth.shape
    if groups.ndim == len(shape) + 1 and groups.shape[1] == 1:
        groups = groups.squeeze(1)
    elif groups.ndim == len(shape) - 1 and len(shape) > 1 and shape[1] == 1:
        groups = groups.unsqueeze(1)
    if groups.shape != shape:
        raise ValueError(f"one group number per decision: expected shape {tuple(shape)}; got {tuple(groups.shape)}")
    low, high = (int(one) for one in torch.aminmax(groups)) if groups.numel() else (0, 0)
    if low < 0 or high >= 2**31:  # times images and channels numbers stay below 2^63
        raise ValueError(f"group numbers are 0 (no group) or positive and below 2^31; got {low} to {high}")
    return groups


def component_groups(mask: Tensor, *, mode: Mode = "binary", classes: int | None = None) -> Tensor:
    """Groups for ``over="groups"``: the Voronoi regions of the connected components of every mask, from 1 on.

    A set is then one component with the background nearest to it: what is missed of this component, and the false
    alarms around it. A mask without a component is one set of its own. Any number of spatial dimensions; neighbours
    share a side. Computed on the CPU by SciPy, so make groups while loading data, not in the training step.

    Parameters
    ----------
    mask
        Binary: ``(N, ...)`` or ``(N, 1, ...)``, bool or 0 and 1. Multilabel: ``(N, C, ...)``, a mask per label.
        Multiclass: class ids ``(N, ...)`` or ``(N, 1, ...)``.
    mode, classes
        As in `SetLoss`; multiclass needs the number of classes.

    Returns
    -------
    Tensor
        Integers of the shape of the mask, multiclass ``(N, classes, ...)``; none of them 0.

    Examples
    --------
    >>> import torch
    >>> component_groups(torch.tensor([[1, 0, 0, 0, 1, 1]]))
    tensor([[1, 1, 1, 2, 2, 2]])
    """
    if mode == "multiclass":
        if classes is None:
            raise ValueError("component_groups(mode='multiclass') needs classes=, the number of classes")
        ids = mask.squeeze(1) if mask.ndim > 2 and mask.shape[1] == 1 else mask
        mask = torch.stack([ids == c for c in range(classes)], 1)
    channels = mode != "binary" or (mask.ndim > 2 and mask.shape[1] == 1)
    if mask.ndim < 2 + channels:
        raise ValueError(f"masks for mode={mode!r} have at least one spatial dimension; got {tuple(mask.shape)}")
    pictures = mask.flatten(0, 1) if channels else mask
    regions = [component_regions(picture) for picture in pictures.cpu().bool().numpy()]
    stacked = np.stack(regions) if regions else np.zeros(mask.shape, dtype=np.int64)
    return torch.as_tensor(stacked, device=mask.device).view(mask.shape)


def component_regions(picture: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of the nearest component for every pixel of one mask; 1 where there is none."""
    from scipy.ndimage import distance_transform_edt, label

    numbers, count = label(picture)
    if not count:
        return np.ones(picture.shape, dtype=np.int64)
    nearest = distance_transform_edt(numbers == 0, return_distances=False, return_indices=True)
    return np.asarray(numbers[tuple(nearest)], dtype=np.int64)
