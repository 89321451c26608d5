"""Two processes with gloo on one machine: sets of one process each, and sets that span both.

Both processes are started once; the tests compare what they report with one process that has all the data.
"""

import pytest
import torch
import torch.multiprocessing
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from setloss import CostCurve
from setloss.nn import SetLoss, set_loss

FEATURES, LABELS = 4, 5
SIZES = {"even": (3, 3), "uneven": (2, 5), "one empty": (0, 4)}
LOSSES = {
    "bd": SetLoss("dice", "bd", over="batch", sync=True),
    "slack": SetLoss("dice", "slack", over="batch", sync=True),
    "lovasz": SetLoss("jaccard", "lovasz", over="batch", sync=True),
    "curve": SetLoss("curve1", "bd", over="batch", sync=True),
    "ignoring": SetLoss("dice", "bd", over="batch", sync=True, ignore_index=255),
    "per label": SetLoss("dice", "bd", mode="multilabel", over="class", sync=True, reduction="none"),
    "present labels": SetLoss("dice", "bd", mode="multilabel", over="class", sync=True, absent="skip"),
}
CURVE = CostCurve([(0, 0), (0.37, 0.1), (1, 1)])
"""A loss no other test uses, so that its plan has another number in every process."""


def data(sizes):
    """Inputs and targets of all processes, one after the other."""
    generator = torch.Generator().manual_seed(51)
    inputs = torch.randn(sum(sizes), FEATURES, generator=generator, dtype=torch.float64)
    target = (torch.rand(sum(sizes), LABELS, generator=generator) < 0.4).to(torch.int64)
    target[:, 2] = 0
    return inputs, target


def ignoring(name, target):
    if name == "ignoring":
        target = target.clone()
        target[:2], target[:, 0] = 255, 255
    return target


def network():
    torch.manual_seed(52)
    return torch.nn.Linear(FEATURES, LABELS).double()


def step(net, loss, inputs, target):
    """The value, and the gradients of the parameters, after one call forward and backward."""
    net.zero_grad()
    value = loss(net(inputs), target)
    value.sum().backward()
    return value.detach(), [parameter.grad.clone() for parameter in net.parameters()]


def work(rank, folder, module):
    """What one of the two processes does."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    net, found = DistributedDataParallel(network()), {}
    for kind, sizes in SIZES.items():
        inputs, target = data(sizes)
        mine = slice(0, sizes[0]) if rank == 0 else slice(sizes[0], None)
        for name, loss in LOSSES.items():
            found[kind, name] = step(net, loss, inputs[mine], ignoring(name, target)[mine])
        found[kind, "images"] = step(net, SetLoss("dice", "bd"), inputs[mine], target[mine])
    scores = torch.linspace(-1, 1, 12, dtype=torch.float64).view(2, 6)
    found["sent"] = module(scores, scores > 0.3)
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gloo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        patch.setenv("OMP_NUM_THREADS", "1")
        torch.multiprocessing.spawn(work, args=(str(folder), SetLoss(CURVE, "bd")), nprocs=2)
    return [torch.load(folder / f"{rank}.pt") for rank in (0, 1)]


def alone(name, kind):
    """One process with all the data."""
    inputs, target = data(SIZES[kind])
    loss = LOSSES[name]
    options = {key: getattr(loss, key) for key in ("loss", "operator", "mode", "over", "absent", "reduction")}
    options["ignore_index"] = loss.ignore_index
    return step(network(), SetLoss(**options), inputs, ignoring(name, target))


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("kind", list(SIZES))
def test_sets_over_all_processes_are_those_of_one_process(reports, kind, name):
    value, gradients = alone(name, kind)
    for report in reports:
        got = report[kind, name]
        assert torch.equal(got[0], reports[0][kind, name][0])
        torch.testing.assert_close(got[0], value, rtol=1e-12, atol=1e-14)
        for parameter, expected in zip(got[1], gradients, strict=True):
            torch.testing.assert_close(parameter, expected, rtol=1e-12, atol=1e-14)
    assert sum(gradient.abs().sum() for gradient in gradients) > 0


def test_sets_over_images_need_nothing(reports):
    """The average of the gradients of equally large batches is the gradient of the mean over all images."""
    inputs, target = data(SIZES["even"])
    value, gradients = step(network(), SetLoss("dice", "bd"), inputs, target)
    torch.testing.assert_close(sum(report["even", "images"][0] for report in reports) / 2, value)
    for report in reports:
        for parameter, expected in zip(report["even", "images"][1], gradients, strict=True):
            torch.testing.assert_close(parameter, expected, rtol=1e-12, atol=1e-14)


def test_of_uneven_batches_the_average_of_the_gradients_is_taken(reports):
    inputs, target = data(SIZES["uneven"])
    first, second = (
        step(network(), SetLoss("dice", "bd"), inputs[part], target[part]) for part in (slice(0, 2), slice(2, None))
    )
    for report in reports:
        for got, one, other in zip(report["uneven", "images"][1], first[1], second[1], strict=True):
            torch.testing.assert_close(got, (one + other) / 2, rtol=1e-12, atol=1e-14)


def test_a_module_made_in_one_process_works_in_another(reports):
    """Plans are numbered in each process; a module carries the loss, not the number."""
    scores = torch.linspace(-1, 1, 12, dtype=torch.float64).view(2, 6)
    expected = set_loss(scores, scores > 0.3, loss=CURVE, operator="bd")
    assert all(torch.equal(report["sent"], expected) for report in reports)
