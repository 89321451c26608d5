"""Nothing here is collected where PyTorch is not installed; every test draws the same numbers every time."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["*"]


@pytest.fixture(autouse=True)
def _same_numbers():
    import torch

    torch.manual_seed(0)
