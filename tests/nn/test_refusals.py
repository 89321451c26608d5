"""What is refused, and the words it is refused with."""

import re

import numpy as np
import pytest
import torch

from setloss import Dice, FBeta, SetFunction, from_counts, from_set_function
from setloss.decomposition import DecompositionError
from setloss.nn import SetLoss, set_loss
from setloss.setfunctions.counts import TableTooLargeError


def scores(*shape):
    return torch.zeros(shape)


def labels(*shape):
    return torch.zeros(shape, dtype=torch.int64)


def flags(*shape):
    return torch.zeros(shape, dtype=torch.bool)


def refused(error, message):
    """The whole message, to the letter."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


# ---------------------------------------------------------------- shapes and dtypes

BINARY = (
    "binary logits and targets have one shape, (N, ...) or (N, 1, ...); got {} and {}. "
    + "For several channels, set mode."
)
MULTILABEL = "multilabel logits and targets have one shape (N, C, ...); got {} and {}"
MULTICLASS = "multiclass logits are (N, C, ...) and targets class ids (N, ...) or one-hot (N, C, ...); got {} and {}"


@pytest.mark.parametrize(
    ("mode", "logits", "target", "message"),
    [
        ("binary", (3, 4), (3, 5), BINARY),
        ("binary", (3, 4), (4, 3), BINARY),
        ("binary", (3, 2, 4), (3, 4), BINARY),
        ("binary", (3,), (2,), BINARY),
        ("multilabel", (3, 4), (3,), MULTILABEL),
        ("multilabel", (3,), (3,), MULTILABEL),
        ("multilabel", (3, 1, 4), (3, 4), MULTILABEL),
        ("multiclass", (3, 4), (3, 5), MULTICLASS),
        ("multiclass", (3,), (3,), MULTICLASS),
        ("multiclass", (3, 4, 5, 5), (3, 5), MULTICLASS),
        ("multiclass", (3, 4, 5, 6), (3, 6, 5), MULTICLASS),
    ],
)
def test_shapes_that_do_not_fit(mode, logits, target, message):
    with refused(ValueError, message.format(logits, target)):
        set_loss(scores(*logits), labels(*target), mode=mode)


def test_a_single_number_is_no_batch():
    with refused(ValueError, "logits have the batch as their first dimension; got a single number"):
        set_loss(torch.tensor(1.0), torch.tensor(1))


@pytest.mark.parametrize(
    ("logits", "target", "message"),
    [
        ([1.0], labels(1), "logits must be a tensor; got list"),
        (scores(1), np.zeros(1), "target must be a tensor; got ndarray"),
        (labels(2, 3), labels(2, 3), "logits are real scores; got torch.int64"),
        (flags(2, 3), labels(2, 3), "logits are real scores; got torch.bool"),
        (scores(2, 3).to(torch.complex64), labels(2, 3), "logits are real scores; got torch.complex64"),
    ],
)
def test_logits_and_targets_are_tensors_and_logits_are_real(logits, target, message):
    with refused(TypeError, message):
        set_loss(logits, target)


def test_tensors_on_different_devices():
    with refused(ValueError, "logits are on cpu, the target is on meta"):
        set_loss(scores(2, 3), labels(2, 3).to("meta"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bool], ids=str)
def test_class_ids_are_integers(dtype):
    with refused(TypeError, f"multiclass targets are class ids of an integer dtype, or one-hot; got {dtype}"):
        set_loss(scores(2, 3, 4), labels(2, 4).to(dtype), mode="multiclass")


# ---------------------------------------------------------------- labels

REMEDY = "Name a value that stands for 'no label' with ignore_index, or leave elements out with mask."


@pytest.mark.parametrize("value", [-1, 2, 255])
@pytest.mark.parametrize("mode", ["binary", "multilabel"])
def test_labels_are_zero_and_one(mode, value):
    target = labels(2, 3)
    target[1, 2] = value
    of_images = "If 255 is the foreground of an image file, give target > 0. " * (value == 255)
    with refused(ValueError, f"targets are 0 and 1; the one at (1, 2) is {value}. {of_images}{REMEDY}"):
        set_loss(scores(2, 3), target, mode=mode)


SOFT = (
    "Soft labels need a loss that knows weights of elements: the Lovász hinge of Jaccard, "
    'SetLoss("jaccard", "lovasz"), takes them; other losses count elements.'
)


@pytest.mark.parametrize("value", [0.5, 1e-3, -1.0, float("nan")])
def test_soft_labels_are_refused_where_elements_are_counted(value):
    target = scores(2, 3)
    target[0, 1] = value
    hint = SOFT if 0 < value < 1 else REMEDY
    with refused(ValueError, f"targets are 0 and 1; the one at (0, 1) is {target[0, 1].item()}. {hint}"):
        set_loss(scores(2, 3), target, loss="dice", operator="bd")


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_soft_labels_lie_between_0_and_1(value):
    target = scores(2, 3)
    target[0, 1] = value
    with refused(ValueError, f"targets are labels in [0, 1]; the one at (0, 1) is {target[0, 1].item()}. {REMEDY}"):
        set_loss(scores(2, 3), target, operator="lovasz")


@pytest.mark.parametrize("value", [-1, 3, 255])
def test_class_ids_lie_in_range(value):
    target = labels(2, 4, 5)
    target[1, 3, 2] = value
    with refused(ValueError, f"targets are class ids from 0 to 2; the one at (1, 3, 2) is {value}. {REMEDY}"):
        set_loss(scores(2, 3, 4, 5), target, mode="multiclass")


def test_another_ignored_value_does_not_excuse_a_wrong_one():
    target = labels(2, 3)
    target[0, 0], target[1, 1] = 255, -1
    with pytest.raises(ValueError, match=re.escape("the one at (1, 1) is -1")):
        set_loss(scores(2, 3), target, ignore_index=255)


def test_wrong_labels_that_are_masked_do_not_matter():
    target, mask = labels(2, 3), torch.ones(2, 3, dtype=torch.bool)
    target[0, 0], mask[0, 0] = -7, False
    assert torch.isfinite(set_loss(scores(2, 3), target, mask=mask))


@pytest.mark.parametrize("ignored", ["255", 1.5, (0, 255)])
def test_ignore_index_is_an_integer(ignored):
    with refused(TypeError, f"ignore_index is an integer or None; got {ignored!r}"):
        set_loss(scores(2, 3), labels(2, 3), ignore_index=ignored)


# ---------------------------------------------------------------- masks and weights


@pytest.mark.parametrize(
    ("mask", "found"), [(labels(2, 3), "torch.int64"), (scores(2, 3), "torch.float32"), ([[True]], "list")]
)
def test_a_mask_is_bool(mask, found):
    with refused(TypeError, f"the mask is a bool tensor, True for elements that count; got {found}"):
        set_loss(scores(2, 3), labels(2, 3), mask=mask)


@pytest.mark.parametrize("shape", [(2, 4), (3, 2), (5, 2, 3), (2, 2, 3), (2,)])
def test_a_mask_fits_the_target(shape):
    with refused(ValueError, f"a mask of shape {shape} does not fit a target (2, 3)"):
        set_loss(scores(2, 3), labels(2, 3), mask=flags(*shape))


@pytest.mark.parametrize(
    ("mode", "over", "wanted", "shape"),
    [
        ("binary", "image", (2,), (3,)),
        ("binary", "image", (2,), ()),
        ("binary", "batch", (1,), (2,)),
        ("multilabel", "class", (3,), (2, 3)),
        ("multiclass", "image", (2, 3), (3,)),
        ("multiclass", "batch", (3,), (2, 3)),
    ],
)
def test_one_weight_per_set(mode, over, wanted, shape):
    target = labels(2, 4) if mode == "multiclass" else labels(2, 3, 4)
    message = f"one weight per set: expected shape {wanted}, as reduction='none' returns; got {shape}"
    with refused(ValueError, message):
        set_loss(scores(2, 3, 4), target, mode=mode, over=over, weight=scores(*shape))


def test_weights_are_a_tensor():
    with refused(TypeError, "weight must be a tensor; got list"):
        set_loss(scores(2, 3), labels(2, 3), weight=[1.0, 2.0])


# ---------------------------------------------------------------- choices


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("mode", "multi", "mode is one of 'binary', 'multilabel', 'multiclass'; got 'multi'"),
        ("over", "pixel", "over is one of 'image', 'batch', 'class', 'groups'; got 'pixel'"),
        ("absent", "drop", "absent is one of 'keep', 'skip'; got 'drop'"),
        ("reduction", "average", "reduction is one of 'mean', 'sum', 'none'; got 'average'"),
        ("reduction", None, "reduction is one of 'mean', 'sum', 'none'; got None"),
        (
            "operator",
            "best",
            "there is no operator 'best'; the names are bd, bd-monotone, slack, margin, lovasz, hinge",
        ),
        (
            "loss",
            "lou",
            "there is no loss 'lou'; the names are dice, f1, jaccard, iou, hamming, curve1, curve2, curve3, curve4. "
            "Others are objects, as FBeta(2.0) or CostCurve(...), or a callable of true and predicted labels.",
        ),
        ("scale", 0, 'the scale c must be a positive number or "mean"; got 0'),
        ("scale", -1.0, 'the scale c must be a positive number or "mean"; got -1.0'),
        ("scale", float("inf"), 'the scale c must be a positive number or "mean"; got inf'),
        ("scale", float("nan"), 'the scale c must be a positive number or "mean"; got nan'),
        ("scale", "2", "the scale c must be a positive number or \"mean\"; got '2'"),
    ],
)
def test_choices_are_checked_when_the_module_is_made_and_when_the_function_is_called(option, value, message):
    with refused(ValueError, message):
        SetLoss(**{option: value})
    with refused(ValueError, message):
        set_loss(scores(2, 3), labels(2, 3), **{option: value})


def test_a_loss_is_a_name_or_a_loss():
    for wrong in (torch.nn.BCELoss(), 3, Dice):
        with pytest.raises(TypeError, match="loss is a name, a Loss such as Dice"):
            SetLoss(wrong)


@pytest.mark.parametrize("loss", ["dice", Dice(), FBeta(0.5)], ids=str)
def test_the_lovasz_hinge_of_what_is_not_submodular(loss):
    name = "Dice(zero_division=1.0)" if loss == "dice" else str(loss)
    message = (
        f"the Lovász hinge needs a submodular loss, and {name} is not one (its false negatives weigh less than "
        'true positives). Use operator="bd", or the Jaccard loss.'
    )
    with refused(ValueError, message):
        SetLoss(loss, "lovasz")


def test_a_cost_curve_that_is_not_submodular_is_refused_with_a_witness():
    with pytest.raises(
        ValueError, match=r"LovaszHinge needs a submodular function; this one is not: adding .* gains"
    ):
        set_loss(scores(2, 12), labels(2, 12), loss="curve1", operator="lovasz")


def test_a_loss_that_is_not_zero_without_mistakes():
    message = (
        "Dice(zero_division=0.0) costs 1 on a set without positives that is predicted right; a set function needs "
        "l(empty) = 0. Train with zero_division=1, and keep the other value for scores."
    )
    with refused(ValueError, message):
        SetLoss(Dice(zero_division=0.0))


# ---------------------------------------------------------------- several processes


def test_sync_is_for_sets_that_span_processes():
    message = "sets over an image lie in one process; sync is for over='batch' and over='class'"
    with refused(ValueError, message):
        SetLoss(sync=True)


def test_sync_needs_a_process_group():
    message = "sync=True needs torch.distributed; call torch.distributed.init_process_group() first"
    with refused(RuntimeError, message):
        SetLoss(over="batch", sync=True)(scores(2, 3), labels(2, 3))


# ---------------------------------------------------------------- too large, or of another size


def test_a_table_that_is_too_large_names_what_has_none():
    loss = from_counts(lambda n, q, m, r: n * q / (1 + n + q))
    with pytest.raises(
        TableTooLargeError,
        match=r"^CallableLoss has no closed form for operator='slack', and a set of 10000 elements is too large "
        r"without one\. Dice, Jaccard, Tversky with beta >= 1/2, Hamming and cost curves work at any size; else make "
        r"the sets smaller\.",
    ):
        set_loss(scores(1, 10_000), (torch.arange(10_000) % 2)[None], loss=loss, operator="slack")


def test_a_decomposition_that_is_too_large_names_what_has_none():
    message = r"FBeta has no closed form for operator='bd', and a set of 400 elements .* make the sets smaller"
    with pytest.raises(DecompositionError, match=message):
        set_loss(scores(1, 400), (torch.arange(400) % 2)[None], loss=FBeta(0.5), operator="bd")


def test_a_set_function_is_for_sets_of_its_own_size():
    loss = from_set_function(SetFunction.symmetric([0, 1, 1, 2]))
    with refused(ValueError, "this loss is for sets of 3 elements; got one of 4"):
        set_loss(scores(2, 4), labels(2, 4), loss=loss)
    with refused(ValueError, "this loss is for sets of 3 elements; got one of 2"):
        set_loss(scores(1, 3), labels(1, 3), loss=loss, mask=torch.tensor([[True, True, False]]))


@pytest.mark.parametrize("loss", ["curve3", "curve4", FBeta(0.5)])
def test_a_loss_whose_submodular_part_is_negative_is_refused_before_training(loss):
    with pytest.raises(ValueError, match="use the operator without the closure, bd, or slack"):
        SetLoss(loss)


def test_the_lovasz_hinge_of_a_curve_that_is_not_submodular_is_refused_before_training():
    with pytest.raises(ValueError, match="LovaszHinge needs a submodular function"):
        SetLoss("curve1", "lovasz")


# ---------------------------------------------------------------- other ways of calling


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_scripts_are_refused_with_what_to_use_instead():
    message = (
        "torch.jit.script cannot read SetLoss, which runs compiled kernels behind an operator of its own; use "
        "torch.compile, or script the network and leave the loss outside"
    )
    with refused(RuntimeError, message):
        torch.jit.script(SetLoss())
    with refused(RuntimeError, message):
        torch.jit.script(torch.nn.Sequential(SetLoss("dice", "bd")))
