"""Decisions for images: the set of pixels of least expected loss instead of those more probable than not.

The mathematics and its error bounds are those of `setloss.decisions`, which decides on the CPU. Pixels are taken as
independent and the most probable ones compete.

Independent pixels say next to nothing about whether an image is empty: a thousand pixels of probability 1/1000 make
an empty image improbable. With a `PixelCalibration` the probability e that the image is empty comes from validation
images, and the pixels decide about the others only. With P_0 the probability of no positives of independent pixels,

    E score(nothing) = e,      E score(A) = (1 - e) / (1 - P_0) E[score(A); pixels independent].
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from setloss.decisions import pixels as arrays
from setloss.decisions.scores import as_log_odds
from setloss.losses import Form, Loss, Tversky, as_loss
from setloss.nn.targets import Mode, check_mode, fitted_mask
from setloss.setfunctions.counts import Kind

Scores = Literal["auto", "log-odds", "probabilities"]


@dataclass(frozen=True)
class PixelCalibration:
    """Calibration of a network's logits, learned from validation images by `setloss.nn.calibrate_pixels`.

    Parameters
    ----------
    temperature
        Divisor of the logits.
    empty
        One row for each class (one row for masks): the log-odds that an image has no pixel of the class are
        w_0 + w_1 log(expected number of its pixels) + w_2 (largest log-odds of a pixel). None: as independent pixels
        have it.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, -1.0, -1.0]])
    >>> decide_images(logits, "dice").sets, decide_images(logits, "dice", calibration=PixelCalibration(4.0)).sets
    (tensor([[ True, False, False]]), tensor([[True, True, True]]))
    """

    temperature: float = 1.0
    empty: tuple[tuple[float, float, float], ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"the temperature is a positive number; got {self.temperature!r}")


@dataclass(frozen=True)
class ImageDecisions:
    """Decided sets of pixels, and for every set its expected loss with the bound of the error of that number.

    `sets` is bool in the shape of the logits, and class ids ``(N, ...)`` in multiclass mode; `expected_loss` and
    `error` are ``(N,)`` or ``(N, C)``. In multiclass mode these are of the best set of each class alone, before
    pixels wanted twice are shared out.

    Expected losses are as if pixels were independent, which they are not. `error` is about the computation only.

    Examples
    --------
    >>> import torch
    >>> decided = decide_images(torch.tensor([[2.0, -0.5, -4.0]]), "dice")
    >>> decided.sets
    tensor([[ True, False, False]])
    >>> round(float(decided.expected_loss), 3)
    0.234
    """

    sets: Tensor
    expected_loss: Tensor
    error: Tensor


@torch.no_grad()
def decide_images(
    logits: Tensor,
    loss: str | Loss = "dice",
    *,
    scores: Scores = "auto",
    mode: Mode = "binary",
    mask: Tensor | None = None,
    calibration: PixelCalibration | None = None,
) -> ImageDecisions:
    """The set of pixels of least expected loss on every image.

    Parameters
    ----------
    logits
        Binary: ``(N, ...)`` or ``(N, 1, ...)``. Multilabel: ``(N, C, ...)``, a set per label. Multiclass: ``(N, C,
        ...)``; every class has its best set under its probabilities, and a pixel goes to the class whose probability
        is largest relative to the least one that this class takes: sets do not overlap and leave nothing out.
    loss
        Dice, Jaccard, Tversky or F-beta.
    scores
        What `logits` are: "log-odds" (logits), "probabilities" (after the sigmoid or softmax), or "auto", logits
        unless all of them lie in [0, 1], which is refused.
    mask
        Which pixels count, bool, as for `setloss.nn.SetLoss`; others are not chosen (class 0 in multiclass mode).
    calibration
        From `calibrate_pixels`, or ``PixelCalibration(temperature)``. Decisions are as good as the probabilities are.

    Examples
    --------
    No pixel is more probable than not, and two of them are the best set for Dice:

    >>> import torch
    >>> logits = torch.tensor([[-0.2, -0.4, -3.0, -3.0]])
    >>> decide_images(logits, "dice").sets
    tensor([[ True,  True, False, False]])
    """
    form = as_loss(loss).form
    if form is None or form.kind is not Kind.TVERSKY:
        raise ValueError(f"decisions for pixels are for Dice, Jaccard, Tversky and F-beta; got {as_loss(loss)}")
    if not isinstance(logits, Tensor):
        raise TypeError(
            f"logits are a tensor; got {type(logits).__name__}: torch.as_tensor(logits), or for arrays "
            "setloss.decisions.pixels.decide_pixels"
        )
    check_mode(mode)
    images = Images.of(logits, scores, mode, mask, calibration or PixelCalibration())
    sets, expected, error = images.best(form)
    if mode == "multiclass":
        sets = images.exclusive(sets).view(logits.shape[0], *logits.shape[2:])
    else:
        sets = sets.view(logits.shape)
    if mode == "binary":
        expected, error = expected[:, 0], error[:, 0]
    wide = torch.float32 if logits.device.type == "mps" else torch.float64
    return ImageDecisions(sets.to(logits.device), *(one.to(logits.device, wide) for one in (1 - expected, error)))


@dataclass(frozen=True)
class Images:
    """Probabilities ``(N, C, pixels)`` at the temperature of the calibration, 0 for pixels that do not count.

    `p_empty` is the probability ``(N, C)`` that an image has no pixel of a class; `lift` is (1 - e) / (1 - P_0).
    """

    p: Tensor
    p_empty: Tensor
    lift: Tensor

    @classmethod
    def of(
        cls, logits: Tensor, scores: Scores, mode: Mode, mask: Tensor | None, calibration: PixelCalibration
    ) -> Self:
        """Refuses probabilities that would be taken for logits."""
        values = logits.detach().cpu().double()
        if values.numel():
            as_log_odds(torch.stack(torch.aminmax(values)).numpy(), scores, "logits")
        if scores == "probabilities":
            values = values.log() if mode == "multiclass" else torch.logit(values)
        values = values.unsqueeze(1) if mode == "binary" else values
        values = (values.unsqueeze(2) if values.ndim == 2 else values.flatten(2)) / calibration.temperature
        p = values.softmax(1) if mode == "multiclass" else values.sigmoid()
        if mask is not None:
            pixels = torch.Size([*logits.shape[:1], *logits.shape[2:]]) if mode == "multiclass" else logits.shape
            mask = fitted_mask(mask, pixels, mode == "multilabel").cpu()
            mask = mask.reshape(len(p), p.shape[1] if mode == "multilabel" else 1, p.shape[2]).expand(p.shape)
            p = p * mask
        none = torch.exp(torch.log1p(-p.clamp(max=1 - 1e-16)).sum(2))
        if calibration.empty is None:
            return cls(p, none, torch.ones_like(none))
        weights = torch.tensor(calibration.empty, dtype=p.dtype)
        if len(weights) != p.shape[1]:
            raise ValueError(
                f"the calibration is for {len(weights)} classes; with mode={mode!r} logits of shape "
                f"{tuple(logits.shape)} have {p.shape[1]}: give mode= as it was calibrated"
            )
        e = torch.sigmoid((weights[:, 1:] * empty_features(p)).sum(2) + weights[:, 0])
        return cls(p, e, (1 - e) / (1 - none).clamp(min=1e-12))

    def best(self, form: Form) -> tuple[Tensor, Tensor, Tensor]:
        """The best set of every image and class, its expected score and the error of that number.

        The best set with pixels does not depend on what an empty image scores; nothing at all competes with it.
        """
        a, b, undefined = form.false_positive, form.false_negative, 1 - form.undefined
        alone = Tversky(a, b, zero_division=0.0)
        decided = [arrays.decide_pixels(row, alone, scores="probabilities") for row in self.p.flatten(0, 1).numpy()]
        sets = torch.tensor(np.array([one.sets for one in decided], dtype=bool)).view(self.p.shape)
        numbers = torch.tensor([(1 - one.expected_loss, one.error) for one in decided], dtype=torch.float64)
        score, error = (self.lift * one for one in numbers.view(*self.p.shape[:2], 2).unbind(2))
        if a == 0:  # false alarms that cost nothing leave some images at 0/0
            score = score + undefined * (self.p_empty if b > 0 else 1 - score)
        empty = undefined * (self.p_empty if b > 0 else torch.ones_like(self.p_empty))
        nothing = empty >= score
        return sets & ~nothing.unsqueeze(2), torch.where(nothing, empty, score), torch.where(nothing, 0.0, error)

    def exclusive(self, sets: Tensor) -> Tensor:
        """One class for every pixel: that of largest probability relative to the least in the set of the class."""
        if not self.p.shape[2]:
            return sets[:, 0].long()
        least = torch.where(sets, self.p, 2.0).amin(2, keepdim=True)
        return (self.p / least.clamp(min=torch.finfo(self.p.dtype).tiny)).argmax(1)


def empty_features(p: Tensor) -> Tensor:
    """Features of the probability of an empty image, ``(N, C, 2)``; see `PixelCalibration`."""
    floor = 1e-9
    largest = p.amax(2) if p.shape[2] else p.new_zeros(p.shape[:2])
    return torch.stack([p.sum(2).clamp(min=floor).log(), torch.logit(largest.clamp(floor, 1 - floor))], 2)
