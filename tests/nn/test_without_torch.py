"""PyTorch is an extra: the core never imports it, and `setloss.nn` says how to get it."""

import pytest

from helpers.children import python

IMPORTS = """
import sys
import setloss, setloss.plans.batch, setloss.plans.kernels, setloss.solvers, setloss.cli
from setloss.estimators import *
print('torch' in sys.modules)
sys.modules['torch'] = None
import setloss.nn
"""


@pytest.fixture(scope="module")
def child():
    """A process that has imported everything else, and fails at `setloss.nn`."""
    return python(IMPORTS)


def test_without_torch_the_message_says_how_to_install_it(child):
    assert child.returncode == 1
    message = "ImportError: setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'"
    assert child.stderr.strip().splitlines()[-1] == message


def test_the_rest_of_the_package_never_imports_torch(child):
    assert child.stdout.strip() == "False"
