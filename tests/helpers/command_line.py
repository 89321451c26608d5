"""The command line as a function: what it prints, and the one sentence of a command that must fail."""

import json
from unittest.mock import patch

import typer
from typer.testing import CliRunner

from setloss.cli import app

NEVER = 1e6
"""Seconds between two lines of progress that no test waits for."""

COMMAND = typer.main.get_command(app)
"""Made of annotations, which takes ten milliseconds: once, and not for every call."""


def run(*arguments, code=0):
    """The result of a command that ends with that code, or with any (None); a text is split into words."""
    words = arguments[0].split() if len(arguments) == 1 and isinstance(arguments[0], str) else map(str, arguments)
    with (
        patch("setloss.cli.progress.SECONDS_BETWEEN_LINES", NEVER),  # on a busy machine a command takes long
        patch("typer.testing._get_command", lambda _: COMMAND),
    ):
        result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert code is None or result.exit_code == code, result.output
    return result


def complaint(*arguments):
    """The one sentence on standard error of a command that must fail."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("setloss: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def parsed(*arguments):
    """The document of a command with --json, which is all that it may print."""
    result = run(*arguments)
    assert result.stderr == ""
    return json.loads(result.stdout)
