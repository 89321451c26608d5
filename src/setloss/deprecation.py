"""Names of the last minor version, which go on working for one more with a `DeprecationWarning`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_of_old_name(old: str, new: str, *, calls: int = 2) -> None:
    """Said at the line of the user, so many calls above this one."""
    message = f"{old} is called {new} now; the old name of version 0.1 goes with 0.3"
    warnings.warn(message, DeprecationWarning, stacklevel=calls + 1)


class OldAttributes:
    """Attributes that were renamed: `old_attributes` has the old names and the new ones."""

    old_attributes: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """A class of the user that defines an old name defines the new one."""
        for old, new in cls.old_attributes.items():
            if old in vars(cls):
                warn_of_old_name(f"{cls.__name__}.{old}", new, calls=3)  # ABCMeta is between
                setattr(cls, new, vars(cls)[old])

    if not TYPE_CHECKING:  # else any attribute would have a type

        def __getattr__(self, name: str) -> Any:
            new = type(self).old_attributes.get(name)
            if new is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warn_of_old_name(f"{type(self).__name__}.{name}", new)
            return getattr(self, new)


def old_argument(old: str, new: str) -> Callable[[Function], Function]:
    """A keyword argument that was renamed."""

    def decorated(function: Function) -> Function:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            if old in named:
                warn_of_old_name(f"{old}= of {function.__qualname__.removesuffix('.__init__')}", f"{new}=")
                named[new] = named.pop(old)
            return function(*arguments, **named)

        return called  # type: ignore[return-value]

    return decorated
