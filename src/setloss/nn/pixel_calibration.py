"""Learn from validation images: a temperature, the best threshold, and how likely an image is empty.

Three ways to turn logits into masks, from the simplest: the plain prediction (threshold 1/2); the threshold that is
best on validation images (`fit_threshold`); a decision for each image (`calibrate_pixels`, then
`setloss.nn.decide_images`).
"""

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from torch import Tensor

from setloss.decisions.held_out import HeldOut
from setloss.decisions.threshold_scan import thresholds_without
from setloss.losses import CountLoss, Loss, as_loss
from setloss.nn.image_decisions import Images, PixelCalibration, empty_features
from setloss.nn.reduction import mean_cross_entropy
from setloss.nn.targets import Mode, decisions

TEMPERATURES = (0.05, 20.0)
"""Least and largest temperature that is tried."""


@torch.no_grad()
def fit_temperature(
    logits: Tensor,
    target: Tensor,
    *,
    mode: Mode = "binary",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> float:
    """The temperature t of least cross-entropy of logits / t on validation images.

    Cross-entropy is convex in 1/t, so a bounded search in log t finds it, between 1/20 and 20.

    Examples
    --------
    Logits of 4, of which three in four are right, should have been log 3:

    >>> import torch
    >>> logits, target = torch.full((1, 8), 4.0), torch.tensor([[1, 1, 1, 0, 1, 1, 1, 0]])
    >>> t = fit_temperature(logits, target)
    >>> round(4 / t, 2)
    1.1
    """
    given = decisions(logits, target, mask, mode, ignore_index)

    def cost(log_t: float) -> float:
        return float(mean_cross_entropy(given._replace(logits=given.logits / float(np.exp(log_t)))))

    optimum = minimize_scalar(cost, bounds=np.log(TEMPERATURES), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(optimum.x))


@torch.no_grad()
def fit_threshold(
    logits: Tensor,
    target: Tensor,
    loss: str | Loss = "dice",
    *,
    mode: Literal["binary", "multilabel"] = "binary",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The threshold of least mean loss over validation images: predict ``logits > threshold``.

    Every threshold is tried: between two neighbouring logits the prediction does not change, so one sort of all
    pixels gives the losses of all. Where several are best, the one nearest to 0.

    Parameters
    ----------
    logits, target, ignore_index, mask
        As for `SetLoss`; of validation images, which the network was not trained on.
    loss
        Any loss of counts, or the name of one.
    mode
        "binary" for one threshold, "multilabel" for one a label. Classes by argmax have none: see `calibrate_pixels`.

    Returns
    -------
    Tensor
        A logit, ``()`` or ``(C,)`` with a channel for each label, on the device and in the dtype of the logits.

    Examples
    --------
    >>> import torch
    >>> logits = torch.tensor([[-1.0, -2.0, -4.0], [-1.5, -3.0, -5.0]])
    >>> target = torch.tensor([[1, 1, 0], [1, 0, 0]])
    >>> fit_threshold(logits, target, "dice")
    tensor(-2.5000)
    """
    chosen = as_loss(loss)
    if not isinstance(chosen, CountLoss):
        raise ValueError(f"fit_threshold is for losses of the counts of mistakes; got {chosen}")
    if mode not in ("binary", "multilabel"):
        raise ValueError(
            f"mode is 'binary' or 'multilabel'; got {mode!r}. Classes by argmax have no threshold: use "
            "calibrate_pixels and decide_images."
        )
    given = decisions(logits, target, mask, mode, ignore_index)
    parts = [given.logits, given.truth, torch.ones_like(given.truth) if given.valid is None else given.valid]
    scores, truth, valid = (_pictures(one, mode).movedim(1, 0).numpy() for one in parts)
    large = np.clip(scores.astype(np.float64), -1e9, 1e9)  # infinite ones, too
    alike = np.ones(len(given.truth)), np.zeros(len(given.truth), dtype=np.intp)
    each = [HeldOut(*one, *alike) for one in zip(large, truth, valid, strict=True)]
    thresholds = [thresholds_without(data, chosen)[0] for data in each]
    return _rounded_down(torch.tensor(thresholds[0] if mode == "binary" else thresholds, dtype=torch.float64), logits)


def _rounded_down(thresholds: Tensor, logits: Tensor) -> Tensor:
    """In the dtype of the logits, not above: the middle of two neighbours must not become the upper one."""
    nearest = thresholds.to(logits.dtype)
    below = torch.nextafter(nearest, torch.full_like(nearest, -torch.inf))
    return torch.where(nearest.double() > thresholds, below, nearest).to(logits.device)


def _pictures(tensor: Tensor, mode: Mode) -> Tensor:
    """One row per image and label or class, ``(N, C, pixels)``, on the CPU; refuses to learn from nothing."""
    if not tensor.numel():
        raise ValueError(f"there are no pixels to learn from; logits or target have shape {tuple(tensor.shape)}")
    return tensor.reshape(len(tensor), 1 if mode == "binary" else tensor.shape[1], -1).cpu()


@torch.no_grad()
def calibrate_pixels(
    logits: Tensor,
    target: Tensor,
    *,
    mode: Mode = "binary",
    ignore_index: int | None = None,
    mask: Tensor | None = None,
) -> PixelCalibration:
    """The calibration of a network for `setloss.nn.decide_images`, from images that it was not trained on.

    The temperature is that of `fit_temperature`; the probability that an image is empty, class by class, is a
    logistic regression on two numbers of the image. Parameters are those of `SetLoss`.

    Examples
    --------
    >>> import torch
    >>> from setloss.nn import decide_images
    >>> target = torch.zeros(8, 4, 4, dtype=torch.int64)
    >>> target[:4, 1:3, 1:3] = 1  # four images with an object, four empty ones
    >>> calibration = calibrate_pixels(8.0 * target - 5, target)
    >>> decide_images(8.0 * target - 5, "dice", calibration=calibration).sets.sum((1, 2))
    tensor([4, 4, 4, 4, 0, 0, 0, 0])
    """
    given = decisions(logits, target, mask, mode, ignore_index)
    truth = _pictures(given.truth if given.counted is None else given.truth & given.counted, mode)
    temperature = fit_temperature(logits, target, mode=mode, ignore_index=ignore_index, mask=mask)
    images = Images.of(given.logits, "log-odds", mode, given.valid, PixelCalibration(temperature))
    features, empty = empty_features(images.p).numpy(), (~truth.any(2)).numpy()
    return PixelCalibration(temperature, tuple(map(_chances_of_empty, features.transpose(1, 0, 2), empty.T)))


def _chances_of_empty(features: NDArray[np.float64], empty: NDArray[np.bool_]) -> tuple[float, float, float]:
    """The weights of one class; a constant where fewer than 3 images are empty, or fewer than 3 are not."""
    from sklearn.linear_model import LogisticRegression

    if min(empty.sum(), (~empty).sum()) < 3:
        share = (empty.sum() + 0.5) / (len(empty) + 1)
        return float(np.log(share / (1 - share))), 0.0, 0.0
    model = LogisticRegression().fit(features, empty)
    first, second = map(float, model.coef_[0])
    return float(model.intercept_[0]), first, second
