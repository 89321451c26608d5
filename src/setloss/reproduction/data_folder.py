"""Where real data are: in a folder that is given, or that the environment variable SETLOSS_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "SETLOSS_DATA"


def data_folder(given: Path | None) -> Path | None:
    """The folder of real data; None where none is named."""
    named = os.environ.get(VARIABLE)
    return given if given is not None else Path(named) if named else None
