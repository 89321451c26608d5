"""``setloss decompose`` and ``setloss check``: l = f + g, and the six verdicts, on the command line."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import setloss
from setloss.cli.commands import InputError, check_writable, print_document, with_option_groups
from setloss.cli.set_functions import DescribedFunction, SetFunctionOptions
from setloss.decomposition import Certificate, Decomposition
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.properties import Verdict, verdicts
from setloss.setfunctions.set_function import SetFunction

PLOT_SUFFIXES = (".png", ".pdf", ".svg")

MAX_CELLS = 2**20
"""Most cells of a table in a JSON document."""


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
        print_document(_decomposition_document(answer, given))
        return
    from setloss.cli.text_output import print_decomposition

    print_decomposition(answer, given)
    if plot is not None:
        typer.echo(f"figure written to {plot}")


@with_option_groups
def check(
    function: SetFunctionOptions,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Is a loss submodular, supermodular, modular, symmetric, increasing, non-negative?

    Every no comes with a witness: a set A and elements i, j for which the law fails most.
    """
    given = function.read()
    try:
        found = verdicts(given.function)
    except TableTooLargeError as error:
        raise InputError(str(error)) from None
    if as_json:
        print_document(_verdicts_document(found))
        return
    from setloss.cli.text_output import print_verdicts

    print_verdicts(found, given.title)


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


def _write_plot(answer: Decomposition, path: Path) -> None:
    from setloss.plots import plot_decomposition

    try:
        plot_decomposition(answer).savefig(path, dpi=200)
    except OSError as error:
        raise InputError(f"--plot: {path} cannot be written: {error.strerror or error}") from None


# ------------------------------------------------------------------ JSON


def _decomposition_document(answer: Decomposition, given: DescribedFunction) -> dict[str, Any]:
    """l, f and g as nested lists in the shape of the input, and the certificate."""

    def cells(function: SetFunction) -> Any:
        return function.table.reshape(given.shape).tolist()

    return {
        "loss": cells(answer.loss),
        "submodular": cells(answer.submodular),
        "supermodular": cells(answer.supermodular),
        "certificate": _certificate(answer.certificate),
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "rule": certificate.rule,
        "reason": certificate.reason,
        "feasibility": float(certificate.feasibility) + 0.0,
        "column_residual": float(certificate.column_residual),
        "primal": float(certificate.primal),
        "dual": float(certificate.dual),
        "gap": float(certificate.gap),
        "unique": None if certificate.unique is None else bool(certificate.unique),
        "tie_broken": bool(certificate.tie_broken),
        "checked": certificate.checked,
        "holds": bool(certificate.holds),
    }


def _verdicts_document(found: Mapping[str, Verdict]) -> dict[str, Any]:
    """The verdicts by name, each with its witness or null."""
    return {"verdicts": {law: _verdict(verdict) for law, verdict in found.items()}}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    witness = verdict.witness
    return {
        "holds": bool(verdict.holds),
        "proved": bool(verdict.proved),
        "excess": float(verdict.excess) + 0.0,
        "tolerance": float(verdict.tolerance),
        "witness": witness and {"A": list(witness.A), "i": witness.i, "j": witness.j, "words": witness.words},
    }
