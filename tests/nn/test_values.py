"""Every way torch differentiates: forward mode, `torch.func`, batches of batches, second derivatives."""

import pytest
import torch

from setloss.nn import set_loss

OPTIONS = [
    {"loss": "dice", "operator": "bd"},
    {"loss": "jaccard", "operator": "lovasz", "margins": "probabilities"},
    {"loss": "dice", "operator": "slack", "over": "batch"},
    {},
]
WORDS_OF_TORCH = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
"""Torch compiles its own formulas of forward mode with it."""

every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def problem(*shape):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(shape, generator=generator, dtype=torch.float64), torch.rand(shape, generator=generator) < 0.4


@WORDS_OF_TORCH
@every_option
def test_forward_mode_and_func_grad_are_backward(options):
    logits, target = problem(3, 5)
    direction = torch.randn(3, 5, dtype=torch.float64)
    leaf = logits.clone().requires_grad_()
    value = set_loss(leaf, target, **options)
    value.backward()
    found, tangent = torch.func.jvp(lambda h: set_loss(h, target, **options), (logits,), (direction,))
    torch.testing.assert_close(found, value.detach())
    torch.testing.assert_close(tangent, (leaf.grad * direction).sum())
    torch.testing.assert_close(torch.func.grad(lambda h: set_loss(h, target, **options))(logits), leaf.grad)


@every_option
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float64], ids=str)
def test_vmap_is_a_loop(options, dtype):
    logits, target = problem(4, 3, 5)
    target = target.to(dtype)
    found = torch.func.vmap(lambda h, y: set_loss(h, y, **options))(logits, target)
    expected = torch.stack([set_loss(h, y, **options) for h, y in zip(logits, target, strict=True)])
    torch.testing.assert_close(found, expected)
    shared = torch.func.vmap(lambda h: set_loss(h, target[0], **options))(logits)
    torch.testing.assert_close(shared, torch.stack([set_loss(h, target[0], **options) for h in logits]))


@WORDS_OF_TORCH
def test_second_derivatives_are_zero_for_logits_and_those_of_the_sigmoid_for_probabilities():
    logits, target = problem(1, 4)
    piecewise = torch.func.hessian(lambda h: set_loss(h, target, operator="lovasz"))(logits)
    assert torch.equal(piecewise, torch.zeros_like(piecewise))
    leaf = logits.requires_grad_()

    def curved(h):
        return set_loss(h, target, operator="lovasz", margins="probabilities")

    torch.autograd.gradgradcheck(curved, leaf)
