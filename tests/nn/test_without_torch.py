"""PyTorch is an extra: the core never imports it, and `setloss.nn` says how to get it."""

from helpers.children import printed, python


def test_without_torch_the_message_says_how_to_install_it():
    result = python("import sys; sys.modules['torch'] = None; import setloss.nn")
    assert result.returncode == 1
    message = "ImportError: setloss.nn needs PyTorch; install it with: pip install 'setloss[torch]'"
    assert result.stderr.strip().splitlines()[-1] == message


def test_the_rest_of_the_package_never_imports_torch():
    modules = "setloss, setloss.plans.batch, setloss.plans.kernels, setloss.solvers, setloss.cli"
    code = f"import sys; import {modules}; from setloss.estimators import *; print('torch' in sys.modules)"
    assert printed(code) == "False"
