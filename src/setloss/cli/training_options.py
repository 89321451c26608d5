"""What `setloss train` asks for: the loss, and how to train."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.commands import names_in
from setloss.cli.errors import InputError
from setloss.cli.set_function_options import (
    NAMES,
    NEEDS,
    PANEL,
    WORDS,
    AlphaOption,
    BetaOption,
    KnotsOption,
    check_weight,
    curve_through,
    weighted_loss,
)
from setloss.defaults import LINEAR_MODELS

MODEL = "The model"
CHOICE = "Choosing C by cross-validation"
STOP = "When to stop, and how to resume"
"""Panels of the help."""


@dataclass(frozen=True)
class LossOptions:
    """The loss to train for, as given; `read` checks it."""

    loss: Annotated[
        str | None,
        typer.Option(
            help=f"Named loss: {', '.join(NAMES)}; for predict also module:function of your own, a callable of true "
            "and predicted labels.",
            show_default="dice to train, that of the training to predict",
            rich_help_panel=PANEL,
        ),
    ] = None
    alpha: AlphaOption = None
    beta: BetaOption = None
    knots: KnotsOption = None

    def read_if_given(self) -> Any:
        """What `read` gives, or a callable of the user's; None if no option names a loss."""
        if self.loss is not None and ":" in self.loss:
            return metric_named(self.loss)
        return None if self == LossOptions() else self.read()

    def read(self) -> Any:
        """The name of the loss, or a `Loss` where it has parameters; or an `InputError`."""
        if self.knots is not None:
            if self.loss is not None:
                raise InputError("give --loss or --knots, not both")
            self._require("--knots", ())
            return curve_through(self.knots)
        name = (self.loss or "dice").lower()
        if ":" in name:
            raise InputError(
                f"{self.loss} is code, and a model file holds none; train for a named loss or --knots, and name the "
                "function when you predict"
            )
        if name not in NAMES:
            raise InputError(f"there is no loss {self.loss!r}; the names are {', '.join(NAMES)}")
        self._require(f"--loss {name}", tuple(w for w in NEEDS.get(name, ()) if w in ("alpha", "beta")))
        return weighted_loss(name, self.alpha, self.beta) if name in ("tversky", "fbeta") else name

    def _require(self, what: str, needs: tuple[str, ...]) -> None:
        for option in ("alpha", "beta"):
            value = getattr(self, option)
            if option in needs and value is None:
                raise InputError(f"{what} needs --{option} ({WORDS[option]})")
            if option not in needs and value is not None:
                raise InputError(f"{what} takes no --{option}")
            if value is not None:
                check_weight(option, value)


def metric_named(text: str) -> Any:
    """The loss of a callable ``(y_true, y_pred) -> float``, named as module:function, or an `InputError`."""
    import importlib
    import sys

    from setloss.losses import as_loss

    module, _, function = text.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules of the folder the command is called in
    try:
        return as_loss(getattr(importlib.import_module(module), function))
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InputError(f"--loss {text}: there is no such callable ({error})") from None


@dataclass(frozen=True)
class TrainingOptions:
    """How to train, as given; `check` refuses what cannot work before any data are read."""

    method: Annotated[
        str | None,
        typer.Option(
            help="The name of an operator, as --operator.",
            show_default=LINEAR_MODELS.operator,
            rich_help_panel=MODEL,
        ),
    ] = None
    operator: Annotated[
        str | None,
        typer.Option(
            help="Surrogate: slack, margin, bd, bd-monotone, lovasz or hinge.",
            show_default=LINEAR_MODELS.operator,
            rich_help_panel=MODEL,
        ),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="What the losses weigh against small coefficients; --cv chooses it.",
            show_default="1",
            rich_help_panel=MODEL,
        ),
    ] = None
    cv: Annotated[
        int | None,
        typer.Option(
            help="Choose C (and operator) by cross-validation on so many folds.",
            min=2,
            metavar="FOLDS",
            rich_help_panel=CHOICE,
        ),
    ] = None
    Cs: Annotated[
        str | None,
        typer.Option(
            "--Cs",
            help="With --cv: the values of C to try.",
            metavar="C,C,...",
            show_default="0.01,0.1,1,10",
            rich_help_panel=CHOICE,
        ),
    ] = None
    operators: Annotated[
        str | None,
        typer.Option(
            help="With --cv: the operators to try, as bd,slack,hinge.", metavar="NAME,...", rich_help_panel=CHOICE
        ),
    ] = None
    scale: Annotated[
        float, typer.Option(help="The scale c of rescaled parts; the paper has 2.", rich_help_panel=MODEL)
    ] = LINEAR_MODELS.scale
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.", rich_help_panel=STOP)] = 1e-3
    max_iter: Annotated[int, typer.Option(help="Most iterations (of each fit).", rich_help_panel=STOP)] = 1000
    max_time: Annotated[float | None, typer.Option(help="Most seconds (of each fit).", rich_help_panel=STOP)] = None
    solver: Annotated[
        str,
        typer.Option(help="auto, frank_wolfe, newton, cutting_plane or n_slack.", rich_help_panel=STOP),
    ] = "auto"
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="Scores without a constant.", rich_help_panel=MODEL)
    ] = False
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize/--no-standardize",
            help="Train on features of mean 0 and deviation 1 (over all of DATA, also with --cv), sparse ones on a "
            "largest absolute value of 1. The model written takes features as they are.",
            rich_help_panel=MODEL,
        ),
    ] = True
    seed: Annotated[
        int,
        typer.Option(help="Seed of the visiting order and of the folds.", min=0, metavar="N", rich_help_panel=STOP),
    ] = 0
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File to save the solver's state to, and to resume from.", rich_help_panel=STOP),
    ] = None

    def check(self) -> None:
        """Refuse unknown names, impossible numbers and options that exclude each other."""
        from setloss.operators.names import operator_named
        from setloss.solvers import Limits
        from setloss.solvers.choice import SOLVER_NAMES

        self._check_exclusions()
        if self.solver not in SOLVER_NAMES:
            raise InputError(f"there is no solver {self.solver!r}; the names are {', '.join(SOLVER_NAMES)}")
        if self.C is not None and not 0 < self.C < float("inf"):
            raise InputError(f"--C must be a positive number; got {self.C:g}")
        self.path()
        try:
            for name in self.operator_list():
                operator_named(name, self.scale)
            Limits(self.tol, self.max_iter, self.max_time)
        except ValueError as error:
            raise InputError(str(error)) from None
        if self.checkpoint is not None and not self.checkpoint.parent.is_dir():
            raise InputError(f"--checkpoint: there is no directory {self.checkpoint.parent}")

    def _check_exclusions(self) -> None:
        for option, value in (("--Cs", self.Cs), ("--operators", self.operators)):
            if self.cv is None and value is not None:
                raise InputError(f"{option} goes with --cv only")
        for option, given in (("--C", self.C is not None), ("--checkpoint", self.checkpoint is not None)):
            if self.cv is not None and given:
                raise InputError(f"{option} goes without --cv only; --cv tries every value of --Cs")
        if sum(name is not None for name in (self.operators, self.operator, self.method)) > 1:
            raise InputError("give one of --method, --operator and --operators")

    def operator_list(self) -> list[str]:
        """The operators to choose from; usually one."""
        named = self.operators or self.operator or self.method or LINEAR_MODELS.operator
        return names_in(named)

    def path(self) -> list[float]:
        """The values of C to choose from."""
        try:
            values = [float(text) for text in (self.Cs or "0.01,0.1,1,10").split(",")]
        except ValueError:
            values = []
        if not values or not all(0 < value < float("inf") for value in values):
            raise InputError(f"--Cs is a list of positive numbers, as 0.01,0.1,1,10; got {self.Cs!r}")
        return values

    def fits(self) -> int:
        """How many times the solver runs."""
        return 1 if self.cv is None else self.cv * len(self.path()) * len(self.operator_list()) + 1

    def single(self) -> dict[str, Any]:
        """The parameters of an estimator that is trained once."""
        checkpoint = None if self.checkpoint is None else str(self.checkpoint)
        return {"C": 1.0 if self.C is None else self.C, "checkpoint": checkpoint}

    def shared(self) -> dict[str, Any]:
        """The parameters that all estimators take."""
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        own = {"operator": self.operator_list()[0], "scale": self.scale, "fit_intercept": not self.no_intercept}
        return own | limits | {"solver": self.solver, "random_state": self.seed}
