"""Solvers that train to a certified duality gap.

`Problem` says what is minimised, a method (`FrankWolfe`, `ADMM`, `CuttingPlane`, `NSlack`) how, and
`solve` runs the one loop and returns a `Solution`.
"""

from setloss.solvers.admm import ADMM
from setloss.solvers.choice import solve
from setloss.solvers.cutting_plane import CuttingPlane, NSlack
from setloss.solvers.frank_wolfe import FrankWolfe
from setloss.solvers.kernel_arrays import Design
from setloss.solvers.loop import Limits
from setloss.solvers.problem import Problem
from setloss.solvers.solution import Record, Solution, Status

__all__ = [
    "ADMM",
    "CuttingPlane",
    "Design",
    "FrankWolfe",
    "Limits",
    "NSlack",
    "Problem",
    "Record",
    "Solution",
    "Status",
    "solve",
]
