"""The command line, ``setloss COMMAND``: commands by what they are about, each a thin reading of the library."""

import sys
import warnings
from typing import Annotated

try:  # these imports take a second, in which Ctrl-C ends the command as it does later
    import typer

    import setloss
    from setloss.cli.commands import OneSentenceGroup, say
    from setloss.cli.decompose import check, decompose, explore
    from setloss.cli.predict import evaluate, predict
    from setloss.cli.train import train
except KeyboardInterrupt:
    sys.exit(130)

EPILOG = (
    "Exit codes: 0 fine, 2 bad input (one sentence on standard error says what), 4 a linear model was written before "
    "its gap was reached, 130 interrupted."
)

app = typer.Typer(
    cls=OneSentenceGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
for command in (decompose, check, explore, train, predict, evaluate):
    app.command(epilog=EPILOG)(command)


@app.callback(invoke_without_command=True)
def _setloss(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Losses of whole sets of mistakes: look at one, split it into submodular + supermodular, train for it."""
    if version:
        typer.echo(f"setloss {setloss.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Entry point of the ``setloss`` command."""
    warnings.showwarning = say
    app(prog_name="setloss")
