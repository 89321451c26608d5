"""`SetLoss` as a module: copies, files, sets out of reach; the function is the module."""

import copy
import pickle
from io import BytesIO

import numpy as np
import pytest
import torch

from helpers.children import printed
from setloss import CostCurve, FBeta, SetFunction, Tversky, from_counts, from_set_function
from setloss.decomposition.certificate import ProgramTooLargeError, TableRangeError
from setloss.estimators import SetClassifier
from setloss.nn import SetLoss, set_loss
from setloss.operators import SlackRescaling
from setloss.plans.build import SlowSurrogateWarning
from setloss.setfunctions.counts import TableTooLargeError


def quadratic(n, q, m, r):
    return 0.1 * n**2 + q


MODULES = {
    "named": SetLoss("jaccard", "lovasz"),
    "Tversky": SetLoss(Tversky(0.3, 0.7), "slack", scale=1.5, mode="multilabel", over="class", reduction="none"),
    "curve": SetLoss(CostCurve([(0, 0), (0.3, 0), (1, 1)]), "bd"),
    "callable": SetLoss(from_counts(quadratic), "slack"),
    "table": SetLoss(from_set_function(SetFunction.symmetric([0, 1, 1, 2, 5, 5, 6])), "bd"),
}


class Hidden(SlackRescaling):
    """Slack rescaling that no plan knows."""

    def cut_ordered(self, ordered):
        return super().cut_ordered(ordered)


def batch():
    generator = torch.Generator().manual_seed(61)
    return torch.randn(3, 6, generator=generator), torch.rand(3, 6, generator=generator) < 0.4


def saved_and_loaded(module):
    file = BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("module", MODULES.values(), ids=list(MODULES))
def test_copies_are_the_same_loss_and_there_is_no_state(module):
    for copied in (copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m)), saved_and_loaded):
        assert torch.equal(copied(module)(*batch()), module(*batch()))
    assert module.state_dict() == {}
    assert module.to(torch.float64).eval().half() is module


def test_the_function_is_the_module():
    options = {"loss": "jaccard", "operator": "slack", "scale": 1.0, "over": "batch"}
    assert torch.equal(set_loss(*batch(), **options), SetLoss(**options)(*batch()))
    with pytest.raises(TypeError, match="opertor"):
        set_loss(*batch(), opertor="bd")


def test_a_surrogate_of_one_s_own_is_an_operator():
    logits, target = batch()
    leaf = logits.requires_grad_()
    with pytest.warns(SlowSurrogateWarning, match="Hidden"):
        value = SetLoss("dice", Hidden)(leaf, target)
    expected = SetLoss("dice", SlackRescaling)(leaf, target)
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each, leaf)[0] for each in (value, expected)))


# ---------------------------------------------------------------- too large, or of another size


@pytest.mark.parametrize(
    ("loss", "operator", "p", "error", "words"),
    [
        (
            from_counts(lambda n, q, m, r: n * q / (1 + n + q)),
            "slack",
            10_000,
            TableTooLargeError,
            "too large .*smaller",
        ),
        (FBeta(0.5), "bd", 400, ProgramTooLargeError, "too large .*smaller"),
        (
            from_counts(lambda n, q, m, r: 1e-10 * n * q + n**2),
            "bd",
            8,
            TableRangeError,
            "round its values to multiples",
        ),
    ],
    ids=["table", "program", "range"],
)
def test_sets_out_of_reach_without_a_closed_form(loss, operator, p, error, words):
    logits, truth = torch.zeros(1, p), (torch.arange(p) % 2)[None]
    where = f"{type(loss).__name__} .*a set of {p // 2} positives and {p // 2} negatives.* {words}"
    with pytest.raises(error, match=where):
        set_loss(logits, truth, loss=loss, operator=operator)
    with pytest.raises(error, match=where):
        SetClassifier(loss, operator=operator).fit(np.arange(p)[:, None], truth[0].numpy(), groups=np.zeros(p))


def test_a_set_function_is_for_sets_of_its_own_size():
    loss = from_set_function(SetFunction.symmetric([0, 1, 1, 2]))
    with pytest.raises(ValueError, match="for sets of 3 elements; got one of 4"):
        set_loss(torch.zeros(2, 4), torch.zeros(2, 4), loss=loss)
    with pytest.raises(ValueError, match="for sets of 3 elements; got one of 2"):
        set_loss(torch.zeros(1, 3), torch.zeros(1, 3), loss=loss, mask=torch.tensor([[True, True, False]]))


def test_training_does_not_import_the_compiler_of_torch():
    """It would take longer than all of setloss."""
    step = "SetLoss()(torch.randn(2, 5, requires_grad=True), torch.ones(2, 5)).backward()"
    code = f"import sys, torch; from setloss.nn import SetLoss; {step}; print('torch._dynamo' in sys.modules)"
    assert printed(code).strip() == "False"
