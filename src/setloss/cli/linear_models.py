"""``setloss train --method slack`` and other surrogates: linear models of the paper, trained to a certified gap."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from setloss.cli.commands import InputError, panel_option
from setloss.defaults import LINEAR_MODELS

SURROGATES = ("slack", "margin", "bd", "bd-monotone", "lovasz", "hinge")
"""Names of operators that give a linear model something to minimise."""

_option = partial(panel_option, "Linear models")


@dataclass(frozen=True)
class LinearOptions:
    """How to train a linear model, as given."""

    C: Annotated[
        str,
        _option(
            "What losses weigh against small coefficients; of several, as 0.1,1,10, cross-validation keeps one.",
            "--C",
        ),
    ] = "1"
    scale: Annotated[float, _option("Scale of the rescaled part of a surrogate.")] = LINEAR_MODELS.scale
    tol: Annotated[float, _option("Relative duality gap to reach.")] = 1e-3
    max_iter: Annotated[int, _option("Most iterations.")] = 1000
    max_time: Annotated[float | None, _option("Most seconds.")] = None

    def path(self) -> list[float]:
        """The values of C."""
        try:
            values = [float(text) for text in self.C.split(",")]
        except ValueError:
            values = [-1.0]
        if min(values) <= 0:
            raise InputError(f"--C is a positive number, or several with commas between, as 0.1,1,10; got {self.C!r}")
        return values

    def scorers(self, operator: str, loss: Any) -> list[Any]:
        """A classifier for each C."""
        from setloss.estimators import SetClassifier

        return [SetClassifier(C=C, **self._common(operator, loss)) for C in self.path()]

    def as_in_the_paper(self, operator: str, loss: Any, cv: int) -> Any:
        """The classifier that goes by the signs of its scores."""
        from setloss.estimators import SetClassifierCV

        path = self.path()
        if len(path) == 1:
            return self.scorers(operator, loss)[0].set_params(verbose=1)
        return SetClassifierCV(Cs=path, cv=cv, verbose=1, **self._common(operator, loss))

    def _common(self, operator: str, loss: Any) -> dict[str, Any]:
        limits = {"tol": self.tol, "max_iter": self.max_iter, "max_time": self.max_time}
        return {"loss": loss, "operator": operator, "scale": self.scale, "random_state": 0, **limits}


def ending(estimator: Any) -> dict[str, Any]:
    """How the training of a linear model ended: its status and its gap; None for others."""
    scorer = getattr(estimator, "estimator_", estimator)
    solution = getattr(scorer[-1] if hasattr(scorer, "steps") else scorer, "solution_", None)
    if solution is None:
        return {"status": None, "gap": None}
    return {"status": str(solution.status), "gap": float(solution.gap) if math.isfinite(solution.gap) else None}
