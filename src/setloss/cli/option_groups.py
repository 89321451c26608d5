"""Options that commands share: a parameter that is a dataclass stands for one option per field."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take dataclasses: their fields become its options, in place."""
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}

    @functools.wraps(command)
    def wrapped(**options: Any) -> None:
        for name, kind in groups.items():
            options[name] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
        command(**options)

    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        parameters += inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]
    keyword_only = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    wrapped.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped
