"""The likelihood of label sets on tensors, against the list of all sets and the core."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decisions.judge import AllSets
from setloss.decisions import CountModel
from setloss.nn import CountModelLoss, count_loss

values = st.floats(-5, 5) | st.sampled_from([-1e4, -300.0, 0.0, 300.0, 1e4])


def double(array):
    return torch.tensor(np.asarray(array), dtype=torch.float64)


@given(
    st.integers(1, 6).flatmap(lambda p: st.tuples(*[st.lists(values, min_size=p, max_size=p)] * 2, st.just(p))),
    st.data(),
)
@settings(max_examples=60)
def test_values_are_those_of_the_list_of_all_sets(drawn, data):
    scores, potentials, p = drawn
    counts = [0.0, *potentials]
    y = data.draw(st.lists(st.booleans(), min_size=p, max_size=p))
    known = data.draw(st.lists(st.booleans(), min_size=p, max_size=p))
    truth = AllSets(scores, counts)
    for mask in ([True] * p, known):
        found = count_loss(
            double([scores]), torch.tensor([y]), double(counts), mask=torch.tensor([mask]), reduction="sum"
        )
        assert float(found) == pytest.approx(-truth.log_chance(y, mask), rel=1e-10, abs=1e-8)
    plain = count_loss(double([scores]), torch.tensor([y]), double(counts))
    assert float(plain) == pytest.approx(-truth.log_chance(y, [True] * p), rel=1e-10, abs=1e-8)


@pytest.mark.parametrize("p", [1, 2, 7, 24])
def test_values_and_gradients_are_those_of_the_core(p):
    generator = np.random.default_rng(p)
    width = min(p, 5) + 1
    scores, counts = generator.normal(size=(6, p)), generator.normal(size=(6, width))
    counts[0, -1] = -np.inf
    y = np.argsort(generator.random((6, p)), axis=1) < generator.integers(0, width - 1, size=(6, 1))
    known = generator.random((6, p)) < 0.7
    for mask in (None, known):
        s, u = double(scores).requires_grad_(), double(counts).requires_grad_()
        loss = count_loss(s, torch.tensor(y), u, reduction="none", mask=None if mask is None else torch.tensor(mask))
        loss.sum().backward()
        expected = CountModel(scores, counts).likelihood(y, mask)
        counted = np.ones(6) if mask is None else mask.any(axis=1)
        np.testing.assert_allclose(loss.detach(), -expected.values * counted, atol=1e-11)
        np.testing.assert_allclose(s.grad, -expected.scores * counted[:, None], atol=1e-11)
        np.testing.assert_allclose(u.grad, -expected.counts * counted[:, None], atol=1e-11)


def test_gradcheck():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    counts = torch.randn(4, dtype=torch.float64, generator=generator, requires_grad=True)
    target = torch.tensor([[1, 0, 0, 1, 0], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1]])
    mask = torch.tensor([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1]], dtype=torch.bool)
    assert torch.autograd.gradcheck(lambda s, u: count_loss(s, target, u), (scores, counts))
    assert torch.autograd.gradcheck(lambda s, u: count_loss(s, target, u, mask=mask), (scores, counts))


def test_without_potentials_it_is_the_sum_of_cross_entropies():
    scores, target = torch.randn(4, 9), torch.rand(4, 9) < 0.3
    expected = torch.nn.functional.binary_cross_entropy_with_logits(scores, target.float(), reduction="none").sum(1)
    torch.testing.assert_close(count_loss(scores, target, torch.zeros(10), reduction="none"), expected)


def test_ignored_labels_weights_and_reductions():
    scores, counts = torch.randn(3, 4), torch.randn(5)
    target = torch.tensor([[1, 0, 255, 0], [255, 255, 255, 255], [0, 1, 1, 0]])
    each = count_loss(scores, target, counts, ignore_index=255, reduction="none")
    same = count_loss(scores, target == 1, counts, mask=target != 255, reduction="none")
    torch.testing.assert_close(each, same)
    assert float(each[1]) == 0
    mean = count_loss(scores, target, counts, ignore_index=255)
    torch.testing.assert_close(mean, each.sum() / 2)
    weight = torch.tensor([1.0, 5.0, 2.0])
    weighted = count_loss(scores, target, counts, ignore_index=255, weight=weight)
    torch.testing.assert_close(weighted, (each * weight).sum() / 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_logits_are_computed_in_float32(dtype):
    scores = (100 * torch.randn(4, 12)).to(dtype).requires_grad_()
    criterion = CountModelLoss(12)
    value = criterion(scores, torch.rand(4, 12) < 0.5)
    value.backward()
    assert value.dtype == torch.float32
    assert scores.grad.dtype == dtype
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(criterion.potentials.grad).all()


def test_compiled_it_has_the_same_values_and_gradients():
    torch._dynamo.reset()
    criterion = CountModelLoss(4, ignore_index=-1)
    compiled = torch.compile(copy.deepcopy(criterion), fullgraph=True, backend="aot_eager")
    scores, target = torch.randn(5, 6), (torch.rand(5, 6) < 0.3).long()
    target[0, 0] = -1
    found = []
    for module in (criterion, compiled):
        leaf = scores.clone().requires_grad_()
        value = module(leaf, target)
        value.backward()
        found.append((value.detach(), leaf.grad, module.potentials.grad))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)
    torch._dynamo.reset()


def test_training_learns_scores_and_potentials():
    # Exactly one of three labels is positive: independent logits cannot say so, potentials can.
    target = torch.eye(3, dtype=torch.bool).repeat(20, 1)
    scores, criterion = torch.zeros(3, requires_grad=True), CountModelLoss(3)
    optimiser = torch.optim.LBFGS([scores, *criterion.parameters()], max_iter=50)

    def closure():
        optimiser.zero_grad()
        value = criterion(scores.expand(60, 3), target)
        value.backward()
        return value

    optimiser.step(closure)
    assert float(closure().detach()) == pytest.approx(np.log(3), abs=1e-2)


def test_the_network_may_predict_the_potentials():
    scores, target, counts = torch.randn(2, 3), torch.zeros(2, 3, dtype=torch.bool), torch.randn(2, 4)
    torch.testing.assert_close(CountModelLoss()(scores, target, counts=counts), count_loss(scores, target, counts))


def test_refusals():
    scores, target = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)
    for make, words in [
        (lambda: CountModelLoss(mode="binary"), "mode='multilabel'"),
        (lambda: CountModelLoss(-1), "the largest number of positives"),
        (lambda: CountModelLoss(reduction="median"), "reduction is one of"),
        (lambda: CountModelLoss()(scores, target), "one of the two"),
        (lambda: CountModelLoss(3)(scores, target, counts=torch.zeros(4)), "one of the two"),
        (lambda: CountModelLoss(2)(scores, target), "example 0 has 3 positives; counts have potentials for up to 2"),
        (lambda: count_loss(scores, target[:1], torch.zeros(4)), "are \\(N, C\\)"),
        (lambda: count_loss(scores, target, torch.zeros(5, 4)), "counts are"),
        (lambda: count_loss(scores, target, torch.zeros(4), mask=torch.ones(2, 3)), "the mask is bool"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="counts are log-potentials"):
        count_loss(scores, target, torch.zeros(4, dtype=torch.int64))
