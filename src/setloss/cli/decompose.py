"""``setloss decompose`` and ``setloss check``: l = f + g, and the six verdicts; ``setloss explore``: their page."""

import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

import setloss
from setloss.cli.commands import InputError, JsonOption, check_plot, print_document, with_option_groups, writing
from setloss.cli.set_functions import DescribedFunction, SetFunctionOptions
from setloss.decomposition import Decomposition
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.properties import Verdict, verdicts
from setloss.setfunctions.set_function import SetFunction

MAX_CELLS = 2**20
"""Most cells of a table in a JSON document."""

SHOWN_ROWS = 20
SHOWN_CELLS = 8
"""Longer lists are shortened to this many rows, tables of two groups to this many rows and columns."""


@with_option_groups
def decompose(
    function: SetFunctionOptions,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of l, f and g (png, pdf, svg).")] = None,
) -> None:
    """Split a loss: l = f + g, f submodular, g supermodular and as small as possible.

    For example: setloss decompose --loss dice --pos 5 --neg 7 --plot dice.png
    """
    given = function.describe()
    cells = given.function.counts.cells
    if as_json and cells > MAX_CELLS:
        raise InputError(f"--json prints at most {MAX_CELLS} cells, not {cells}; leave --json out, or take less")
    if plot is not None:
        check_plot(plot)
    try:
        answer = setloss.decompose(given.function)
    except (setloss.DecompositionError, TableTooLargeError) as error:
        raise InputError(str(error)) from None
    if plot is not None:
        from setloss.plots import plot_decomposition

        with writing("--plot", plot):
            plot_decomposition(answer).savefig(plot, dpi=200)
    if as_json:
        parts = {name: getattr(answer, name) for name in ("loss", "submodular", "supermodular")}
        tables = {name: part.table.reshape(given.shape).tolist() for name, part in parts.items()}
        certificate = answer.certificate
        proof = asdict(certificate) | {"gap": certificate.gap, "holds": certificate.holds}
        print_document(tables | {"certificate": proof})
        return
    _print_decomposition(answer, given)
    if plot is not None:
        typer.echo(f"figure written to {plot}")


@with_option_groups
def check(function: SetFunctionOptions, as_json: JsonOption = False) -> None:
    """Is a loss submodular, supermodular, modular, symmetric, increasing, non-negative?

    Every no comes with a witness: a set A and elements i, j for which the law fails most.
    """
    given = function.describe()
    try:
        found = verdicts(given.function)
    except TableTooLargeError as error:
        raise InputError(str(error)) from None
    if as_json:
        print_document({"verdicts": {law: asdict(verdict) for law, verdict in found.items()}})
        return
    _print_verdicts(found, given.title)


# ------------------------------------------------------------------ words


def _print_verdicts(found: Mapping[str, Verdict], title: str) -> None:
    """One row per law: yes or no, and why."""
    grid = Table.grid(padding=(0, 2))
    for law, verdict in found.items():
        answer = Text("yes", "green") if verdict.holds else Text("no", "red")
        grid.add_row(law, answer, _why(verdict))
    _print(title, grid)


def _why(verdict: Verdict) -> str:
    if verdict.proved:
        return "proved for this closed form"
    if verdict.witness is None:
        return f"largest excess {verdict.excess + 0.0:.3g}, tolerance {verdict.tolerance:.1g}"
    return f"by {verdict.excess:.3g}: {verdict.witness}"


def _print_decomposition(answer: Decomposition, given: DescribedFunction) -> None:
    """The values of l, f and g, at evenly chosen places where there are many, and the certificate in words."""
    parts = {"loss l": answer.loss, "submodular f": answer.submodular, "supermodular g": answer.supermodular}
    if len(given.shape) == 1:
        tables, abridged = [_curves(parts, given.shape[0])], given.shape[0] > SHOWN_ROWS
    else:
        tables, abridged = _matrices(parts), max(given.shape) > SHOWN_CELLS
    title = f"l = f + g for {given.title}{' (abridged)' if abridged else ''}"
    _print(title, *tables, str(answer.certificate))


def _curves(parts: Mapping[str, SetFunction], length: int) -> Table:
    """One row per size, one column each for l, f and g."""
    sizes = _chosen(length, SHOWN_ROWS)
    table = _columns(["|A|", *parts])
    for size, *row in zip(sizes, *_written([function.at(sizes) for function in parts.values()]), strict=True):
        table.add_row(str(size), *row)
    return table


def _matrices(parts: Mapping[str, SetFunction]) -> list[Table]:
    """Two groups: a table each, false negatives downwards, false positives to the right."""
    rows, columns = (_chosen(n + 1, SHOWN_CELLS) for n in next(iter(parts.values())).sizes)
    cells = _written([function.at(*np.ix_(rows, columns)) for function in parts.values()])
    tables = [_columns([name, "0 FP", *map(str, columns[1:])]) for name in parts]
    for table, lines in zip(tables, cells, strict=True):
        for row, line in zip(rows, lines, strict=True):
            table.add_row(f"{row} FN", *line)
    return tables


def _chosen(length: int, shown: int) -> NDArray[np.intp]:
    """0, ..., length - 1, or `shown` of them, evenly."""
    return np.linspace(0, length - 1, min(length, shown)).round().astype(np.intp)


def _written(tables: list[Any]) -> list[Any]:
    """Tables of numbers as strings, all with the decimals that four digits of the largest number take."""
    largest = max(float(np.max(np.abs(table))) for table in tables)
    exponent = int(np.floor(np.log10(largest))) if largest > 0 else 0
    form = f".{3 - min(exponent, 3)}f" if -3 <= exponent <= 6 else ".2e"
    zeros = {format(sign * 0.0, form) for sign in (1, -1)}
    texts = [np.vectorize(lambda value: format(value, form), otypes=[object])(table) for table in tables]
    return [np.where(np.isin(text, list(zeros)), "0", text).tolist() for text in texts]


def _columns(headers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _print(title: str, *tables: Table | str) -> None:
    """The title and the tables, an empty line between them."""
    console = Console(highlight=False, markup=False)
    console.print(title, style="bold")
    for table in tables:
        console.print()
        console.print(table)


def explore(
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("setloss-explore.html"),
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write a page on which you drag a cost curve and watch its parts, verdicts and surrogates.

    One file, no server, no network.
    """
    from setloss.explore import write_page

    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out writes an .html file; got {out}")
    with writing("--out", out):
        write_page(out)
    typer.echo(f"page written to {out}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        raise InputError(f"--open found no browser; open {out} yourself")
