"""What Dask and its workers need: an extra that `setloss.dask` asks for and the rest never imports; no estimators."""

from helpers.children import printed, python


def test_without_dask_the_message_says_how_to_install_it():
    code = "import sys; sys.modules['dask'] = None; from setloss.estimators import *; import setloss.dask"
    result = python(code)
    assert result.returncode == 1
    message = "ImportError: setloss.dask needs Dask; install it with: pip install 'setloss[dask]'"
    assert result.stderr.strip().splitlines()[-1] == message


def test_the_tasks_of_a_worker_need_no_scikit_learn():
    code = "import sys, setloss.dask.tasks; print({'sklearn', 'pandas'} & set(sys.modules))"
    assert printed(code) == "set()"
