"""``setloss decompose`` and ``setloss check``: l = f + g, and the six verdicts; ``setloss explore``: their page."""

import webbrowser
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import setloss
from setloss.cli.commands import (
    PLOTS,
    InputError,
    JsonOption,
    LossOptions,
    check_writable,
    panel_option,
    print_document,
    refusing,
    with_option_groups,
    writing,
)
from setloss.decomposition import Decomposition
from setloss.io.data import reason
from setloss.losses import as_loss
from setloss.setfunctions.counts import TableTooLargeError
from setloss.setfunctions.properties import verdicts
from setloss.setfunctions.set_function import SetFunction

SHOWN = {1: 20, 2: 6}
"""Most counts of a group that are printed, for losses of one and of two groups."""

MAX_CELLS = 2**20
"""Most values of l in a JSON document."""

COUNTS = {1: ("mistakes",), 2: ("FN", "FP")}

MAX_ELEMENTS = 10**7
"""Largest number of elements; what works without a table works up to here in seconds."""

_count = partial(panel_option, "The loss", max=MAX_ELEMENTS, metavar="N")


@dataclass(frozen=True)
class SetFunctionOptions(LossOptions):
    """The options that describe a set function, as given; `describe` checks them and builds it."""

    pos: Annotated[int | None, _count("Positive elements of the example.", min=0)] = None
    neg: Annotated[int | None, _count("Negative elements of the example.", min=0)] = None
    size: Annotated[int | None, _count("Elements of a cost curve's set.", min=1)] = None
    table: Annotated[
        Path | None,
        panel_option(
            "The loss",
            "CSV file: c(0), ..., c(p), or false negatives (rows) x false positives (columns).",
            exists=True,
            dir_okay=False,
        ),
    ] = None

    def describe(self) -> tuple[SetFunction, str]:
        """The set function and its title, or an `InputError`."""
        if [self.loss, self.knots, self.table].count(None) != 2:
            raise InputError("give one of --loss, --knots and --table, the loss to look at")
        if self.table is not None:
            self._require("--table")
            return _from_table(self.table), self.table.name
        loss = as_loss(self.read())
        self._require(self.loss or "--knots", *(("size",) if loss.by_size else ("pos", "neg")))
        pos, neg = self.pos or self.size or 0, self.neg or 0
        counts = f"{pos} elements" if loss.by_size else f"{pos} positives and {neg} negatives"
        title = f"{self.loss or 'cost curve'}, {counts}"
        with refusing(f"{title}: ", ValueError):
            return loss.on_counts(pos, neg), title

    def _require(self, what: str, *needed: str) -> None:
        """Refuse numbers of elements that are missing or have no use."""
        given = [option for option in ("pos", "neg", "size") if getattr(self, option) is not None]
        if given != list(needed):
            takes, got = (" and ".join(f"--{name}" for name in names) or "none" for names in (needed, given))
            raise InputError(f"{what} needs these numbers of elements: {takes}; got {got}")


def _from_table(path: Path) -> SetFunction:
    """The set function in a file of numbers; one row or one column is a curve."""
    try:
        values = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig", comments=None)
        return SetFunction.from_table(values.ravel() if 1 in values.shape else values)
    except ValueError as error:
        why = reason(error).partition("; use")[0]
        raise InputError(f"{path} is no table of costs: {why}; cells are numbers, without a header") from None


@with_option_groups
def decompose(
    function: SetFunctionOptions,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of l, f and g (png, pdf, svg).")] = None,
) -> None:
    """Split a loss: l = f + g, f submodular, g supermodular and as small as possible.

    For example: setloss decompose --loss dice --pos 5 --neg 7 --plot dice.png
    """
    loss, title = function.describe()
    if plot is not None:
        check_writable("--plot", plot, PLOTS)
    if as_json and loss.counts.cells > MAX_CELLS:
        raise InputError(
            f"--json prints at most {MAX_CELLS} values, not {loss.counts.cells}; leave it out, or take less"
        )
    with refusing("", setloss.DecompositionError, TableTooLargeError):
        parts = setloss.decompose(loss)
    if plot is not None:
        with writing("--plot", plot):
            parts.plot().savefig(plot, dpi=200)
    if as_json:
        tables = {name: getattr(parts, name).table.tolist() for name in ("loss", "submodular", "supermodular")}
        proof = parts.certificate
        print_document(tables | {"certificate": asdict(proof) | {"gap": proof.gap, "holds": proof.holds}})
        return
    abridged = " (abridged)" * (max(parts.loss.sizes) >= SHOWN[len(parts.loss.sizes)])
    typer.echo(f"l = f + g for {title}{abridged}\n")
    for row in _rows(parts):
        typer.echo(" ".join(f"{cell:>14}" for cell in row))
    typer.echo(f"\n{parts.certificate}")
    if plot is not None:
        typer.echo(f"figure written to {plot}")


def _rows(parts: Decomposition) -> Iterator[list[str]]:
    """Counts of mistakes with the values of l, f and g, evenly chosen ones where there are many."""
    sizes = parts.loss.sizes
    shown = SHOWN[len(sizes)]
    places = [np.linspace(0, size, min(size + 1, shown)).round().astype(np.intp).tolist() for size in sizes]
    yield [*COUNTS[len(sizes)], "loss l", "submodular f", "supermodular g"]
    for counts in product(*places):
        values = (part.at(*counts) for part in (parts.loss, parts.submodular, parts.supermodular))
        yield [*map(str, counts), *(f"{value + 0.0:.4g}" for value in values)]


@with_option_groups
def check(function: SetFunctionOptions, as_json: JsonOption = False) -> None:
    """Is a loss submodular, supermodular, modular, symmetric, increasing, non-negative?

    Every no comes with a witness: a set A and elements i, j for which the law fails most.
    """
    loss, title = function.describe()
    with refusing("", TableTooLargeError):
        judged = verdicts(loss)
    if as_json:
        print_document({"verdicts": {law: asdict(verdict) for law, verdict in judged.items()}})
    else:
        typer.echo("\n".join([title, *map(str, judged.values())]))


def explore(
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("setloss-explore.html"),
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write a page on which you drag a cost curve and watch its parts, verdicts and surrogates.

    One file, no server, no network.
    """
    from setloss.explore import write_page

    check_writable("--out", out, (".html",))
    with writing("--out", out):
        write_page(out)
    typer.echo(f"page written to {out}")
    if open_page and not webbrowser.open(out.resolve().as_uri()):
        raise InputError(f"--open found no browser; open {out} yourself")
