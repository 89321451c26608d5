"""PyTorch is an extra: the core never imports it, and `setloss.nn` says how to get it."""

from helpers.children import python

IMPORTS = """
import sys
import setloss, setloss.plans.batch, setloss.plans.kernels, setloss.solvers, setloss.cli
from setloss.estimators import *
print('torch' in sys.modules)
sys.modules['torch'] = None
import setloss.nn
"""


def test_the_rest_never_imports_torch_and_nn_says_how_to_install_it():
    child = python(IMPORTS)
    assert child.returncode == 1
    message = "ImportError: setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'"
    assert child.stderr.strip().splitlines()[-1] == message
    assert child.stdout.strip() == "False"
