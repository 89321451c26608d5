"""Single precision and tensor operations give the numbers of the compiled kernels in float64, at any size."""

import pytest
import torch

from helpers.torch_judge import CASES, CLOSED, ON_DEVICE, PATHS, assert_close, draw

CHECKED = [("host", *pair, torch.float32, 1e-6) for pair in CLOSED]
CHECKED += [("device", *pair, *how) for pair in ON_DEVICE for how in ((torch.float64, 1e-12), (torch.float32, 1e-6))]


@pytest.mark.parametrize(("path", "name", "operator", "dtype", "tolerance"), CHECKED)
def test_sets_of_thousands_of_elements(path, name, operator, dtype, tolerance):
    """Sizes where margins are sorted by radix, with few positives and with many, scores that are near and far."""
    for spread, share in ((0.3, 0.02), (0.01, 0.5), (2.0, 0.97)):
        scores, truth, valid = draw((4, 2500), seed=7, spread=spread, dtype=dtype, share=share)
        got = PATHS[path](CASES[name].loss, operator, scores, truth, valid, 2.0)
        expected = PATHS["host"](CASES[name].loss, operator, scores.double(), truth, valid, 2.0)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)
