"""Train predictors for the set-level loss they are judged by.

The tree follows the paper, "A Convex Surrogate Operator for General Non-Modular Loss Functions" (Yu and
Blaschko, AISTATS 2016): set functions (`SetFunction`, verdicts), losses (`Dice`, `CostCurve`, ...), the
decomposition D (`decompose`); then `setloss.operators` (S, M, L, B_D), `setloss.plans.batch`, `setloss.solvers`,
`setloss.estimators`, and the laws in `setloss.testing`.
"""

from importlib import import_module
from typing import Any

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
from setloss.setfunctions.closure import monotone_closure
from setloss.setfunctions.properties import (
    Verdict,
    is_increasing,
    is_modular,
    is_nonnegative,
    is_submodular,
    is_supermodular,
    is_symmetric,
    verdicts,
)
from setloss.setfunctions.set_function import SetFunction

__version__ = "0.2.0"

__all__ = [
    "Certificate",
    "CostCurve",
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
    "loss_named",
    "monotone_closure",
    "verdicts",
    "verify_decomposition",
]


def __getattr__(name: str) -> Any:
    """`save` and `load` of models, imported with scikit-learn when they are first asked for."""
    if name in ("load", "save"):
        return getattr(import_module("setloss.estimators.persistence"), name)
    raise AttributeError(f"module 'setloss' has no attribute {name!r}")
