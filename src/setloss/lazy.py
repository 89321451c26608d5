"""Names of a package that are imported when they are first asked for, with the dependencies that they need."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any


def imported_name(package: str, homes: Mapping[str, str], name: str) -> Any:
    """What ``package.name`` is, for the `__getattr__` of a package whose names live in the modules `homes`."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    found = getattr(import_module(homes[name], package), name)
    setattr(sys.modules[package], name, found)
    return found
