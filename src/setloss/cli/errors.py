"""Bad input ends in exit code 2 and one sentence on standard error; anything else keeps its traceback."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

BAD_INPUT = 2

# The parent of BadParameter is click's UsageError, which lives in different packages from release to release.
_UsageError: type[Exception] = typer.BadParameter.mro()[1]


class InputError(Exception):
    """What the user gave cannot be used; the message says why, in one sentence."""


class OneSentenceGroup(TyperGroup):
    """A command group whose complaints are one sentence instead of a usage page in a box."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except InputError as error:
            _complain(str(error))
        except _UsageError as error:
            _complain(error.format_message())  # type: ignore[attr-defined]
        except typer.Abort:
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _complain(sentence: str) -> NoReturn:
    typer.echo(f"setloss: {' '.join(sentence.split())}", err=True)
    sys.exit(BAD_INPUT)
