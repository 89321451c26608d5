"""Decisions on tensors: those of the core, by enumeration of all sets, for classes without overlap."""

import itertools

import numpy as np
import pytest
import torch

from setloss import Dice, FBeta, Jaccard, Tversky, decisions
from setloss.nn import PixelCalibration, decide_images
from setloss.nn.image_decisions import Images


@pytest.mark.parametrize("loss", ["dice", "jaccard"])
@pytest.mark.parametrize("side", [12, 40])
def test_masks_are_those_of_the_twin(loss, side):
    logits = 2 * torch.randn(3, 1, side, side, generator=torch.Generator().manual_seed(side), dtype=torch.float64) - 2
    found = decide_images(logits, loss)
    assert found.sets.shape == logits.shape
    for one, chosen, expected, error in zip(logits, found.sets, found.expected_loss, found.error, strict=True):
        twin = decisions.pixels.decide_pixels(one.numpy(), loss)
        np.testing.assert_array_equal(chosen, twin.sets)
        assert float(expected) == pytest.approx(twin.expected_loss, abs=1e-10)
        assert float(error) == pytest.approx(twin.error, abs=1e-10)


# ------------------------------------------------ all sets of few pixels; without `p_empty`: `benchmarks.judge`


def expected_losses(p, loss, p_empty):
    """{set: expected loss}, by enumeration of truths; the image is empty with probability `p_empty`."""
    truths = list(itertools.product([0, 1], repeat=len(p)))
    chances = np.array([np.prod(np.where(truth, p, 1 - p)) for truth in truths])
    chances = np.where([any(truth) for truth in truths], chances * (1 - p_empty) / (1 - chances[0]), p_empty)
    return {
        s: sum(c * float(loss(np.array(t, bool), np.array(s, bool))) for t, c in zip(truths, chances, strict=True))
        for s in truths
    }


LOSSES = [
    Dice(),
    Jaccard(),
    Tversky(2.0, 0.1),
    FBeta(2.0),
    FBeta(0.0),
    Dice(zero_division=0.0),
    Tversky(0.3, 0.9, 0.5),
    Tversky(0.0, 0.7, 0.3),
    Tversky(0.0, 0.0, 0.3),
]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("p_empty", [0.02, 0.6])
def test_no_set_has_a_lower_expected_loss(loss, p_empty):
    rng = np.random.default_rng(1)
    calibration = PixelCalibration(empty=((np.log(p_empty / (1 - p_empty)), 0.0, 0.0),))
    for scale in (0.5, 0.9):
        p = scale * rng.random(5)
        every = expected_losses(p, loss, p_empty)
        found = decide_images(torch.as_tensor(p)[None], loss, scores="probabilities", calibration=calibration)
        chosen = tuple(int(one) for one in found.sets[0])
        assert every[chosen] == pytest.approx(min(every.values()), abs=1e-9)
        assert float(found.expected_loss) == pytest.approx(every[chosen], abs=1e-9)


# ---------------------------------------------------------------- shapes, masks, classes


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_a_mask_is_for_all_channels_or_for_each(mode):
    logits, mask = torch.full((2, 3, 4, 5), 3.0), torch.rand(2, 4, 5) < 0.5
    if mode == "multiclass":
        logits[:, 0] = -3.0
        assert not decide_images(logits, mode=mode, mask=mask).sets[~mask].any()
        return
    logits = logits if mode == "multilabel" else logits[:, :1]
    expected = mask.unsqueeze(1).expand(logits.shape)
    assert torch.equal(decide_images(logits, mode=mode, mask=mask).sets, expected)
    if mode == "multilabel":
        each = torch.rand(logits.shape) < 0.5
        assert torch.equal(decide_images(logits, mode=mode, mask=each).sets, each)


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
@pytest.mark.parametrize("shape", [(0, 4), (0, 2, 3), (3, 2, 0)])
def test_no_images_and_no_pixels(mode, shape):
    found = decide_images(torch.zeros(shape), "dice", mode=mode)
    assert found.sets.shape == (shape if mode != "multiclass" else (shape[0], *shape[2:]))
    assert found.expected_loss.shape == (shape[:1] if mode == "binary" else shape[:2])
    nothing = torch.zeros(2, 5, 5, dtype=torch.bool)
    assert not decide_images(torch.full((2, 5, 5), 3.0), mask=nothing).sets.any()


def test_every_pixel_has_one_class_and_every_label_its_own_set():
    logits = torch.randn(2, 4, 30, 40, generator=torch.Generator().manual_seed(3))
    found = decide_images(logits, "jaccard", mode="multiclass")
    assert found.sets.shape == (2, 30, 40)
    assert found.expected_loss.shape == found.error.shape == (2, 4)
    sure = torch.nn.functional.one_hot(torch.randint(0, 4, (2, 9)), 4).movedim(-1, 1) * 30.0
    assert torch.equal(decide_images(sure, mode="multiclass").sets, sure.argmax(1))
    probabilities = decide_images(logits.softmax(1), "jaccard", mode="multiclass", scores="probabilities")
    assert (probabilities.sets == found.sets).double().mean() > 0.999
    labels = decide_images(logits, "jaccard", mode="multilabel")
    assert torch.equal(labels.sets[:, 2], decide_images(logits[:, 2], "jaccard").sets)


def test_a_pixel_that_no_class_takes_goes_to_one_that_takes_others():
    p = torch.tensor([[[0.5, 0.3], [0.45, 0.65], [0.05, 0.05]]])
    images = Images(p, torch.zeros(1, 3), torch.ones(1, 3))
    taken = torch.zeros(1, 3, 2, dtype=torch.bool)
    taken[0, 0, 0] = True
    assert images.exclusive(taken).tolist() == [[0, 0]]


BOOLS = torch.ones(2, 4, 6, dtype=torch.bool)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"loss": "hamming"}, ValueError, "decisions for pixels are for Dice, Jaccard, Tversky and F-beta"),
        ({"loss": lambda truth, predicted: 0.0}, ValueError, "decisions for pixels are for .*; got Metric"),
        ({"mode": "classes"}, ValueError, "mode is one of 'binary', 'multilabel', 'multiclass'; got 'classes'"),
        ({"calibration": PixelCalibration(empty=((0.0, 0.0, 0.0),) * 2)}, ValueError, "for 2 classes.*mode="),
        ({"scores": "logits"}, ValueError, "scores is one of auto, log-odds, probabilities; got 'logits'"),
        (
            {"logits": torch.rand(2, 4, 6)},
            ValueError,
            r"all .* lie in \[0, 1\].*\"probabilities\".*scores=\"log-odds\"",
        ),
        ({"logits": np.zeros((2, 4, 6))}, TypeError, r"tensor; got ndarray.*decisions\.pixels"),
        *[({"mask": BOOLS.reshape(shape)}, ValueError, "does not fit") for shape in ((2, 6, 4), (4, 6, 2))],
        ({"mask": BOOLS[:, :3, :3]}, ValueError, "does not fit"),
        *[({"mask": wrong}, TypeError, "the mask is a bool tensor") for wrong in (255 * BOOLS, BOOLS.numpy())],
    ],
)
def test_what_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        decide_images(**{"logits": torch.randn(2, 4, 6)} | options)


def test_a_temperature_is_positive_and_probabilities_may_be_log_odds_by_name():
    assert decide_images(torch.rand(2, 8, 8), scores="log-odds").sets.all()
    with pytest.raises(ValueError, match="the temperature is a positive number; got 0"):
        PixelCalibration(0)
