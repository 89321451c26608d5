"""Half precision, autocast, and the same bits every time."""

import pytest
import torch

from helpers.torch_judge import CASES, PATHS, draw
from setloss import Dice, Jaccard
from setloss.nn import set_loss

OPERATORS = [
    (Dice(), "bd"),
    (Dice(), "bd-monotone"),
    (Dice(), "slack"),
    (Dice(), "margin"),
    (Jaccard(), "lovasz"),
    (Dice(), "hinge"),
    (CASES["curve1"].loss, "bd"),
]
every_operator = pytest.mark.parametrize(("loss", "operator"), OPERATORS, ids=str)
half = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)


def images(n=2, side=320, spread=3.0):
    """More pixels than the 65504 that float16 can count to."""
    scores, truth, _ = draw((n + 2, side, side), seed=31, spread=spread, dtype=torch.float32)
    return scores, truth


@half
@every_operator
def test_half_precision_gives_the_float32_result_of_the_rounded_logits(loss, operator, dtype):
    scores, truth = images()
    rounded = scores.to(dtype).requires_grad_()
    value = set_loss(rounded, truth, loss=loss, operator=operator, reduction="none")
    value.mean().backward()
    assert value.dtype == torch.float32
    assert torch.isfinite(value).all()
    assert rounded.grad.dtype == dtype
    assert torch.isfinite(rounded.grad).all()
    wide = rounded.detach().float().requires_grad_()
    expected = set_loss(wide, truth, loss=loss, operator=operator, reduction="none")
    expected.mean().backward()
    assert torch.equal(value, expected)
    assert torch.equal(rounded.grad, wide.grad.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(set_loss(rounded, truth, loss=loss, operator=operator, reduction="none"), value)


# ---------------------------------------------------------------- deterministic


@every_operator
def test_the_same_bits_for_any_number_of_threads(loss, operator):
    scores, truth = images(n=3, side=160)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 2, 1):
            torch.set_num_threads(threads)
            results.append(PATHS["host"](loss, operator, scores, truth, None, 2.0))
    finally:
        torch.set_num_threads(before)
    for values, gradients in results[1:]:
        assert torch.equal(values, results[0][0])
        assert torch.equal(gradients, results[0][1])
