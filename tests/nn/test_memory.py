"""What a training step on half a megapixel takes, in a process of its own: extra memory, and imports."""

import json
from pathlib import Path

import pytest

from helpers.children import printed

MEASURE = """
import json, sys
import torch
from setloss.nn import SetLoss

def status(name):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":"))

def step(loss, logits, target, mask):
    leaf = logits.requires_grad_()
    loss(leaf, target, mask=mask).backward()
    leaf.grad = None

def peak(loss, target, mask):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts anew from here
    before = status("VmRSS")
    step(loss, logits, target, mask)
    return (status("VmHWM") - before) / (logits.numel() * logits.element_size())

shape, found = (2, 512, 512), {}
logits = torch.randn(shape)
truth = torch.rand(shape) < 0.3
for name, operator in (("jaccard", "lovasz"), ("dice", "bd"), ("dice", "slack"), ("dice", "bd-monotone")):
    loss = SetLoss(name, operator)
    for mask in (None, torch.rand(shape) < 0.9):
        small = None if mask is None else mask[:, :8]
        step(loss, logits[:, :8].clone(), truth[:, :8], small)  # compiled before it is measured
        for label, target in (("bool", truth), ("int64", truth.to(torch.int64))):
            found[f"{name} {operator} {label}{'' if mask is None else ' masked'}"] = peak(loss, target, mask)
print(json.dumps({"peaks": found, "compiler": "torch._dynamo" in sys.modules}))
"""


@pytest.fixture(scope="module")
def measured():
    """What a process of its own finds."""
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("reads the peak from Linux's /proc")
    # Large blocks go back to the system at once; otherwise the heap of one step would serve the next unseen.
    return json.loads(printed(MEASURE, MALLOC_MMAP_THRESHOLD_="65536", OMP_NUM_THREADS="2"))


def test_a_step_takes_at_most_eight_times_the_logits(measured):
    found = measured["peaks"]
    assert len(found) == 16
    assert max(found.values()) <= 8, found
    # The gradient alone is as large as the logits: less would mean that nothing was measured.
    assert min(found.values()) >= 1, found


def test_training_does_not_import_the_compiler_of_torch(measured):
    """It would take longer than all of setloss."""
    assert not measured["compiler"]
