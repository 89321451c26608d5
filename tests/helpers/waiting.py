"""Waiting for something to happen: the limit is for what never does, and no test judges by it."""

import time

PATIENCE = 900.0
"""Seconds after which something is taken to hang, however busy the machine is."""


def until(condition):
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{condition} did not happen within {PATIENCE:g} seconds"
        time.sleep(0.05)
