"""Train predictors for the set-level loss they are judged by.

The tree follows the paper, "A Convex Surrogate Operator for General Non-Modular Loss Functions" (Yu and
Blaschko, AISTATS 2016): set functions (`SetFunction`, verdicts), losses (`Dice`, `CostCurve`, ...), the
decomposition D (`decompose`); then `setloss.operators` (S, M, L, B_D), `setloss.plans.batch`, `setloss.solvers`,
`setloss.estimators`, and the laws in `setloss.testing`. Beyond the paper: `decide` and `CountModel`, decisions that
know the set (`setloss.decisions`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from setloss.decomposition import (
    Certificate,
    Decomposition,
    DecompositionError,
    Verification,
    decompose,
    verify_decomposition,
)
from setloss.losses import (
    CostCurve,
    Dice,
    FBeta,
    Hamming,
    Jaccard,
    Loss,
    Tversky,
    as_loss,
    from_counts,
    from_metric,
    from_set_function,
    loss_named,
)
from setloss.setfunctions.properties import (
    Verdict,
    is_increasing,
    is_modular,
    is_nonnegative,
    is_submodular,
    is_supermodular,
    is_symmetric,
    monotone_closure,
    verdicts,
)
from setloss.setfunctions.set_function import SetFunction

if TYPE_CHECKING:
    from setloss.decisions import CountModel, decide, decide_samples
    from setloss.io.models import load, save

__version__ = "0.4.0"

__all__ = [
    "Certificate",
    "CostCurve",
    "CountModel",
    "Decomposition",
    "DecompositionError",
    "Dice",
    "FBeta",
    "Hamming",
    "Jaccard",
    "Loss",
    "SetFunction",
    "Tversky",
    "Verdict",
    "Verification",
    "as_loss",
    "decide",
    "decide_samples",
    "decompose",
    "from_counts",
    "from_metric",
    "from_set_function",
    "is_increasing",
    "is_modular",
    "is_nonnegative",
    "is_submodular",
    "is_supermodular",
    "is_symmetric",
    "load",
    "loss_named",
    "monotone_closure",
    "save",
    "verdicts",
    "verify_decomposition",
]

_LATER = {".decisions": ("CountModel", "decide", "decide_samples"), ".io.models": ("load", "save")}
"""Names that bring SciPy or scikit-learn with them: imported when they are first asked for."""

_PACKAGES = ("dask", "decisions", "estimators", "io", "nn", "operators", "plots", "solvers", "testing")
"""Packages that need no import of their own: `setloss.io.read` after ``import setloss``."""


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for."""
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
