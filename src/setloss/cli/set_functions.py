"""The loss or set function that a command speaks of: a named loss, a cost curve, or a table of costs from a file."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from setloss.cli.commands import InputError, panel_option
from setloss.io.data import reason, shown
from setloss.losses import NAMED_LOSSES, CostCurve, FBeta, Loss, Tversky, as_loss
from setloss.setfunctions.set_function import SetFunction

MAX_ELEMENTS = 10**7
"""Largest number of elements; what works without a table works up to here in seconds."""

NAMES = f"{', '.join(NAMED_LOSSES)}, fbeta:BETA (as fbeta:2) or tversky:FP:FN (weights, as tversky:0.3:0.7)"

WEIGHTED: dict[str, tuple[type[Loss], int]] = {"fbeta": (FBeta, 1), "tversky": (Tversky, 2)}
"""Losses with weights, and how many."""

_option = partial(panel_option, "The loss")
_count = partial(_option, max=MAX_ELEMENTS, metavar="N")


@dataclass(frozen=True)
class LossOptions:
    """The loss to decide for, as given; `read` checks it."""

    loss: Annotated[str | None, panel_option("Options", f"{NAMES}.", metavar="NAME")] = None
    knots: Annotated[str | None, _option('Cost curve through share:cost, as "0:0,1/4:1,1:1".', metavar="KNOTS")] = (
        None
    )

    def read(self) -> Any:
        """The name of the loss (f1 where none is given), or a `Loss` where it has parameters; or an `InputError`."""
        if self.knots is not None and self.loss is not None:
            raise InputError("give --loss or --knots, not both")
        if self.knots is not None:
            return curve_through(self.knots)
        name, *weights = (self.loss or "f1").lower().split(":")
        kind, needed = WEIGHTED.get(name, (None, 0))
        if len(weights) != needed or (kind is None and name not in NAMED_LOSSES):
            raise InputError(f"--loss: there is no loss {self.loss!r}; the names are {NAMES}")
        try:
            return name if kind is None else kind(*map(float, weights))
        except ValueError as error:
            raise InputError(f"--loss: {error}") from None


@dataclass(frozen=True)
class SetFunctionOptions(LossOptions):
    """The options that describe a set function, as given; `describe` checks them and builds it."""

    pos: Annotated[int | None, _count("Positive elements of the example.", min=0)] = None
    neg: Annotated[int | None, _count("Negative elements of the example.", min=0)] = None
    size: Annotated[int | None, _count("Elements of a cost curve's set.", min=1)] = None
    table: Annotated[
        Path | None,
        _option(
            "CSV or npy file: c(0), ..., c(p), or false negatives (rows) x false positives (columns).",
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
        if loss.by_size:
            pos, neg, title = self.size or 0, 0, f"{self.loss or 'cost curve'}, {self.size} elements"
        else:
            pos, neg = self.pos or 0, self.neg or 0
            title = f"{self.loss}, {pos} positives and {neg} negatives"
        try:
            return loss.on_counts(pos, neg), title
        except ValueError as error:
            raise InputError(f"{title}: {error}") from None

    def _require(self, what: str, *needed: str) -> None:
        """Refuse numbers of elements that are missing or have no use."""
        given = [option for option in ("pos", "neg", "size") if getattr(self, option) is not None]
        if given != list(needed):
            takes, got = (" and ".join(f"--{name}" for name in names) or "none" for names in (needed, given))
            raise InputError(f"{what} needs these numbers of elements: {takes}; got {got}")


def _from_table(path: Path) -> SetFunction:
    """The set function in a file of numbers; a CSV file of one row or one column is a curve."""
    if path.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{path}: a table is a .csv or .npy file, not {path.suffix or 'a file without suffix'}")
    try:
        if path.suffix.lower() == ".npy":
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            values = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig", comments=None)
            values = values.ravel() if 1 in values.shape else values
    except Exception as error:  # NumPy raises almost anything for bytes that it did not write
        why = reason(error).partition("; use")[0]
        raise InputError(f"{path} is not a table of numbers: {why}; cells are numbers, without a header") from None
    if np.ndim(values) > 2:
        raise InputError(f"{path} has {values.ndim} axes; a table has one (a curve) or two")
    try:
        return SetFunction.from_table(values)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def curve_through(knots: str) -> CostCurve:
    """The cost curve of --knots, ``"0:0,1/4:1,1:1"``: shares, which may be fractions, and costs."""
    pairs = []
    for knot in knots.split(","):
        share, _, cost = knot.partition(":")
        try:
            pairs.append((float(Fraction(share)), float(Fraction(cost))))
        except (ValueError, ArithmeticError):
            raise InputError(
                f"--knots: {shown(knot.strip())} is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1"
            ) from None
    try:
        return CostCurve(tuple(pairs))
    except ValueError as error:
        raise InputError(f"--knots: {error}") from None
