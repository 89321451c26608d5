"""Convex surrogates S, M, L and B_D of a set function l of mistakes, as exact cuts.

The conventions, fixed here once. For scores h in R^p and labels y in {-1, +1}^p,

    m_i = h_i y_i      the margin of element i; positive is right, and a score of exactly 0 predicts -1
    s_i = 1 - m_i      the slack; the unit cube of the paper's Definition 10 is s in [0, 1]^p

and every surrogate is a function of the margin vector m alone. A `Cut` is an affine minorant

    B(m') >= offset - <slope, m'>   for every m',   with equality at the m it was asked for.

The value, the subgradient ``-slope``, the cutting-plane constraint and the Frank-Wolfe vertex are all read off
the same cut, and cuts add up.
"""

from setloss.operators.cut import Cut, Surrogate, SurrogateSum
from setloss.operators.lovasz import Hinge, LovaszHinge
from setloss.operators.names import B_D, operator_named
from setloss.operators.rescaling import MarginRescaling, SlackRescaling

__all__ = [
    "B_D",
    "Cut",
    "Hinge",
    "LovaszHinge",
    "MarginRescaling",
    "SlackRescaling",
    "Surrogate",
    "SurrogateSum",
    "operator_named",
]
