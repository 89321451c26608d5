"""Convex surrogates S, M, L and B_D of a set function l of mistakes, as exact cuts.

The conventions, fixed here once. For scores h in R^p and labels y in {-1, +1}^p,

    m_i = h_i y_i      the margin of element i; positive is right, and a score of exactly 0 predicts -1
    s_i = 1 - m_i      the slack; the unit cube of the paper's Definition 10 is s in [0, 1]^p

and every surrogate is a function of the margin vector m alone. A `Cut` is an affine minorant

    B(m') >= offset - <slope, m'>   for every m',   with equality at the m it was asked for.

The value, the subgradient ``-slope``, the cutting-plane constraint and the Frank-Wolfe vertex are all read off
the same cut, and cuts add up.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from setloss.decomposition import decompose
from setloss.losses.families import Family
from setloss.operators.cut import Cut, Surrogate
from setloss.operators.lovasz import Hinge, LovaszHinge, PositivePart, hinge_like
from setloss.operators.rescaling import MarginRescaling, Scale, SlackRescaling, check_scale
from setloss.setfunctions.set_function import SetFunction

__all__ = ["B_D", "Cut", "Hinge", "LovaszHinge", "MarginRescaling", "SlackRescaling", "Surrogate", "operator_named"]

Operator = Callable[[Any], Surrogate]
"""A map from a set function to its surrogate, or from a family, such as a loss, to the surrogates of all sets."""


def B_D(
    function: SetFunction | Family,
    *,
    monotone: bool = False,
    positive_part: PositivePart | None = None,
    scale: Scale = 2.0,
) -> Surrogate:
    """B_D l = L f + S g with g = D l and f = l - g   (Equation 20), of one set function or of a whole loss.

    An extension of l iff f >= 0. Equation 20 as printed takes the outer positive part of L, which is
    ``positive_part="outer"``. By default `LovaszHinge` takes the element-wise positive part where f is increasing,
    which is larger and bounds f at every prediction, and the outer one where it is not.

    With ``monotone=True`` the Lovász hinge is that of the monotone closure f_up of f, with the element-wise positive
    part: what the printed operator lacks on mixed sets. Where f is not increasing that is neither an extension nor an
    upper bound of l, but one of f_up + g; where f has negative values (cost curves 3 and 4) there is no closure,
    and a `ValueError` says so.

    Examples
    --------
    >>> from setloss import Dice
    >>> surrogate = B_D(Dice())  # of all sets
    >>> surrogate.on_labels([1, 1, 0])([0.5, -0.5, 2.0])  # at the margins of one
    1.0
    """
    if monotone and positive_part == "outer":
        raise ValueError('the monotone closure takes the element-wise positive part; leave out positive_part="outer"')
    parts = decompose(function)
    f = parts.submodular
    hinge = LovaszHinge.of_closure(f) if monotone else LovaszHinge(f, positive_part)
    return hinge + SlackRescaling(parts.supermodular, scale)


_OPERATORS: dict[str, Callable[[Scale], Operator]] = {
    "bd": lambda scale: partial(B_D, scale=scale),
    "bd-monotone": lambda scale: partial(B_D, scale=scale, monotone=True),
    "slack": lambda scale: partial(SlackRescaling, scale=scale),
    "margin": lambda scale: partial(MarginRescaling, scale=scale),
    "lovasz": lambda _: LovaszHinge,
    "hinge": lambda _: hinge_like,
}

OPERATOR_NAMES = tuple(_OPERATORS)


def operator_named(name: str, scale: Scale = 2.0) -> Operator:
    """The operator of that name: a function from set functions, or from losses, to surrogates.

    Examples
    --------
    >>> from setloss import Dice
    >>> float(operator_named("slack", 1.0)(Dice().set_function([1, 0]))([0.0, 0.0]))
    1.0
    """
    if name not in _OPERATORS:
        raise ValueError(f"there is no operator {name!r}; the names are {', '.join(OPERATOR_NAMES)}")
    check_scale(scale)
    return _OPERATORS[name](scale)
