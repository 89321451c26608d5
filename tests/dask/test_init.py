"""Dask is an extra that `setloss.dask` asks for and the rest never imports."""

from helpers.children import python


def test_without_dask_the_message_says_how_to_install_it():
    code = "import sys; sys.modules['dask'] = None; from setloss.estimators import *; import setloss.dask"
    result = python(code)
    assert result.returncode == 1
    message = "ImportError: setloss.dask needs Dask; install it with: pip install 'setloss[dask]'"
    assert result.stderr.strip().splitlines()[-1] == message
