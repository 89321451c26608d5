"""``setloss explore``: a page to play with a cost curve."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from setloss.cli.commands import InputError, writing


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
