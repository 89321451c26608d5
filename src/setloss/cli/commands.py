"""What all commands share: options that are dataclasses, and one sentence on standard error for bad input.

Bad input ends in exit code 2; anything else keeps its traceback.
"""

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from setloss.io.data import shown
from setloss.losses import NAMED_LOSSES, CostCurve, FBeta, Loss, Tversky

BAD_INPUT = 2
PLOTS = (".png", ".pdf", ".svg")
"""Suffixes of figures."""

NAMES = f"{', '.join(NAMED_LOSSES)}, fbeta:BETA (as fbeta:2) or tversky:FP:FN (weights, as tversky:0.3:0.7)"

WEIGHTED: dict[str, tuple[type[Loss], int]] = {"fbeta": (FBeta, 1), "tversky": (Tversky, 2)}
"""Losses with weights, and how many."""

# The parent of BadParameter is click's UsageError, which lives in different packages from release to release.
_UsageError: type[Exception] = typer.BadParameter.mro()[1]

JsonOption = Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")]


class InputError(Exception):
    """What the user gave cannot be used; the message says why, in one sentence."""


@contextmanager
def refusing(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds are bad input; the sentence begins with `what`."""
    try:
        yield
    except kinds as error:
        raise InputError(f"{what}{getattr(error, 'strerror', None) or error}") from None


def panel_option(panel: str, help: str, *names: str, **more: Any) -> Any:
    """An option in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


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


@dataclass(frozen=True)
class LossOptions:
    """The loss to decide for, as given; `read` checks it."""

    loss: Annotated[str | None, typer.Option(help=f"{NAMES}.", metavar="NAME")] = None
    knots: Annotated[
        str | None,
        panel_option("The loss", 'Cost curve through share:cost, as "0:0,1/4:1,1:1".', metavar="KNOTS"),
    ] = None

    def read(self) -> Any:
        """The name of the loss (f1 where none is given), or a `Loss` where it has parameters; or an `InputError`."""
        if self.knots is not None and self.loss is not None:
            raise InputError("give --loss or --knots, not both")
        if self.knots is not None:
            return curve_through(self.knots)
        name, *weights = (self.loss or "f1").lower().split(":")
        kind, needed = WEIGHTED.get(name, (None, 0))
        if len(weights) != needed or (kind is None and name not in NAMED_LOSSES):
            raise InputError(f"--loss: there is no loss {self.loss!r}; the names are {NAMES}")
        with refusing("--loss: ", ValueError):
            return name if kind is None else kind(*map(float, weights))


def curve_through(knots: str) -> CostCurve:
    """The cost curve of --knots, ``"0:0,1/4:1,1:1"``: shares, which may be fractions, and costs."""
    pairs = []
    for knot in knots.split(","):
        share, _, cost = knot.partition(":")
        try:
            pairs.append((float(Fraction(share)), float(Fraction(cost))))
        except (ValueError, ArithmeticError):
            raise InputError(
                f"--knots: {shown(knot.strip())} is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1"
            ) from None
    with refusing("--knots: ", ValueError):
        return CostCurve(tuple(pairs))


class OneSentenceGroup(TyperGroup):
    """A command group whose complaints are one sentence instead of a usage page in a box."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a pipe that is closed is noticed here, where typer ends without a word."""
        result = super().invoke(ctx)
        sys.stdout.flush()
        return result

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program and end it with an exit code."""
        try:
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except (InputError, _UsageError) as error:
            say(error.format_message() if hasattr(error, "format_message") else str(error))
            code = BAD_INPUT
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter would complain once more at its end
            say(f"output cannot be written: {error.strerror or error}")
            code = BAD_INPUT
        except typer.Abort:
            code = 130
        sys.exit(code if isinstance(code, int) else 0)


def names_in(text: str) -> list[str]:
    """The names of an option that takes several, with commas between them."""
    return [name.strip() for name in text.split(",")]


def print_document(document: Mapping[str, Any]) -> None:
    """A JSON document alone, in one line; NumPy's numbers as numbers."""
    typer.echo(json.dumps(document, allow_nan=False, default=lambda value: value.item()))


def check_writable(option: str, path: Path, suffixes: Sequence[str], *others: Path) -> None:
    """Refuse, before any work, a path of another kind or that cannot be written, and the `others` that are used."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option} writes {', '.join(suffixes)} files; got {path}")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option}: {path} cannot be written; give the name of a file in a directory that is there")
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise InputError(f"{option}: {path} would replace {other}, which is used here too; give another name")


def writing(option: str, path: Path) -> AbstractContextManager[None]:
    """A file that cannot be written is bad input."""
    return refusing(f"{option}: {path} cannot be written: ", OSError, ImportError, ValueError)


def say(message: Warning | str, *_: Any, **__: Any) -> None:
    """One sentence on standard error; also the form of warnings of the library, without file and line."""
    typer.echo(f"setloss: {' '.join(str(message).split())}", err=True)
