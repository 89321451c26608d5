"""``setloss decompose``: l = f + g on the command line."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

import setloss
from setloss.cli.commands import with_option_groups
from setloss.cli.errors import InputError
from setloss.cli.json_output import MAX_CELLS, decomposition_document, print_document
from setloss.cli.output_files import check_writable
from setloss.cli.set_function_options import DescribedFunction, SetFunctionOptions
from setloss.setfunctions.counts import TableTooLargeError

PLOT_SUFFIXES = (".png", ".pdf", ".svg")


@with_option_groups
def decompose(
    function: SetFunctionOptions,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of l, f and g (png, pdf, svg).")] = None,
) -> None:
    """Split a loss: l = f + g, f submodular, g supermodular and as small as possible.

    For example: setloss decompose --loss dice --pos 5 --neg 7 --plot dice.png
    """
    given = function.read()
    if as_json:
        _check_printable(given)
    if plot is not None:
        _check_plottable(given, plot)
    try:
        answer = setloss.decompose(given.function)
    except (setloss.DecompositionError, TableTooLargeError) as error:
        raise InputError(str(error)) from None
    if plot is not None:
        _write_plot(answer, plot)
    if as_json:
        print_document(decomposition_document(answer, given))
        return
    from setloss.cli.text_output import print_decomposition

    print_decomposition(answer, given)
    if plot is not None:
        typer.echo(f"figure written to {plot}")


def _check_printable(given: DescribedFunction) -> None:
    cells = given.function.counts.cells
    if cells > MAX_CELLS:
        raise InputError(
            f"--json prints at most {MAX_CELLS} cells and this table has {cells}; "
            "take fewer elements, or leave --json out"
        )


def _check_plottable(given: DescribedFunction, path: Path) -> None:
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise InputError(f"--plot writes {', '.join(PLOT_SUFFIXES)} files; got {path}")
    check_writable("--plot", path)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError('--plot needs matplotlib: pip install "setloss[plot]"')
    from setloss.plots import check_plottable

    try:
        check_plottable(given.function)
    except ValueError as error:
        raise InputError(f"--plot: {error}") from None


def _write_plot(answer: setloss.Decomposition, path: Path) -> None:
    from setloss.plots import plot_decomposition

    try:
        plot_decomposition(answer).savefig(path, dpi=200)
    except OSError as error:
        raise InputError(f"--plot: {path} cannot be written: {error.strerror or error}") from None
