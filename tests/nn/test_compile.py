"""`torch.compile(fullgraph=True)`: one graph, the same bits."""

import shutil

import pytest
import torch

from setloss import Tversky, from_counts
from setloss.nn import SetLoss, set_loss


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(function, backend="aot_eager", **options):
    return torch.compile(function, fullgraph=True, backend=backend, options=options or None)


def run(function, logits, *arguments, **options):
    leaf = logits.detach().clone().requires_grad_()
    value = function(leaf, *arguments, **options)
    value.sum().backward()
    return value.detach(), leaf.grad


def assert_same(function, *arguments, as_graph=None, **options):
    """Values and gradients of the function and of its graph, to the last bit."""
    graph = compiled(function) if as_graph is None else as_graph
    got, expected = (run(f, *arguments, **options) for f in (graph, function))
    assert all(map(torch.equal, got, expected))


def binary(shape=(3, 4, 5)):
    return torch.randn(shape, dtype=torch.float64), torch.rand(shape) < 0.4


def test_masks_ignored_labels_weights_and_absent_classes():
    logits, target = binary()
    assert_same(SetLoss("dice", "bd"), logits, target, mask=torch.rand(3, 4, 5) < 0.7)
    labels = target.to(torch.int64)
    labels[0, 0] = 255
    assert_same(SetLoss("jaccard", "lovasz", ignore_index=255, reduction="none"), logits.unsqueeze(1), labels)
    logits, target = torch.randn(2, 4, 3, 5, dtype=torch.float64), torch.randint(0, 2, (2, 3, 5))
    module = SetLoss("dice", "bd-monotone", mode="multiclass", over="image", absent="skip", ignore_index=255)
    assert_same(module, logits, target, weight=torch.rand(2, 4))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_losses_without_a_closed_form_run_outside_of_the_graph():
    module, problem = SetLoss(from_counts(lambda n, q, m, r: 0.1 * n**2 + q), "bd"), binary((3, 12))
    with pytest.raises(Exception, match="disable"):
        compiled(module)(*problem)
    assert_same(module, *problem, as_graph=torch.compile(module, backend="aot_eager"))


def test_shapes_that_change():
    """From the second shape on sizes are symbols; empty batches and single elements included."""
    function = compiled(SetLoss())
    for shape in ((2, 6), (3, 7), (5, 9), (1, 1), (0, 4)):
        assert_same(set_loss, *binary(shape), as_graph=function)


def test_scales_and_losses_that_change():
    """Numbers that change become symbols to the compiler, and the plan must be a constant."""
    logits, target = binary((3, 6))
    function = compiled(set_loss, "eager")
    losses = ("dice", 2.0), ("dice", 0.3), ("jaccard", 1), (Tversky(0.2, 0.8), 1.0), (Tversky(0.4, 0.6), 1)
    for loss, scale in losses:
        options = {"loss": loss, "operator": "slack", "scale": scale}
        assert torch.equal(function(logits, target, **options), set_loss(logits, target, **options))


@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_recommended_loss_by_inductor():
    logits, target = binary((4, 6))
    # Without a pool of processes that each import torch, and without trying which vector instructions g++ knows.
    function = compiled(SetLoss(), "inductor", **{"compile_threads": 1, "cpp.vec_isa_ok": False})
    torch.testing.assert_close(run(function, logits, target), run(SetLoss(), logits, target))
