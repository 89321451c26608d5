"""Dask is an extra: `setloss.dask` says how to get it, and the rest of the package never imports it."""

import subprocess
import sys


def test_without_dask_the_message_says_how_to_install_it():
    code = "import sys; sys.modules['dask'] = None; import setloss.estimators, setloss.dask"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    message = "ImportError: setloss.dask needs Dask; install it with: pip install 'setloss[dask]'"
    assert result.stderr.strip().splitlines()[-1] == message
