"""Commands of `python -m experiments`, run in this process."""

from typer.testing import CliRunner

from experiments.__main__ import app


def run(*arguments):
    """The result of a command that works."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def complaint(*arguments):
    """The one sentence of a command that refuses its input."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code != 0
    return str(result.exception) if not isinstance(result.exception, SystemExit) else result.stderr
