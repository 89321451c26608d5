"""``setloss reproduce``: the paper's tables and figures into a folder, and one page about all of them."""

import importlib.util
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from setloss.cli.errors import InputError
from setloss.cli.output_files import make_folder, why
from setloss.cli.progress import INTERRUPTED, Interrupted, WorkProgress, say

if TYPE_CHECKING:
    from setloss.reproduction.document import Document
    from setloss.reproduction.paper.artefact import Settings
    from setloss.reproduction.paper.claims import Finding

EPILOG = (
    "Exit codes: 0 fine; 2 bad input (one sentence on standard error says what); 130 interrupted: what was made "
    "stays, and the report is about that."
)


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[all|NAME]",
            help="figure1 figure2 table1 figure3 table2 figure5 table3.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to; it is made if it is not there.")] = Path("results"),
    full: Annotated[
        bool, typer.Option("--full", help="All folds and repeats, and the paper's sizes: hours.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="So few of them that it takes a minute: a trial.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.", min=0)] = 0,
    data: Annotated[
        Path | None, typer.Option(help="Folder of real tracks, for table2 and figure5.", show_default="SETLOSS_DATA")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """Make the paper's tables and figures again, and say which of its claims hold.

    Writes NAME.json, NAME.md and NAME.png for each, and report.html about all that the folder holds.

    For example: setloss reproduce table1 figure3 --out results
    """
    from setloss.reproduction.paper.artefact import Settings, in_order

    try:
        wanted = in_order(names or ["all"])
    except ValueError as error:
        raise InputError(str(error)) from None
    if full and quick:
        raise InputError("give --full or --quick, not both")
    _check_drawing()
    _check_data(data)
    make_folder(out)
    _check_results(out)
    made: list[Document] = []
    try:
        _make_all(wanted, out, Settings(seed, full, data, quick), made, quiet=as_json)
    except Interrupted:
        _report(out, made, as_json)
        say(f"interrupted after {len(made)} of {len(wanted)} artefacts; these are in {out}")
        raise typer.Exit(INTERRUPTED) from None
    _report(out, made, as_json)


# ---------------------------------------------------------------- before any work


def _check_drawing() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError('figures need matplotlib: pip install "setloss[plot]"')


def _check_results(out: Path) -> None:
    from setloss.reproduction.paper.files import read

    try:
        read(out)
    except ValueError as error:
        raise InputError(f"--out: {error}") from None


def _check_data(data: Path | None) -> None:
    if data is not None and not data.is_dir():
        raise InputError(f"--data: there is no folder {data}")


# ---------------------------------------------------------------- the work


def _make_all(
    wanted: tuple[str, ...], out: Path, settings: "Settings", made: "list[Document]", *, quiet: bool
) -> None:
    """One artefact after the other; its files and the report are written as soon as it is there."""
    from setloss.reproduction.paper.artefact import shares_of_time
    from setloss.reproduction.running import part_of

    parts = shares_of_time(wanted, quick=settings.quick, full=settings.full)
    with WorkProgress() as progress:
        for name, (start, length) in zip(wanted, parts, strict=True):
            follow = part_of(progress.update, start, length, name)
            follow(0.0, "starting")
            began = time.perf_counter()
            document = _make(name, replace(settings, progress=follow))
            seconds = time.perf_counter() - began
            _write(document, settings, seconds, out)
            made.append(document)
            if not quiet:
                progress.announce(f"{name}: {seconds:.1f} s")


def _make(name: str, settings: "Settings") -> "Document":
    from setloss.datasets import DatasetError
    from setloss.reproduction.paper.artefact import artefact_named

    try:
        return artefact_named(name).make(settings)
    except DatasetError as error:
        raise InputError(str(error)) from None


def _write(document: "Document", settings: "Settings", seconds: float, out: Path) -> None:
    from setloss.reproduction.paper.files import write
    from setloss.reproduction.paper.report import write_report

    try:
        write(document, settings, seconds, out)
        write_report(out)
    except OSError as error:
        raise InputError(f"--out: {error.filename or out} cannot be written: {why(error)}") from None


# ---------------------------------------------------------------- what came out


def _report(out: Path, made: "list[Document]", as_json: bool) -> None:
    from setloss.cli.json_output import print_document
    from setloss.reproduction.paper.files import read
    from setloss.reproduction.paper.report import write_report

    path, judged = write_report(out)
    if as_json:
        entries = read(out)
        documents = {document.name: entries[document.name] for document in made}
        print_document({"report": str(path), "claims": [found.as_dict() for found in judged], "documents": documents})
        return
    for document in made:
        _print_tables(document)
    _print_claims(judged)
    typer.echo(f"report written to {path}")


def _print_tables(document: "Document") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from setloss.reproduction.document import cell_text

    console = Console(highlight=False, markup=False)
    console.print(document.title, style="bold")
    for table in document.tables:
        console.print(table.title)
        grid = Table(box=None, pad_edge=False)
        for k, column in enumerate(table.columns):
            grid.add_column(column, justify="right" if k else "left", overflow="fold")
        for i, row in enumerate(table.rows):
            cells = enumerate(map(cell_text, row))
            grid.add_row(*(Text(text, "bold" if (i, j) in table.best else "") for j, text in cells))
        console.print(grid)
        if table.note:
            console.print(table.note, style="dim")
    console.print()


def _print_claims(judged: "tuple[Finding, ...]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from setloss.reproduction.paper.evidence import ClaimVerdict

    colours = {
        ClaimVerdict.HOLDS: "green",
        ClaimVerdict.IN_PART: "yellow",
        ClaimVerdict.FAILS: "red",
        ClaimVerdict.OPEN: "dim",
    }
    grid = Table(box=None, pad_edge=False)
    for name in ("claim", "verdict", "evidence"):
        grid.add_column(name)
    for found in judged:
        grid.add_row(Text(found.claim), Text(str(found.verdict), colours[found.verdict]), Text(found.evidence))
    console = Console(highlight=False, markup=False)
    console.print("The paper's claims", style="bold")
    console.print(grid)
