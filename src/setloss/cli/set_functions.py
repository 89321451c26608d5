"""The set function or loss a command speaks of: a named loss, a cost curve, or a table of costs from a file."""

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from setloss.cli.commands import InputError
from setloss.files import not_a_file
from setloss.io.data import reason, shown
from setloss.losses import NAMED_LOSSES, PAPER_CURVES, CostCurve, CountLoss, FBeta, Tversky
from setloss.setfunctions.counts import MAX_CELLS
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array, Shape

MAX_ELEMENTS = 10**7
"""Largest set; what works without a table works up to here in seconds."""

MAX_WEIGHT = 1e6
"""Largest weight of a mistake; far beyond it the squares in F-beta overflow."""

NAMES = (*(name for name in NAMED_LOSSES if name not in PAPER_CURVES), "tversky", "fbeta", *PAPER_CURVES)

# What each kind of set function needs; every other option of `SetFunctionOptions` would be ignored and is refused.
COUNTS, CURVE = ("pos", "neg"), ("size",)
NEEDS = {"tversky": (*COUNTS, "alpha", "beta"), "fbeta": (*COUNTS, "beta")} | dict.fromkeys(PAPER_CURVES, CURVE)

WORDS = {
    "pos": "the number of positive elements",
    "neg": "the number of negative elements",
    "size": "the number of elements",
    "alpha": "the weight of a false positive",
    "beta": "the weight of false negatives",
}


PANEL = "The loss"
"""Panel of the help for options that name a loss."""

AlphaOption = Annotated[
    float | None, typer.Option(help="Weight of a false positive (tversky).", rich_help_panel=PANEL)
]
BetaOption = Annotated[
    float | None,
    typer.Option(help="Weight of a false negative (tversky), or the beta of fbeta.", rich_help_panel=PANEL),
]
KnotsOption = Annotated[
    str | None,
    typer.Option(help='Cost curve through share:cost, as "0:0,1/4:1,1:1".', metavar="KNOTS", rich_help_panel=PANEL),
]


@dataclass(frozen=True)
class DescribedFunction:
    """A set function, what to call it, and the shape its values are reported in."""

    function: SetFunction
    title: str
    shape: Shape
    general: bool = False


@dataclass(frozen=True)
class SetFunctionOptions:
    """The options that describe a set function, as given; `read` checks them and builds it."""

    loss: Annotated[str | None, typer.Option(help=f"Named loss: {', '.join(NAMES)}.", rich_help_panel=PANEL)] = None
    pos: Annotated[int | None, typer.Option(help="Positive elements of the example.", rich_help_panel=PANEL)] = None
    neg: Annotated[int | None, typer.Option(help="Negative elements of the example.", rich_help_panel=PANEL)] = None
    alpha: AlphaOption = None
    beta: BetaOption = None
    knots: KnotsOption = None
    size: Annotated[int | None, typer.Option(help="Elements of a cost curve's set.", rich_help_panel=PANEL)] = None
    table: Annotated[
        Path | None,
        typer.Option(
            help="CSV or npy file: c(0), ..., c(p), or false negatives (rows) x false positives (columns).",
            rich_help_panel=PANEL,
        ),
    ] = None
    general: Annotated[
        bool,
        typer.Option(
            "--general",
            help="The table lists all 2^p sets, element 0 the leading bit: flat, or (2, ..., 2).",
            rich_help_panel=PANEL,
        ),
    ] = False

    def read(self) -> DescribedFunction:
        """The set function, or an `InputError`."""
        kinds = [kind for kind in ("loss", "knots", "table") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            given = " and ".join(f"--{kind}" for kind in kinds) or "none"
            raise InputError(f"give exactly one of --loss, --knots and --table; got {given}")
        return {"loss": self._from_loss, "knots": self._from_knots, "table": self._from_table}[kinds[0]]()

    def _from_loss(self) -> DescribedFunction:
        name = str(self.loss).lower()
        if name not in NAMES:
            raise InputError(f"there is no loss {self.loss!r}; the names are {', '.join(NAMES)}")
        needs = NEEDS.get(name, COUNTS)
        self._require(f"--loss {name}", needs)
        if needs == CURVE:
            return self._curve(name, PAPER_CURVES[name])
        pos, neg = self.pos or 0, self.neg or 0
        with_weights = "".join(f", {option} {getattr(self, option):g}" for option in needs[2:])
        title = f"{name}{with_weights}, {_count(pos, 'positive')} and {_count(neg, 'negative')}"
        return DescribedFunction(self._counted(name).on_counts(pos, neg), title, (pos + 1, neg + 1))

    def _counted(self, name: str) -> CountLoss:
        if name in NAMED_LOSSES:
            return NAMED_LOSSES[name]  # type: ignore[return-value]
        return weighted_loss(name, self.alpha, self.beta)

    def _from_knots(self) -> DescribedFunction:
        self._require("--knots", CURVE)
        return self._curve("cost curve", curve_through(str(self.knots)))

    def _curve(self, name: str, curve: CostCurve) -> DescribedFunction:
        size = self.size or 0
        return DescribedFunction(curve.on_counts(size, 0), f"{name}, {_count(size, 'element')}", (size + 1,))

    def _from_table(self) -> DescribedFunction:
        self._require("--table", ())
        path = Path(str(self.table))
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

    def _require(self, what: str, needs: tuple[str, ...]) -> None:
        """All of the options this kind needs, none of the others, and each with a value that makes sense."""
        missing = [option for option in needs if getattr(self, option) is None]
        if missing:
            listed = " and ".join(f"--{option} ({WORDS[option]})" for option in missing)
            raise InputError(f"{what} needs {listed}")
        for option in WORDS:
            if option not in needs and getattr(self, option) is not None:
                takes = " and ".join(f"--{need}" for need in needs) or "no sizes and no weights"
                raise InputError(f"{what} takes {takes}, not --{option}")
        if self.general and self.table is None:
            raise InputError("--general goes with --table only")
        self._check_values(needs)

    def _check_values(self, needs: tuple[str, ...]) -> None:
        for option in needs:
            value, lowest = getattr(self, option), 1 if option == "size" else 0
            if option in ("alpha", "beta"):
                check_weight(option, value)
            elif value < lowest:
                raise InputError(f"--{option} is {WORDS[option]}, at least {lowest}; got {value}")
        elements = sum(getattr(self, option) for option in needs if option in (*COUNTS, *CURVE))
        if needs and elements == 0:
            raise InputError("--pos and --neg are both 0; a set needs at least one element")
        if elements > MAX_ELEMENTS:
            raise InputError(f"{elements} elements are too many here; the limit is {MAX_ELEMENTS}")


@dataclass(frozen=True)
class LossOptions:
    """The loss to decide for, as given; `read` checks it."""

    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Named loss: {', '.join(NAMES)}.", show_default="f1, or that of the training", rich_help_panel=PANEL
        ),
    ] = None
    alpha: AlphaOption = None
    beta: BetaOption = None
    knots: KnotsOption = None

    def read(self) -> Any:
        """The name of the loss, or a `Loss` where it has parameters; or an `InputError`."""
        if self.knots is not None and self.loss is not None:
            raise InputError("give --loss or --knots, not both")
        name = "--knots" if self.knots is not None else (self.loss or "f1").lower()
        if name != "--knots" and name not in NAMES:
            raise InputError(f"there is no loss {self.loss!r}; the names are {', '.join(NAMES)}")
        needs = [word for word in NEEDS.get(name, ()) if word in ("alpha", "beta")]
        for option in ("alpha", "beta"):
            value = getattr(self, option)
            if (value is None) == (option in needs):
                raise InputError(f"{name} {'needs' if value is None else 'takes no'} --{option} ({WORDS[option]})")
            if value is not None:
                check_weight(option, value)
        if self.knots is not None:
            return curve_through(self.knots)
        return weighted_loss(name, self.alpha, self.beta) if needs else name


def check_weight(option: str, value: float) -> None:
    """Refuse a weight that makes no sense."""
    if not 0 <= value <= MAX_WEIGHT:
        raise InputError(f"--{option} is {WORDS[option]}, from 0 to {MAX_WEIGHT:g}; got {value:g}")


def weighted_loss(name: str, alpha: float | None, beta: float | None) -> CountLoss:
    """The Tversky or F-beta loss of options that have been checked."""
    return Tversky(alpha or 0.0, beta or 0.0) if name == "tversky" else FBeta(beta or 0.0)


def curve_through(knots: str) -> CostCurve:
    """The cost curve of --knots, or an `InputError`."""
    try:
        return CostCurve(parse_knots(knots))
    except ValueError as error:
        raise InputError(f"--knots: {error}") from None


def parse_knots(text: str) -> tuple[tuple[float, float], ...]:
    """``"0:0,1/4:1,1:1"`` as pairs (share, cost); shares may be fractions."""
    knots = []
    for knot in text.split(","):
        share, colon, cost = knot.partition(":")
        try:
            if not colon:
                raise ValueError
            knots.append((_number(share), _number(cost)))
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"{shown(knot.strip())} is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1"
            ) from None
    return tuple(knots)


def _number(text: str) -> float:
    if "_" in text:
        raise ValueError
    top, slash, bottom = text.partition("/")
    value = float(top) / float(bottom) if slash else float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ------------------------------------------------------------------ tables of costs


def read_cost_table(path: Path) -> Array:
    """The numbers of a .csv or .npy file, all finite; a CSV file of one row or one column has one axis."""
    if path.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{path}: a table is a .csv or .npy file, not {path.suffix or 'a file without suffix'}")
    wrong = not_a_file(path)
    if wrong is not None or not path.exists():
        raise InputError(f"{path} is {wrong or 'no file'}; a table is a .csv or .npy file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file without rows
            is_csv = path.suffix.lower() == ".csv"
            values = _csv_numbers(path) if is_csv else np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError, TypeError, TokenError) as error:
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


def _csv_numbers(path: Path) -> NDArray[Any]:
    values = np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig", comments=None)
    return values.ravel() if 1 in values.shape else values
