"""Groups for ``over="groups"``: connected components, and the pixels that are nearest to each."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def component_groups(mask: Tensor) -> Tensor:
    """The Voronoi regions of the connected components of every mask, numbered from 1 on.

    A set is then one component with the background nearest to it: what is missed of this component, and the false
    alarms around it. An image without a component is one set of its own. Any number of spatial dimensions; neighbours
    share a side. Computed on the CPU by SciPy, so make groups while loading data, not in the training step.

    Parameters
    ----------
    mask
        ``(N, ...)`` or ``(N, 1, ...)``, bool or 0 and 1.

    Returns
    -------
    Tensor
        Integers of the shape of the mask, none of them 0.
    """
    if mask.ndim < 2:
        raise ValueError("masks are a tensor (N, ...) with at least one spatial dimension")
    pictures = mask.squeeze(1) if mask.ndim > 2 and mask.shape[1] == 1 else mask
    groups = [regions(picture) for picture in pictures.cpu().bool().numpy()]
    stacked = np.stack(groups) if groups else np.zeros(mask.shape, dtype=np.int64)
    return torch.as_tensor(stacked, device=mask.device).view(mask.shape)


def regions(picture: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of the nearest component for every pixel of one mask; 1 where there is none."""
    from scipy.ndimage import distance_transform_edt, label

    numbers, count = label(picture)
    if not count:
        return np.ones(picture.shape, dtype=np.int64)
    nearest = distance_transform_edt(numbers == 0, return_distances=False, return_indices=True)
    return np.asarray(numbers[tuple(nearest)], dtype=np.int64)
