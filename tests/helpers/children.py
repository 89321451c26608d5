"""Python processes that see this package and these helpers."""

import os
import subprocess
import sys

from helpers.waiting import PATIENCE

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def python(code, *arguments, **environment):
    """A process that has run some code: how it ended, what it printed, what it complained about."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def printed(code, *arguments, **environment):
    """What a process printed that ended well."""
    done = python(code, *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
