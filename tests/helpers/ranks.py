"""What two processes with gloo do in `tests/nn/test_distributed.py`; they fork from one that has imported PyTorch."""

import os
import sys
from pathlib import Path

import torch
import torch._dynamo  # DistributedDataParallel would import it in both processes
import torch.multiprocessing
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from setloss.nn import SetLoss

FEATURES, LABELS = 4, 5
SIZES = {"even": (3, 3), "uneven": (2, 5), "one empty": (0, 4)}
LOSSES = {
    "bd": SetLoss("dice", "bd", over="batch", sync=True),
    "slack": SetLoss("dice", "slack", over="batch", sync=True),
    "lovasz": SetLoss("jaccard", "lovasz", over="batch", sync=True),
    "curve": SetLoss("curve1", "bd", over="batch", sync=True),
    "default": SetLoss(over="batch", sync=True),
    "default, ignoring": SetLoss(over="batch", sync=True, ignore_index=255),
    "ignoring": SetLoss("dice", "bd", over="batch", sync=True, ignore_index=255),
    "per label": SetLoss("dice", "bd", mode="multilabel", over="class", sync=True, reduction="none"),
    "present labels": SetLoss("dice", "bd", mode="multilabel", over="class", sync=True, absent="skip"),
}


def data(sizes):
    """Inputs and targets of all processes, one after the other."""
    generator = torch.Generator().manual_seed(51)
    inputs = torch.randn(sum(sizes), FEATURES, generator=generator, dtype=torch.float64)
    target = (torch.rand(sum(sizes), LABELS, generator=generator) < 0.4).to(torch.int64)
    target[:, 2] = 0
    return inputs, target


def ignoring(name, target):
    if name.endswith("ignoring"):
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


def work(rank, folder):
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
    found["sent"] = torch.load(folder / "module.pt", weights_only=False)(scores, scores > 0.3)
    torch.save(found, folder / f"{rank}.pt")
    dist.barrier()
    # Torch waits for ever at times when it takes a group apart: a thread that is joined needs Python to end.
    os._exit(0)


if __name__ == "__main__":
    scores = torch.linspace(-1, 1, 4)
    SetLoss("dice", "bd")(scores, scores > 0)  # imports numba and loads the kernel, before both need it
    torch.multiprocessing.start_processes(work, args=(Path(sys.argv[1]),), nprocs=2, start_method="fork")
