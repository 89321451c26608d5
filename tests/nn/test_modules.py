"""`SetLoss` as a module: copies, files, threads, and plans that are made once."""

import copy
import gc
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import pytest
import torch

from setloss import CostCurve, Dice, SetFunction, Tversky, from_counts, from_set_function
from setloss.nn import SetLoss, set_loss
from setloss.nn import plan as plans
from setloss.operators import SlackRescaling, Surrogate
from setloss.plans import python_fallback


def quadratic(n, q, m, r):
    return 0.1 * n**2 + q


MODULES = {
    "named": SetLoss("jaccard", "lovasz"),
    "Tversky": SetLoss(Tversky(0.3, 0.7), "slack", scale=1.5, mode="multilabel", over="class", reduction="none"),
    "curve": SetLoss(CostCurve([(0, 0), (0.3, 0), (1, 1)]), "bd"),
    "callable": SetLoss(from_counts(quadratic), "slack"),
    "table": SetLoss(from_set_function(SetFunction.symmetric([0, 1, 1, 2, 5, 5, 6])), "bd"),
}
every_module = pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))


class Hidden(Surrogate):
    """Slack rescaling that no plan knows."""

    def __init__(self, function):
        self.inner = SlackRescaling(function)
        self.p = self.inner.p

    def cut_ordered(self, ordered):
        return self.inner.cut_ordered(ordered)


def batch():
    generator = torch.Generator().manual_seed(61)
    return torch.randn(3, 6, generator=generator), torch.rand(3, 6, generator=generator) < 0.4


def saved_and_loaded(module):
    file = BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@every_module
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m)), saved_and_loaded],
    ids=["deepcopy", "copy", "pickle", "torch.save"],
)
def test_copies_are_the_same_loss(module, copied):
    other = copied(module)
    assert torch.equal(other(*batch()), module(*batch()))


@every_module
def test_there_is_no_state(module):
    assert module.state_dict() == {}
    assert list(module.parameters()) == []
    module.load_state_dict({})
    assert module.to(torch.float64).eval().half() is module


def test_the_representation_names_every_choice():
    assert repr(SetLoss("dice", "slack", scale=1.0, ignore_index=255)) == (
        "SetLoss(loss='dice', operator='slack', scale=1.0, margins='logits', soft_share=0.0, with_cross_entropy=0.0, "
        "mode='binary', over='image', classes=None, include_background=True, ignore_index=255, absent='keep', "
        "reduction='mean', sync=False)"
    )


def test_the_function_is_the_module():
    logits, target = batch()
    options = {"loss": "jaccard", "operator": "slack", "scale": 1.0, "over": "batch"}
    assert torch.equal(set_loss(logits, target, **options), SetLoss(**options)(logits, target))


def test_in_a_sequence_of_modules():
    net = torch.nn.ModuleDict({"body": torch.nn.Linear(6, 6), "loss": SetLoss()})
    assert set(net.state_dict()) == {"body.weight", "body.bias"}


# ---------------------------------------------------------------- plans


def living():
    gc.collect()
    return len(plans._living)


def test_equal_losses_share_the_plan_of_the_function():
    before = plans.plan_number(Tversky(0.31, 0.69), "bd", 2.0)
    count = living()
    for _ in range(100):
        set_loss(*batch(), loss=Tversky(0.31, 0.69), operator="bd", scale=2.0)
    assert living() == count
    assert plans.plan_number(Tversky(0.31, 0.69), "bd", 2) == before


def test_names_and_objects_share_a_plan():
    assert plans.plan_number("dice", "bd", 2.0) == plans.plan_number(Dice(), "bd", 2.0)
    assert plans.plan_number("f1", "bd", 2.0) == plans.plan_number("DICE", "bd", 2.0)


def test_other_losses_and_scales_have_other_plans():
    choices = [(Tversky(0.2, 0.8), "bd", 2.0), (Tversky(0.2, 0.7), "bd", 2.0), (Tversky(0.2, 0.8), "bd", 1.0)]
    choices.append((Tversky(0.2, 0.8), "slack", 2.0))
    numbers = [plans.plan_number(*choice) for choice in choices]
    assert len(set(numbers)) == len(numbers)
    for number, (loss, operator, scale) in zip(numbers, choices, strict=True):
        plan = plans.plan_of(number)
        assert (plan.loss, plan.operator, plan.scale) == (loss, operator, scale)


def test_threads_that_make_plans_at_once_get_their_own():
    """With a switch of threads after every few instructions."""
    choices = [Tversky(0.5 + k / 1000, 0.75) for k in range(400)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            numbers = list(pool.map(lambda loss: plans.plan_number(loss, "bd", 2.0), choices))
    finally:
        sys.setswitchinterval(interval)
    assert [plans.plan_of(number).loss for number in numbers] == choices
    assert [plans.plan_of(number).number for number in numbers] == numbers


def test_the_plan_of_a_module_goes_with_it():
    before = living()
    module = SetLoss(Tversky(0.27, 0.73), "bd")
    number = module.plan.number
    module(*batch())
    assert plans.plan_of(number) is module.plan
    assert living() == before + 1
    del module
    assert living() == before


def test_a_copy_has_a_plan_of_its_own():
    module = SetLoss("dice", "bd")
    other = copy.deepcopy(module)
    assert other.plan.number != module.plan.number
    value = other(*batch())
    del module
    gc.collect()
    assert torch.equal(other(*batch()), value)


def test_a_surrogate_of_one_s_own_is_an_operator():
    python_fallback._named.add("Hidden")
    logits, target = batch()
    values = []
    for operator in (Hidden, SlackRescaling):
        leaf = logits.clone().requires_grad_()
        value = SetLoss("dice", operator)(leaf, target)
        value.backward()
        values.append((value.detach(), leaf.grad))
    torch.testing.assert_close(values[0], values[1])


def test_losses_in_threads_do_not_disturb_each_other():
    logits, target = batch()
    choices = [("dice", "bd"), ("jaccard", "lovasz"), ("dice", "slack"), ("curve1", "bd")] * 10
    expected = [set_loss(logits, target, loss=loss, operator=operator) for loss, operator in choices]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda c: set_loss(logits, target, loss=c[0], operator=c[1]), choices))
    assert torch.equal(torch.stack(got), torch.stack(expected))


def test_modules_and_graphs_are_freed():
    logits, target = batch()
    module = SetLoss(Dice())
    value = module(logits.requires_grad_(), target)
    gone = weakref.ref(module), weakref.ref(value)
    del module, value
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
