"""The set function or loss a command speaks of: a named loss, a cost curve, or a table of costs from a file."""

import math
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from setloss.cli.commands import InputError, panel_option
from setloss.io.data import reason, shown
from setloss.losses import NAMED_LOSSES, PAPER_CURVES, CostCurve, FBeta, Tversky, as_loss
from setloss.setfunctions.counts import MAX_CELLS
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array, Shape

MAX_ELEMENTS = 10**7
"""Largest set; what works without a table works up to here in seconds."""

MAX_WEIGHT = 1e6
"""Largest weight of a mistake; far beyond it the squares in F-beta overflow."""

NAMES = (*(name for name in NAMED_LOSSES if name not in PAPER_CURVES), "tversky", "fbeta", *PAPER_CURVES)

WEIGHTS = {"tversky": ("alpha", "beta"), "fbeta": ("beta",)}
"""The weights that a named loss needs; an option that has no use is refused."""

WORDS = {
    "pos": "the number of positive elements",
    "neg": "the number of negative elements",
    "size": "the number of elements",
    "alpha": "the weight of a false positive",
    "beta": "the weight of false negatives",
}

_option = partial(panel_option, "The loss")


@dataclass(frozen=True)
class LossOptions:
    """The loss to decide for, as given; `read` checks it."""

    loss: Annotated[str | None, _option(f"Named loss: {', '.join(NAMES)}.")] = None
    alpha: Annotated[float | None, _option("Weight of a false positive (tversky).")] = None
    beta: Annotated[float | None, _option("Weight of a false negative (tversky), or the beta of fbeta.")] = None
    knots: Annotated[str | None, _option('Cost curve through share:cost, as "0:0,1/4:1,1:1".', metavar="KNOTS")] = (
        None
    )

    def read(self) -> Any:
        """The name of the loss (f1 where none is given), or a `Loss` where it has parameters; or an `InputError`."""
        if self.knots is not None and self.loss is not None:
            raise InputError("give --loss or --knots, not both")
        name = "--knots" if self.knots is not None else (self.loss or "f1").lower()
        if name not in ("--knots", *NAMES):
            raise InputError(f"there is no loss {name!r}; the names are {', '.join(NAMES)}")
        self._check_options(name, WEIGHTS.get(name, ()), ("alpha", "beta"))
        if self.knots is not None:
            return curve_through(self.knots)
        if name == "tversky":
            return Tversky(self.alpha or 0.0, self.beta or 0.0)
        return FBeta(self.beta or 0.0) if name == "fbeta" else name

    def _check_options(self, what: str, needs: tuple[str, ...], known: tuple[str, ...]) -> None:
        """Refuse options that are missing, that have no use here, and values that make no sense."""
        missing = [f"--{option} ({WORDS[option]})" for option in needs if getattr(self, option) is None]
        if missing:
            raise InputError(f"{what} needs {' and '.join(missing)}")
        for option in known:
            value, lowest = getattr(self, option), 1 if option == "size" else 0
            if value is not None and option not in needs:
                takes = " and ".join(f"--{need}" for need in needs) or "neither --" + " nor --".join(known)
                raise InputError(f"{what} takes {takes}; leave --{option} out")
            if value is not None and not lowest <= value <= (
                MAX_WEIGHT if option in WEIGHTS["tversky"] else math.inf
            ):
                upper = f"from 0 to {MAX_WEIGHT:g}" if option in WEIGHTS["tversky"] else f"at least {lowest}"
                raise InputError(f"--{option} is {WORDS[option]}, {upper}; got {value:g}")


@dataclass(frozen=True)
class DescribedFunction:
    """A set function, what to call it, and the shape its values are reported in."""

    function: SetFunction
    title: str
    shape: Shape
    general: bool = False


@dataclass(frozen=True)
class SetFunctionOptions(LossOptions):
    """The options that describe a set function, as given; `describe` checks them and builds it."""

    pos: Annotated[int | None, _option("Positive elements of the example.")] = None
    neg: Annotated[int | None, _option("Negative elements of the example.")] = None
    size: Annotated[int | None, _option("Elements of a cost curve's set.")] = None
    table: Annotated[
        Path | None,
        _option("CSV or npy file: c(0), ..., c(p), or false negatives (rows) x false positives (columns)."),
    ] = None
    general: Annotated[
        bool,
        _option("The table lists all 2^p sets, element 0 the leading bit: flat, or (2, ..., 2).", "--general"),
    ] = False

    def describe(self) -> DescribedFunction:
        """The set function, or an `InputError`."""
        kinds = [kind for kind in ("loss", "knots", "table") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            given = " and ".join(f"--{kind}" for kind in kinds) or "none"
            raise InputError(f"give exactly one of --loss, --knots and --table; got {given}")
        if self.general and self.table is None:
            raise InputError("--general goes with --table only")
        if self.table is not None:
            self._check_options("--table", (), tuple(WORDS))
            return self._from_table(self.table)
        loss = self.read()
        name = "--knots" if self.knots is not None else str(self.loss).lower()
        is_curve = name == "--knots" or name in PAPER_CURVES
        self._check_options(name, ("size",) if is_curve else ("pos", "neg"), ("pos", "neg", "size"))
        pos, neg = self.size if is_curve else self.pos, 0 if is_curve else self.neg
        elements = (pos or 0) + (neg or 0)
        if not 0 < elements <= MAX_ELEMENTS:
            raise InputError(f"{elements} elements are too few or too many; the limit is {MAX_ELEMENTS}")
        function = as_loss(loss).on_counts(pos or 0, neg or 0)
        if is_curve:
            title = f"{'cost curve' if self.knots else name}, {_count(elements, 'element')}"
            return DescribedFunction(function, title, (elements + 1,))
        weights = "".join(f", {option} {getattr(self, option):g}" for option in WEIGHTS.get(name, ()))
        title = f"{name}{weights}, {_count(pos or 0, 'positive')} and {_count(neg or 0, 'negative')}"
        return DescribedFunction(function, title, ((pos or 0) + 1, (neg or 0) + 1))

    def _from_table(self, path: Path) -> DescribedFunction:
        values = read_cost_table(path)
        if values.size == 1:
            raise InputError(f"{path} has the value of the empty set only; a table needs at least one element")
        if not self.general and values.ndim > 2:
            raise InputError(
                f"{path} has {values.ndim} axes; a table has one (a curve) or two (false negatives x false "
                "positives), and --general reads one of shape (2, ..., 2)"
            )
        build = SetFunction.from_values if self.general else SetFunction.from_table
        try:
            function = build(values)
        except ValueError as error:
            raise InputError(f"{path}: {error}") from None
        kind = "all subsets of " if self.general else ""
        title = f"{path.name}, {kind}{_count(function.p, 'element')}"
        return DescribedFunction(function, title, values.shape, self.general)


def curve_through(knots: str) -> CostCurve:
    """The cost curve of --knots, ``"0:0,1/4:1,1:1"``: shares, which may be fractions, and costs."""
    pairs = []
    for knot in knots.split(","):
        share, _, cost = knot.partition(":")
        try:
            pairs.append((_number(share), _number(cost)))
        except (ValueError, ZeroDivisionError):
            raise InputError(
                f"--knots: {shown(knot.strip())} is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1"
            ) from None
    try:
        return CostCurve(tuple(pairs))
    except ValueError as error:
        raise InputError(f"--knots: {error}") from None


def _number(text: str) -> float:
    top, slash, bottom = text.partition("/")
    value = float(top) / float(bottom) if slash else float(text)
    if "_" in text or not math.isfinite(value):
        raise ValueError
    return value


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def read_cost_table(path: Path) -> Array:
    """The numbers of a .csv or .npy file, all finite; a CSV file of one row or one column has one axis."""
    if path.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{path}: a table is a .csv or .npy file, not {path.suffix or 'a file without suffix'}")
    if not path.is_file():
        raise InputError(f"{path} is no file; a table is a .csv or .npy file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file without rows
            if path.suffix.lower() == ".npy":
                values = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                values = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig", comments=None)
                values = values.ravel() if 1 in values.shape else values
    except Exception as error:  # NumPy raises almost anything for bytes that it did not write
        why = reason(error).partition("; use")[0]
        raise InputError(f"{path} is not a table of numbers: {why}; cells are numbers, without a header") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf" or values.ndim == 0 or values.size == 0:
        raise InputError(f"{path} holds no real numbers; a table needs at least one axis and one value")
    if values.size > MAX_CELLS:
        raise InputError(f"{path} has {values.size} values; the limit is {MAX_CELLS}")
    finite = np.isfinite(values)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InputError(f"entry {where} of {path} is {values[where]}; every value must be finite")
    return values.astype(np.float64)
