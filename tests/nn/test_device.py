"""Devices other than the CPU: nothing leaves them, nothing waits for them, and the numbers are the same.

`Elsewhere` is a device made of paper: tensors that say they are on the meta device and hold their numbers all the
same. `Machine` runs every operation on them, and refuses those that would read numbers back or mix devices.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from helpers.torch_judge import draw, plan_of
from setloss import Dice, Jaccard
from setloss.nn import SetLoss, set_loss
from setloss.nn.cuts import cuts, device_cuts, graph_arguments, make_plan

WAITS = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
    torch.ops.aten.equal.default,
    torch.ops.aten.is_nonzero.default,
}
"""Operations that need a number of the device on the host, or a size that depends on one."""


# ---------------------------------------------------------------- the operator as torch wants it


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # opcheck's own, torch 2.15
@pytest.mark.parametrize(("operator", "dtype"), [("bd", torch.float32), ("slack", torch.float64)])
def test_the_operator_passes_torch_s_own_checks(operator, dtype):
    scores, truth, valid = draw((4, 6), seed=41, dtype=dtype)
    plan = make_plan(Dice(), operator, 2.0)
    named = graph_arguments(plan, plan.loss.form)
    torch.library.opcheck(cuts, (scores.requires_grad_(), truth, valid, *named))
    torch.library.opcheck(cuts, (scores.detach().T.requires_grad_(), truth.T, None, *named))


# ---------------------------------------------------------------- shapes without numbers


@pytest.mark.parametrize("mode", ["binary", "multilabel", "multiclass"])
def test_meta_tensors_through_the_module(mode):
    shape = (2, 3, 4, 5)
    logits = torch.empty(shape, device="meta", requires_grad=True)
    target = torch.empty(shape[:1] + shape[2:] if mode == "multiclass" else shape, device="meta", dtype=torch.int64)
    module = SetLoss("dice", mode=mode, reduction="none", absent="skip", ignore_index=255)
    value = module(logits, target, mask=torch.empty(target.shape, device="meta", dtype=torch.bool))
    here = module(torch.randn(shape), torch.ones(target.shape, dtype=torch.int64))
    assert (value.device.type, value.shape) == ("meta", here.shape)
    value.sum().backward()
    assert (logits.grad.shape, logits.grad.device.type) == (shape, "meta")


@pytest.mark.parametrize(("name", "operator"), [("Jaccard", "lovasz"), ("Dice", "bd")])
def test_a_step_is_one_sort_and_as_many_operations_at_any_size(name, operator):
    """On a device every operation is a kernel."""
    counts = []
    for width in (64, 4096):
        scores, truth, _ = draw((3, width), seed=45)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            device_cuts(scores, truth, None, plan_of(name, operator))
        counts.append({event.key: event.count for event in profile.key_averages() if event.key.startswith("aten::")})
    assert counts[0] == counts[1]
    assert counts[0]["aten::sort"] == 1


# ---------------------------------------------------------------- a device made of paper


class Elsewhere(torch.Tensor):
    """A tensor that is not on the CPU, as far as anybody can see."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device="meta"
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError(f"{func} outside of the machine")


class Machine(TorchDispatchMode):
    """Runs operations on tensors that are elsewhere; what would make a device wait or mixes devices is refused."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.ops.setloss.cuts.default:
            with self:
                return cuts._init_fn(*args, **kwargs)
        assert func not in WAITS, f"{func} waits for the device"
        tensors = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        away = [tensor for tensor in tensors if isinstance(tensor, Elsewhere)]
        strangers = [tensor for tensor in tensors if not isinstance(tensor, Elsewhere) and tensor.ndim]
        assert not (away and strangers), f"{func} mixes devices"
        wanted = kwargs.get("device")
        if wanted is not None:
            assert torch.device(wanted).type == "meta" or not away, f"{func} leaves the device"
            kwargs["device"] = "cpu"
        result = func(*tree_map(_opened, args), **tree_map(_opened, kwargs))
        here = not away and (wanted is None or torch.device(wanted).type == "cpu")
        return result if here else tree_map(_wrapped, result)


def _opened(leaf):
    return leaf.inner if isinstance(leaf, Elsewhere) else leaf


def _wrapped(leaf):
    return Elsewhere(leaf) if isinstance(leaf, torch.Tensor) else leaf


def both(logits, target, mask=None, **options):
    """(value, gradient) on the CPU and elsewhere."""
    here = logits.clone().requires_grad_()
    value = set_loss(here, target, mask=mask, **options)
    value.sum().backward()
    with Machine():
        away = Elsewhere(logits.clone()).requires_grad_()
        other = set_loss(away, Elsewhere(target), mask=None if mask is None else Elsewhere(mask), **options)
        assert other.device.type == "meta"
        other.sum().backward()
    return (value.detach(), here.grad), (other.inner, away.grad.inner)


@pytest.mark.parametrize(
    ("loss", "operator"),
    [(Dice(), "bd"), (Dice(), "bd-monotone"), (Dice(), "hinge"), (Jaccard(), "lovasz")],
    ids=str,
)
@pytest.mark.parametrize("over", ["image", "class"])
def test_nothing_leaves_the_device_and_the_numbers_are_the_same(loss, operator, over):
    logits, target = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randint(0, 3, (2, 4, 5))
    target[0, 0] = 255
    options = {"loss": loss, "operator": operator, "mode": "multiclass", "over": over}
    for extra in ({"reduction": "none"}, {"absent": "skip"}):
        options |= extra
        here, away = both(logits, target, torch.rand(2, 4, 5) < 0.8, ignore_index=255, **options)
        torch.testing.assert_close(away, here, rtol=1e-12, atol=1e-12)
