"""Nothing here is collected where PyTorch is not installed; every test draws the same numbers every time."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*"]


@pytest.fixture(autouse=True)
def _same_numbers():
    import torch

    # Of this machine alone: torch.manual_seed also notes where it was called from, once for every kind of device.
    torch.default_generator.manual_seed(0)
