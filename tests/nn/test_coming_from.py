"""Other libraries on the page about PyTorch: snippets run and values are theirs, where the library is installed."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from setloss import Tversky
from setloss.nn import SetLoss

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"
SNIPPETS = re.findall(r"```python needs=(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
SOFT = {"margins": "probabilities", "soft_share": 1, "with_cross_entropy": 0}
CLASSES = {"mode": "multiclass", "over": "image", "absent": "skip"}
LOVASZ = {"mode": "multiclass", "margins": "probabilities", "over": "batch", "absent": "skip"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("library", "snippet"), SNIPPETS, ids=[name for name, _ in SNIPPETS])
def test_snippets_run(library, snippet, tmp_path, monkeypatch):
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(snippet, str(PAGE), "exec"), {"__name__": "snippet"})
    except ImportError as error:
        if str(error.name).startswith("setloss"):
            raise
        pytest.skip(f"{library} needs {error.name}, which is not installed")


def problem():
    generator = torch.Generator().manual_seed(0)
    masks = torch.randn(3, 1, 9, 9, generator=generator), torch.rand(3, 1, 9, 9, generator=generator) < 0.3
    return masks, (torch.randn(3, 4, 9, 9, generator=generator), torch.randint(0, 4, (3, 9, 9), generator=generator))


def assert_same(pairs, logits, target, of_theirs, less=0.0, **tolerance):
    for theirs, ours in pairs:
        torch.testing.assert_close(ours(logits, target) - less, theirs(logits, of_theirs), **tolerance)


SMOOTHED = {"rtol": 0, "atol": 1e-5}


def test_values_of_smp():
    losses = pytest.importorskip("segmentation_models_pytorch.losses", exc_type=ImportError)
    (masks, truth), (logits, labels) = problem()
    pairs = [
        (losses.LovaszLoss("binary", per_image=True), SetLoss("jaccard", "lovasz")),
        (losses.DiceLoss("binary"), SetLoss("dice", over="batch", **SOFT)),
        (losses.TverskyLoss("binary", alpha=0.3, beta=0.7), SetLoss(Tversky(0.3, 0.7), over="batch", **SOFT)),
    ]
    assert_same(pairs, masks, truth, truth.float())
    pairs = [
        (losses.LovaszLoss("multiclass"), SetLoss("jaccard", "lovasz", **LOVASZ)),
        (losses.DiceLoss("multiclass"), SetLoss("dice", mode="multiclass", **SOFT)),
        (losses.JaccardLoss("multiclass"), SetLoss("jaccard", mode="multiclass", **SOFT)),
    ]
    assert_same(pairs, logits, labels, labels)


def test_values_of_monai():
    losses = pytest.importorskip("monai.losses", exc_type=ImportError)
    (masks, truth), (logits, labels) = problem()
    assert_same([(losses.DiceLoss(sigmoid=True), SetLoss("dice", **SOFT))], masks, truth, truth.float(), **SMOOTHED)
    theirs = {"to_onehot_y": True, "softmax": True}
    pairs = [
        (losses.DiceLoss(**theirs), SetLoss("dice", **CLASSES, **SOFT)),
        (losses.DiceCELoss(**theirs), SetLoss("dice", **CLASSES, **SOFT | {"with_cross_entropy": 1})),
        (losses.DiceLoss(jaccard=True, **theirs), SetLoss("jaccard", **CLASSES, **SOFT)),
        (losses.TverskyLoss(alpha=0.3, beta=0.7, **theirs), SetLoss(Tversky(0.3, 0.7), **CLASSES, **SOFT)),
    ]
    assert_same(pairs, logits, labels, labels[:, None], **SMOOTHED)


def test_values_of_nnunet():
    compound = pytest.importorskip("nnunetv2.training.loss.compound_losses", exc_type=ImportError)
    logits, labels = problem()[1]
    theirs = compound.DC_and_CE_loss({"batch_dice": True, "do_bg": False, "smooth": 1e-5, "ddp": False}, {})
    ours = SetLoss("dice", mode="multiclass", include_background=False, soft_share=1, with_cross_entropy=1)
    assert_same([(theirs, ours)], logits, labels, labels[:, None], less=1, **SMOOTHED)
