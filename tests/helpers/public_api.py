"""The public names of setloss with their signatures, one a line.

``PYTHONPATH=tests python -m helpers.public_api`` writes them to tests/api/names.txt after a change that is meant.
With ``--release`` it also writes tests/api/released.txt, which the changelog of the next version is compared with.
"""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import setloss

FOLDER = Path(__file__).parents[1] / "api"
NAMES, RELEASED = FOLDER / "names.txt", FOLDER / "released.txt"
PRIVATE = ("cli",)
"""Packages whose names are not promised: commands are, by their options."""


def modules():
    """The modules whose `__all__` is public: setloss, and what lies directly in it."""
    names = [module.name for module in pkgutil.iter_modules(setloss.__path__) if module.name not in PRIVATE]
    found = [setloss, *(importlib.import_module(f"setloss.{name}") for name in names)]
    return [module for module in found if hasattr(module, "__all__")]


def listing():
    """A line for every public name, and for every public method and property of a class."""
    return sorted({line for module in modules() for name in module.__all__ for line in _lines(module, name)})


def _lines(module, name):
    value, full = getattr(module, name), f"{module.__name__}.{name}"
    yield full + _signature(value)
    if inspect.isclass(value):
        for member, found in _members(value).items():
            if not member.startswith("_") and (callable(found) or isinstance(found, property | classmethod)):
                yield f"{full}.{member}{_signature(found)}"


def _members(kind):
    """What a class defines, and the methods that it inherits from classes of ours that are not public themselves."""
    hidden = [base for base in kind.__mro__[:0:-1] if base.__module__.startswith("setloss") and not _is_public(base)]
    methods = {name: found for base in hidden for name, found in vars(base).items() if inspect.isfunction(found)}
    return methods | vars(kind)


def _is_public(kind):
    return any(kind.__name__ in module.__all__ for module in modules())


def _signature(value):
    """The parameters with their defaults, without types, of what is written in Python and ours."""
    value = getattr(value, "__func__", value)
    constructor = vars(value).get("__init__") if inspect.isclass(value) else value
    if not inspect.isfunction(constructor):
        return ""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def name_of(line):
    """The dotted name at the start of a line."""
    return line.partition("(")[0]


def changed(before, now):
    """The names of which a line has come, gone or changed."""
    return sorted({name_of(line) for line in set(before) ^ set(now)})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    text = "\n".join(listing()) + "\n"
    for file in (NAMES, RELEASED) if "--release" in sys.argv else (NAMES,):
        file.write_text(text, encoding="utf-8")
