"""Decisions for label sets on tensors are those of the core."""

import numpy as np
import pytest
import torch

from setloss import decisions
from setloss.nn import decide


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("counts", [None, torch.tensor([0.0, 1.0, -0.5])])
def test_tensors_are_decided_as_arrays(dtype, counts):
    logits = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    found = decide(logits, "jaccard", counts=counts)
    array = logits.detach().double().numpy()
    expected = decisions.decide(array, "jaccard", counts=None if counts is None else counts.numpy())
    np.testing.assert_array_equal(found.sets, expected.sets)
    np.testing.assert_array_equal(found.expected_loss, expected.expected_loss)
    np.testing.assert_array_equal(found.sizes, expected.sizes)


def test_images_are_sent_elsewhere():
    with pytest.raises(ValueError, match="decide_pixels"):
        decide(torch.zeros(1, 1, 4, 4), "dice")
