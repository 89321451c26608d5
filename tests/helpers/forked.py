"""``python -m MODULE WORDS``, forked from a process that has all in memory: for tests of what a program does.

A new interpreter needs three seconds to import and to load what a fork has. But a fork ends without the clean-up of
an interpreter: tests of imports, and of streams that are closed or broken, start a new one (`helpers.children`).
"""

import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from helpers.children import ENVIRONMENT, PATIENCE


@cache
def fork_server():
    """Where processes are forked from, started by the first that asks; and then workers of a `LocalCluster`, too."""
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["helpers.preloaded"])
    with patch.dict(os.environ, PYTHONPATH=ENVIRONMENT["PYTHONPATH"]):
        forkserver.ensure_running()
    return context


def ended(module, *words, **environment):
    """How a process ended, what it printed, and what it complained about; it hears Ctrl-C, and has an end."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = (Path(folder, name) for name in ("out", "err"))
        options = (module, [*map(str, words)], Path.cwd(), os.environ | environment, (out, err))
        process = fork_server().Process(target=_run, args=options)
        process.start()
        process.join(PATIENCE)
        process.kill()
        return process.exitcode, out.read_text(), err.read_text()


def _run(module, words, folder, environment, streams):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
