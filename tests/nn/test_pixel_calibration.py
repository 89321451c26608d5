"""Learned from validation images: temperatures, cuts by an exact scan, empty images by simulation."""

from functools import cache

import numpy as np
import pytest
import torch

from benchmarks.empty_images import dice
from benchmarks.empty_images import images as drawn
from setloss import CostCurve, Dice, Hamming, Jaccard
from setloss.nn import PixelCalibration, calibrate_pixels, decide_images, fit_temperature, fit_threshold


@pytest.mark.parametrize("mode", ["binary", "multiclass"])
def test_the_temperature_that_was_applied_is_found(mode):
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4, 3, 60, 60, generator=generator)
    if mode == "binary":
        logits = logits[:, :1]
        target = (torch.rand(logits.shape, generator=generator) < logits.sigmoid()).long()
    else:
        target = torch.distributions.Categorical(logits=logits.movedim(1, -1)).sample()
    for applied in (0.3, 1.0, 4.0):
        assert fit_temperature(applied * logits, target, mode=mode) == pytest.approx(applied, rel=0.06)


# ---------------------------------------------------------------- cuts


def mean_loss(logits, truth, valid, cut, loss):
    """Written out for one cut."""
    rows = [(h[v], y[v]) for h, y, v in zip(logits, truth, valid, strict=True)]
    return np.mean([float(loss(y, h > cut)) if len(y) else 0.0 for h, y in rows])


@pytest.mark.parametrize(
    "loss", [Dice(), Jaccard(zero_division=0.0), Hamming(), CostCurve([(0, 0), (0.3, 0), (1, 1)])]
)
@pytest.mark.parametrize("ties", [False, True])
def test_no_cut_is_better_than_the_one_that_is_found(loss, ties):
    rng = np.random.default_rng(3)
    for _ in range(5):
        logits, truth = rng.normal(-0.5, 1, (4, 9)), rng.random((4, 9)) < 0.3
        logits = np.round(logits) if ties else logits
        valid = rng.random((4, 9)) < 0.8
        tensors = torch.as_tensor(logits), torch.as_tensor(truth)
        found = fit_threshold(*tensors, loss, mask=torch.as_tensor(valid))
        levels = np.sort(np.concatenate([logits.ravel(), [-9, 9]]))
        every = [mean_loss(logits, truth, valid, cut, loss) for cut in (levels[1:] + levels[:-1]) / 2]
        assert mean_loss(logits, truth, valid, float(found), loss) == pytest.approx(min(every), abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("mode", ["binary", "multilabel"])
def test_a_threshold_between_two_neighbouring_numbers_takes_the_upper_one(dtype, mode):
    """Its middle, rounded to the nearest number, would be either of the two."""
    infinity, one = torch.tensor([torch.inf, 1.0], dtype=dtype)
    pairs = [(-infinity, infinity), (-infinity, -one), (-one, infinity)]
    for number in (1.0, -1.0, 3.0, 100.0, 1e-3):
        low = torch.tensor(number, dtype=dtype)
        high = torch.nextafter(low, infinity)
        pairs += [(low, high), (high, torch.nextafter(high, 2 * high.abs()))]
    for pair in pairs:
        logits, target = torch.stack(pair).view(1, 1, 2), torch.tensor([[[False, True]]])
        found = fit_threshold(logits, target, mode=mode)
        assert found.dtype == dtype
        assert torch.equal(logits > found, target)


def test_one_cut_a_label():
    logits, target = torch.randn(5, 3, 8, 8), torch.rand(5, 3, 8, 8) < 0.3
    found = fit_threshold(logits, target, "jaccard", mode="multilabel")
    each = [fit_threshold(logits[:, c], target[:, c], "jaccard") for c in range(3)]
    assert torch.equal(found, torch.stack(each))
    sure = torch.where(target, 4.0, -4.0)
    assert torch.equal(fit_threshold(sure, target, mode="multilabel"), torch.zeros(3))
    with pytest.raises(ValueError, match="use calibrate_pixels and decide_images"):
        fit_threshold(logits, target[:, 0].long(), mode="multiclass")
    with pytest.raises(ValueError, match=r"mode is one of .*; got 'labels'"):
        calibrate_pixels(logits, target, mode="labels")
    for learn in (fit_threshold, calibrate_pixels):
        with pytest.raises(ValueError, match="no pixels to learn from"):
            learn(torch.zeros(0, 4), torch.zeros(0, 4))


# ---------------------------------------------------------------- empty images


@cache
def images(n, empty, sharp, bias, seed):
    return drawn(n, empty, sharp, bias, np.random.default_rng(seed))


@pytest.mark.parametrize("sharp", [0.3, 4.0])
def test_empty_images_stay_empty(sharp):
    """Independent pixels mark something on many of them; the probability that the image is empty mends that."""
    calibration = calibrate_pixels(*images(40, 0.5, sharp, 0.0, 1))
    logits, truth = images(120, 0.5, sharp, 0.0, 2)
    nothing = ~truth.any(2).any(1)
    by_pixels = decide_images(logits, "dice", calibration=PixelCalibration(calibration.temperature)).sets
    found = decide_images(logits, "dice", calibration=calibration).sets
    marked = [float(sets[nothing].any(2).any(1).double().mean()) for sets in (by_pixels, found)]
    assert marked[1] <= 0.05 < marked[0]
    assert dice(found, truth).mean() > dice(by_pixels, truth).mean()
    assert dice(found, truth).mean() >= dice(logits > 0, truth).mean()


@pytest.mark.parametrize("kind", ["empty", "filled"])
def test_the_probability_of_an_empty_image_needs_three_of_each(kind):
    logits, truth = images(40, 0.5, 1.0, 0.0, 1)
    filled = truth.flatten(1).any(1)
    rare, others = filled == (kind == "filled"), filled != (kind == "filled")
    for number in (2, 3):
        chosen = torch.cat([torch.nonzero(rare)[:number], torch.nonzero(others)]).squeeze(1)
        ((constant, *slopes),) = calibrate_pixels(logits[chosen], truth[chosen]).empty
        odds = (number + 0.5) / (int(others.sum()) + 0.5)
        assert any(slopes) == (number == 3)
        assert number == 3 or constant == pytest.approx(np.log(odds if kind == "empty" else 1 / odds))


def test_a_factor_of_the_logits_changes_the_temperature_alone():
    logits, truth = images(40, 0.5, 1.0, 0.0, 1)
    one, other = (calibrate_pixels(factor * logits, truth) for factor in (1.0, 3.0))
    assert other.temperature == pytest.approx(3 * one.temperature, rel=1e-3)
    np.testing.assert_allclose(other.empty, one.empty, rtol=1e-2)


def test_positives_outside_of_the_mask_do_not_fill_an_image():
    logits, truth = images(40, 0.5, 1.0, 0.0, 1)
    mask = torch.rand(truth.shape) < 0.5
    more = truth | ~mask
    assert calibrate_pixels(logits, more, mask=mask) == calibrate_pixels(logits, truth & mask, mask=mask)


def test_classes_are_calibrated_one_by_one():
    logits, truth = images(40, 0.5, 1.0, 0.0, 1)
    both = torch.stack([0 * logits, logits], 1)
    seen = torch.rand(40, 32, 32) < 0.9
    calibration = calibrate_pixels(both, truth.long(), mode="multiclass", mask=seen)
    assert len(calibration.empty) == 2
    assert decide_images(both, mode="multiclass", calibration=calibration).sets.shape == (40, 32, 32)
    seen = torch.rand(both.shape) < 0.5
    by_label = calibrate_pixels(both, torch.stack([truth, truth], 1), mode="multilabel", mask=seen)
    each = [calibrate_pixels(both[:, c], truth, mask=seen[:, c]) for c in range(2)]
    torch.testing.assert_close(
        torch.tensor(by_label.empty), torch.tensor([one.empty[0] for one in each]), atol=0.1, rtol=0.1
    )
