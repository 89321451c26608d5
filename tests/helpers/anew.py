"""``ended("helpers.anew", code)`` of `helpers.forked`: code that imports setloss anew, with numba in memory.

That is what a new interpreter does, in a third of its time: for tests of kernels that are compiled, and kept on disk.
"""

import os
import sys

from numba.core import config

if __name__ == "__main__":
    for _name in [name for name in sys.modules if name.partition(".")[0] == "setloss"]:
        del sys.modules[_name]
    sys.path[:0] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    config.reload_config()  # where kernels are kept
    exec(compile(sys.argv[1], "<code>", "exec"), {})
