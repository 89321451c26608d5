"""The command line as a function: what it prints, and the one sentence of a command that must fail."""

import json
import os
import signal
import tempfile
import time
from unittest.mock import patch

import pytest
import typer
from typer.testing import CliRunner

from helpers.forked import program
from helpers.waiting import PATIENCE
from setloss.cli import app

NEVER = 1e6
"""Seconds between two lines of progress that no test waits for."""


COMMAND = typer.main.get_command(app)
"""Made of annotations, which takes ten milliseconds: once, and not for every call."""


def run(*arguments, code=0):
    """The result of a command that ends with that code; a text is split into words."""
    words = arguments[0].split() if len(arguments) == 1 and isinstance(arguments[0], str) else map(str, arguments)
    with (
        patch("setloss.cli.progress.SECONDS_BETWEEN_LINES", NEVER),  # on a busy machine a command takes long
        patch("typer.testing._get_command", lambda _: COMMAND),
    ):
        result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
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


def interrupted(sign, *arguments, everyone=False):
    """Run in a terminal of 80 columns, press Ctrl-C once it shows `sign`; standard output, and what it showed.

    `everyone`: the processes that the program has started hear it too, as in a real terminal.
    """
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    shown, pressed, deadline = "", False, time.monotonic() + PATIENCE
    options = {"in_new_session": everyone, "TERM": "xterm", "COLUMNS": "80"}
    with (
        tempfile.TemporaryFile("w+") as out,
        os.fdopen(master, "rb", buffering=0) as terminal,
        os.fdopen(slave, "wb") as end,
        program("setloss.cli", *arguments, out=out, err=end, **options) as process,
    ):
        end.close()
        while time.monotonic() < deadline:
            try:
                chunk = terminal.read(65536)
            except OSError:  # the program has closed its end
                break
            shown += chunk.decode(errors="replace")
            if sign in shown and not pressed:
                (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
                pressed = True
        process.join(PATIENCE)
        out.seek(0)
        printed = out.read()
    assert pressed, shown
    assert process.exitcode == 130, shown
    assert "Traceback" not in shown
    return printed, shown
