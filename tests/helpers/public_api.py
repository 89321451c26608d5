"""The public names of setloss with their signatures, as the page ``docs/public-names.md`` lists them.

``PYTHONPATH=tests python -m helpers.public_api`` writes the page anew after a change that is meant.
"""

import importlib
import inspect
import pkgutil
import re
from enum import Enum
from pathlib import Path

import setloss

PAGE = Path(__file__).parents[2] / "docs" / "public-names.md"
PRIVATE = ("cli", "losses")
"""Packages whose own names are not promised: commands are, by their options, and losses are names of `setloss`."""

RESULTS = (
    "Certificate", "Decision", "Decomposition", "Design", "ImageDecisions", "LabelDecisions", "LabelSets",
    "Likelihood", "PixelCalibration", "Promise", "Record", "SampleDecision", "Solution", "State", "Status",
    "SurrogateSum", "Tracks", "Verdict", "Verification",
)  # fmt: skip
"""Classes that functions and methods return; nobody calls their constructors."""

HEAD = """# Public names

Everything that is promised, in one list: {classes} classes to construct, with {parameters} constructor parameters (a constructor that
classes share is counted once); {results} classes of results, whose attributes are read; {errors} errors and warnings; {functions} functions. Models on
Dask take the parameters of the local ones. A name that several modules offer is listed once.

The words that recur mean one thing each:

| name | meaning |
|---|---|
| `counts` | log-potentials of the number of positives, of `decide` and `CountModel`. The rule `"counts"` learns them. `from_counts` and `on_counts` are of numbers of mistakes and of labels, as their signatures say |
| `scale` | factor c of the rescaled part of a surrogate. 2 in `setloss.operators`, which follow the paper; 1 in linear models, where the surrogate is the tightest on the unit cube; `"mean"`, 2 / \\|V\\|, in networks, whose sets have thousands of elements |
| `scores` | log-odds or margins, or probabilities where `scores="probabilities"` says so |
| `.sets`, `.expected_loss` | what every decision has |

Made by `PYTHONPATH=tests python -m helpers.public_api`; a test compares it with the package.
"""  # noqa: E501 (a page)


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
    plain = [value for value in every if is_plain_class(value)]
    classes = [value for value in plain if value.__name__ not in RESULTS]
    functions = sum(not inspect.isclass(value) for value in every)
    counted = {"classes": len(classes), "results": len(plain) - len(classes), "functions": functions}
    counted["errors"] = len(every) - functions - len(plain)
    constructors = {value.__init__: value for value in classes}
    lines = [HEAD.format(parameters=sum(map(constructor_parameters, constructors.values())), **counted)]
    for module, names in objects.items():
        lines.append(f"## `{module}`\n")
        for name, value in names.items():
            if name in RESULTS:
                fields = [] if issubclass(value, Enum) else inspect.signature(value).parameters
                lines.append(f"- `{name}`, a result" + ": " * bool(fields) + ", ".join(f"`{one}`" for one in fields))
                continue
            shown = name + (signature(value) if is_plain_class(value) or not inspect.isclass(value) else "")
            lines.append(f"- `{shown}`")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
