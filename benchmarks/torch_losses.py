"""Losses in PyTorch at pixel scale: forward + backward against one `torch.sort` of the same logits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from math import prod
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from benchmarks.measure import Row, side_by_side
from setloss.nn import SetLoss
from setloss.nn.cuts import compute

SHAPES = ((8, 256, 256), (2, 1024, 1024))
HIGH_WATER = Path("/proc/self/clear_refs")
LOSSES = (("jaccard", "lovasz", 1.3), ("dice", "bd", 1.3), ("dice", "slack", 1.6))


def images(shape: tuple[int, ...], active: float = 1.0) -> tuple[Tensor, Tensor]:
    """Logits and masks with three pixels in ten inside; only the share `active` has a margin below 1."""
    generator = torch.Generator().manual_seed(0)
    target = torch.rand(shape, generator=generator) < 0.3
    margins = torch.randn(shape, generator=generator).clamp(max=0.999)
    settled = torch.rand(shape, generator=generator) >= active
    margins = torch.where(settled, 1 + torch.rand(shape, generator=generator), margins)
    return torch.where(target, margins, -margins).requires_grad_(), target


def training_step(loss: Callable[[Tensor, Tensor], Tensor], logits: Tensor, target: Tensor) -> Callable[[], None]:
    def step() -> None:
        logits.grad = None
        loss(logits, target).backward()

    return step


def lovasz_image_by_image(logits: Tensor, target: Tensor) -> Tensor:
    """The Lovász hinge of the Jaccard loss as it is usually written: a loop, a sort and a difference per image."""
    losses = []
    for scores, truth in zip(logits.flatten(1), target.flatten(1).float(), strict=True):
        errors, order = torch.sort(1 - scores * (2 * truth - 1), descending=True)
        ranked = truth[order]
        union = ranked.sum() + (1 - ranked).cumsum(0)
        jaccard = 1 - (ranked.sum() - ranked.cumsum(0)) / union
        gains = torch.cat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
        losses.append(torch.relu(errors) @ gains)
    return torch.stack(losses).mean()


def peak_bytes(loss: str, operator: str, threads: int) -> int:
    """How far one step on the larger shape raises the kernel's high-water mark of resident memory."""
    torch.set_num_threads(threads)
    training_step(SetLoss(loss, operator), *images((2, 16, 16)))()  # kernels of more than 160 elements, too
    logits, target = images(SHAPES[1])
    step = training_step(SetLoss(loss, operator), logits, target)
    HIGH_WATER.write_text("5")
    before = _kilobytes("VmRSS")
    step()
    return 1024 * (_kilobytes("VmHWM") - before)


def _kilobytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def rows(quick: bool) -> Iterator[Row]:
    usual = torch.get_num_threads()
    repeats = 5 if quick else 15
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for shape in SHAPES:
                yield from shape_rows(shape, threads, repeats)
        torch.set_num_threads(2)
        logits, target = images(SHAPES[0])
        ours, reference = side_by_side(
            training_step(SetLoss("jaccard", "lovasz"), logits, target),
            training_step(lovasz_image_by_image, logits, target),
            repeats,
        )
        yield Row("L Jaccard 8x256x256, 2 threads: times faster than a loop", ours, reference, 1.5, at_least=True)
        yield from layout_rows(repeats)
        yield from memory_rows()
    finally:
        torch.set_num_threads(usual)


def shape_rows(shape: tuple[int, ...], threads: int, repeats: int) -> Iterator[Row]:
    logits, target = images(shape)
    values = logits.detach().flatten(1)
    name = f"{'x'.join(map(str, shape))}, {threads} thread{'s' * (threads > 1)}"
    for loss, operator, limit in LOSSES:
        step = training_step(SetLoss(loss, operator), logits, target)
        ours, reference = side_by_side(step, lambda: torch.sort(values, dim=1, descending=True), repeats)
        yield Row(f"{operator} {loss} {name} / torch.sort", ours, reference, limit)
    step = training_step(SetLoss("jaccard", "lovasz"), *images(shape, active=0.16))
    ours, reference = side_by_side(step, lambda: torch.sort(values, dim=1, descending=True), repeats)
    yield Row(f"lovasz jaccard {name}, 16 % active / sort", ours, reference, 0.4)


def layout_rows(repeats: int) -> Iterator[Row]:
    """Classes by margins, label sets, and the recommended loss; one thread."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(4, 11, 128, 128, generator=generator).requires_grad_()
    target = torch.randint(0, 11, (4, 128, 128), generator=generator)
    steps = {
        margins: training_step(SetLoss("jaccard", "lovasz", mode="multiclass", margins=margins), logits, target)
        for margins in ("logits", "probabilities")
    }
    ours, reference = side_by_side(steps["probabilities"], steps["logits"], repeats)
    yield Row("lovasz jaccard 4x11x128x128, probabilities / logits", ours, reference, 1.5)
    yield from small_rows(40 * repeats)
    yield from peer_rows(repeats)


def small_rows(repeats: int) -> Iterator[Row]:
    """A batch of 256 label sets of 20, where calls cost more than arithmetic.

    Training never sees the same scores twice, so new scores are the row that counts. These calls alone, of a module
    and of an `autograd.Function` with its checks, are two sorts of new scores: its target is four. A sort of the same
    scores again and again takes a third of the time, since the processor remembers which way each comparison went;
    ours makes no branches and gains nothing by that, so with the same scores the target is five.
    """
    fresh = _fresh_scores((256, 20), 300)
    logits, target = images((256, 20))
    values, loss = logits.detach(), SetLoss("jaccard", "lovasz", mode="multilabel")

    def sort() -> None:
        torch.sort(values, dim=1, descending=True)

    def sort_and_back() -> None:
        logits.grad = None
        torch.sort(logits, dim=1, descending=True).values.sum().backward()

    step = training_step(loss, logits, target)
    name = "lovasz jaccard 256x20, 1 thread"
    pairs = {
        f"{name}, new scores / torch.sort": (
            lambda: training_step(loss, next(fresh), target)(), lambda: torch.sort(next(fresh), 1, descending=True), 4
        ),
        f"{name}, the same scores / torch.sort": (step, sort, None),
        f"{name}, the same scores / sort and its backward": (step, sort_and_back, 5),
        f"{name}, values and gradients alone / torch.sort": (
            lambda: compute(values, target, None, loss.plan), sort, None
        ),
        "a sum 256x20, forward and backward / torch.sort": (training_step(_total, logits, target), sort, None),
        "SetLoss() 256x20 / cross-entropy + soft Dice": (
            training_step(SetLoss(), logits, target), training_step(cross_entropy_and_soft_dice, logits, target), 4
        ),
    }  # fmt: skip
    for what, (ours, reference, limit) in pairs.items():
        yield Row(what, *side_by_side(ours, reference, repeats), limit)


def _fresh_scores(shape: tuple[int, ...], count: int) -> Iterator[Tensor]:
    """Scores that come again only after `count` others."""
    generator = torch.Generator().manual_seed(2)
    return cycle([torch.randn(shape, generator=generator).requires_grad_() for _ in range(count)])


def _total(logits: Tensor, target: Tensor) -> Tensor:
    return logits.sum()


def cross_entropy_and_soft_dice(logits: Tensor, target: Tensor) -> Tensor:
    """As it is usually written, one image a set."""
    scores, truth = logits.flatten(1), target.flatten(1).to(logits.dtype)
    p = scores.sigmoid()
    dice = 1 - 2 * (p * truth).sum(1) / (p + truth).sum(1)
    return binary_cross_entropy_with_logits(scores, truth) + dice.mean()


def peer_rows(repeats: int) -> Iterator[Row]:
    """What people train with on the same images, one thread; other libraries where they are installed."""
    logits, target = images((8, 1, 256, 256))
    peers: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"cross-entropy + soft Dice": cross_entropy_and_soft_dice}
    with suppress(ImportError):
        from segmentation_models_pytorch.losses import DiceLoss, LovaszLoss

        peers |= {"smp LovaszLoss": LovaszLoss("binary", per_image=True), "smp DiceLoss": DiceLoss("binary")}
    with suppress(ImportError):
        from monai.losses import DiceCELoss

        peers["MONAI DiceCELoss"] = DiceCELoss(sigmoid=True)
    for loss, name in ((SetLoss("jaccard", "lovasz"), "lovasz jaccard"), (SetLoss(), "SetLoss()")):
        for peer, theirs in peers.items():
            steps = training_step(loss, logits, target), training_step(theirs, logits, target.float())
            yield Row(f"{name} 8x256x256, 1 thread / {peer}", *side_by_side(*steps, repeats))


def memory_rows() -> Iterator[Row]:
    """Each in a process of its own: what an earlier step has freed would hide what this one takes."""
    if not HIGH_WATER.exists():
        return
    for loss, operator, _ in LOSSES:
        call = f"from benchmarks.torch_losses import peak_bytes; print(peak_bytes({loss!r}, {operator!r}, 2))"
        # With a fixed threshold every array is given back to the system when it is freed.
        settings = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}
        found = subprocess.run([sys.executable, "-c", call], env=settings, stdout=subprocess.PIPE, check=True)
        logits = 4 * prod(SHAPES[1])
        yield Row(f"{operator} {loss} 2x1024x1024, 2 threads: memory / logits", int(found.stdout), logits, 8)
