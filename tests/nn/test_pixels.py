"""Decisions for pixels on tensors: those of the NumPy twin, for classes without overlap, at a fitted temperature."""

import numpy as np
import pytest
import torch

from setloss.decisions import pixels
from setloss.nn import decide_pixels, fit_temperature


@pytest.mark.parametrize("loss", ["dice", "jaccard"])
@pytest.mark.parametrize("side", [12, 40])
def test_masks_are_those_of_the_twin(loss, side):
    logits = 2 * torch.randn(3, 1, side, side, generator=torch.Generator().manual_seed(side), dtype=torch.float64) - 2
    found = decide_pixels(logits, loss)
    assert found.sets.shape == logits.shape
    for one, chosen, expected, error in zip(logits, found.sets, found.expected_loss, found.error, strict=True):
        twin = pixels.decide_pixels(one.numpy(), loss)
        np.testing.assert_array_equal(chosen, twin.sets)
        assert float(expected) == pytest.approx(twin.expected_loss, abs=1e-10)
        assert float(error) == pytest.approx(twin.error, abs=1e-10)


def test_masked_pixels_are_not_chosen():
    logits, mask = torch.full((2, 5, 5), 3.0), torch.zeros(2, 5, 5, dtype=torch.bool)
    mask[:, :2] = True
    torch.testing.assert_close(decide_pixels(logits, mask=mask).sets, mask)
    assert not decide_pixels(logits, mask=torch.zeros(2, 5, 5, dtype=torch.bool)).sets.any()


def test_every_pixel_has_one_class():
    logits = torch.randn(2, 4, 30, 40, generator=torch.Generator().manual_seed(3))
    found = decide_pixels(logits, "jaccard", mode="multiclass")
    assert found.sets.shape == (2, 30, 40)
    assert found.expected_loss.shape == found.error.shape == (2, 4)
    sure = torch.nn.functional.one_hot(torch.randint(0, 4, (2, 9)), 4).movedim(-1, 1) * 30.0
    assert torch.equal(decide_pixels(sure, mode="multiclass").sets, sure.argmax(1))


def test_a_rare_class_is_found_more_often_than_by_argmax():
    """Its best set takes pixels below one half, as F1 wants."""
    logits = torch.zeros(1, 2, 40, 40)
    logits[0, 1] = -6.0
    logits[0, 1, :4, :4] = -0.2
    logits[0, 1, 4:6, :4] = -0.6
    assert not logits.argmax(1).any()
    assert decide_pixels(logits, "dice", mode="multiclass").sets[0, :4, :4].all()


@pytest.mark.parametrize("mode", ["binary", "multiclass"])
def test_the_temperature_that_was_applied_is_found(mode):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4, 3, 60, 60, generator=generator)
    if mode == "binary":
        logits = logits[:, :1]
        target = (torch.rand(logits.shape, generator=generator) < logits.sigmoid()).long()
    else:
        flat = logits.softmax(1).movedim(1, -1).reshape(-1, 3)
        target = torch.multinomial(flat, 1, generator=generator).view(4, 60, 60)
    for applied in (0.3, 1.0, 4.0):
        assert fit_temperature(applied * logits, target, mode=mode) == pytest.approx(applied, rel=0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hamming"}, "decisions for pixels are for Dice, Jaccard, Tversky and F-beta"),
        ({"mode": "multilabel"}, "mode is 'binary' or 'multiclass'; got 'multilabel'"),
        ({"temperature": 0.0}, "the temperature is a positive number; got 0.0"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        decide_pixels(torch.randn(2, 3, 4), **options)


def test_a_callable_is_refused_by_name_of_what_works():
    with pytest.raises(
        ValueError, match="decisions for pixels are for Dice, Jaccard, Tversky and F-beta; got Metric"
    ):
        decide_pixels(torch.zeros(1, 4), lambda truth, predicted: float((truth != predicted).mean()))
