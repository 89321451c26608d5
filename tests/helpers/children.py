"""Python processes that see this package and these helpers, and waiting for what they do."""

import os
import subprocess
import sys
import time

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
PATIENCE = 900.0
"""Seconds after which something is taken to hang, however busy the machine is; no test judges by it."""


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


def until(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{condition} did not happen within {PATIENCE:g} seconds"
        time.sleep(0.05)
