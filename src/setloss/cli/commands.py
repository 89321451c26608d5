"""What all commands share: options that are dataclasses, and one sentence on standard error for bad input.

Bad input ends in exit code 2; anything else keeps its traceback. A reader that has seen enough
(``setloss predict ... | head -1``) is no error, and ends in 0. Standard output that cannot be written, on a disk
that is full, ends in 1 and a sentence.
"""

from __future__ import annotations

import errno
import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from setloss.cli.errors import InputError

BAD_INPUT = 2
NOT_WRITTEN = 1

# The parent of BadParameter is click's UsageError, which lives in different packages from release to release.
_UsageError: type[Exception] = typer.BadParameter.mro()[1]


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


class PlainHelpCommand(TyperCommand):
    """A command whose help shows flags without a type, for they take no value, and fits any terminal."""

    def __init__(self, *arguments: Any, help: str | None = None, **options: Any) -> None:
        super().__init__(*arguments, help=help and _without_line_breaks(help), **options)

    def get_params(self, ctx: Any) -> Any:
        return _flags_without_type(super().get_params(ctx))


class OneSentenceGroup(TyperGroup):
    """A command group whose complaints are one sentence instead of a usage page in a box."""

    def get_params(self, ctx: Any) -> Any:
        return _flags_without_type(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and notice here that a pipe is closed, before click does."""
        plain = sys.stdout
        sys.stdout = _Output(plain or _Closed())
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except _OutputError as error:
            _end_output(error.__cause__)  # type: ignore[arg-type]
        finally:
            sys.stdout = plain
        return result

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        sys.stderr = sys.stderr or io.StringIO()  # closed by the shell: there is nowhere to complain
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except InputError as error:
            _complain(str(error))
        except _UsageError as error:
            _complain(error.format_message())  # type: ignore[attr-defined]
        except typer.Abort:
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def _without_line_breaks(text: str) -> str:
    """The paragraphs of a docstring, each in one line: terminals are not as wide as a source file."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def _flags_without_type(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def names_in(text: str) -> list[str]:
    """The names of an option that takes several, with commas between them."""
    return [name.strip() for name in text.split(",")]


def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Warnings of the library on standard error: the sentence alone, without file and line."""
    typer.echo(f"setloss: {' '.join(str(message).split())}", err=True)


def _complain(sentence: str, code: int = BAD_INPUT) -> NoReturn:
    typer.echo(f"setloss: {' '.join(sentence.split())}", err=True)
    sys.exit(code)


def _end_output(error: OSError) -> NoReturn:
    """End where standard output takes no more."""
    with suppress(OSError, ValueError):  # the interpreter flushes once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        sys.exit(0)
    _complain(f"standard output cannot be written: {error.strerror or error}", NOT_WRITTEN)


class _OutputError(Exception):
    """Standard output cannot be written; the cause is the system's own error."""


class _Closed(io.TextIOBase):
    """What stands for standard output where the shell has closed it, as by ``>&-``."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class _Output:
    """Standard output, whose failures are told apart from all other errors of the system."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: Any) -> Any:
        return self._tried(self._stream.write, text)

    def flush(self) -> None:
        self._tried(self._stream.flush)

    def _tried(self, call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except OSError as error:
            raise _OutputError from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
