"""The public names of setloss with their signatures, as the page ``docs/public-names.md`` lists them.

``PYTHONPATH=tests python -m helpers.public_api`` writes the page anew after a change that is meant.
"""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import setloss

PAGE = Path(__file__).parents[2] / "docs" / "public-names.md"
PRIVATE = ("cli",)
"""Packages whose names are not promised: commands are, by their options."""

HEAD = """# Public names

Everything that is promised, in one list: {classes} classes with {parameters} constructor parameters, and
{functions} functions. A name that several modules offer is listed once. Made by `PYTHONPATH=tests python -m
helpers.public_api`; a test compares it with the package.
"""


def modules():
    """The modules whose `__all__` is public: setloss, and what lies directly in it."""
    names = [module.name for module in pkgutil.iter_modules(setloss.__path__) if module.name not in PRIVATE]
    found = [setloss, *(importlib.import_module(f"setloss.{name}") for name in names)]
    return [module for module in found if hasattr(module, "__all__")]


def public_objects():
    """``{module: {name: object}}``; a class or function is listed where it is first offered."""
    seen, found = set(), {}
    for module in modules():
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if callable(value) and id(value) not in seen:
                seen.add(id(value))
                found.setdefault(module.__name__, {})[name] = value
    return found


def signature(value):
    """The parameters with their defaults, without types, of what is written in Python and ours."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def is_plain_class(value):
    """Classes with a constructor of ours; exceptions, warnings and protocols have none."""
    return (
        inspect.isclass(value) and not issubclass(value, BaseException) and not getattr(value, "_is_protocol", False)
    )


def constructor_parameters(value):
    """How many arguments the constructor of a class takes."""
    try:
        return len(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return 0


def page():
    """The page as text."""
    objects = public_objects()
    every = [value for names in objects.values() for value in names.values()]
    classes = [value for value in every if is_plain_class(value)]
    lines = [
        HEAD.format(
            classes=len(classes),
            parameters=sum(map(constructor_parameters, classes)),
            functions=sum(not inspect.isclass(value) for value in every),
        )
    ]
    for module, names in objects.items():
        lines.append(f"## `{module}`\n")
        for name, value in names.items():
            shown = name + (signature(value) if is_plain_class(value) or not inspect.isclass(value) else "")
            lines.append(f"- `{shown}`")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
