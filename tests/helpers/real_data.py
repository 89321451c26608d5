"""The folder of real data, from SETLOSS_DATA or beside the repository; tests that need it are skipped without it."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("SETLOSS_DATA") or Path(__file__).parents[3] / "shared" / "data")


def folder(name):
    if not (FOLDER / name).is_dir():
        pytest.skip(f"no folder {name} in SETLOSS_DATA or ../shared/data")
    return FOLDER / name
