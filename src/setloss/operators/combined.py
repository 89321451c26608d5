"""The paper's operator: L of the submodular part plus S of the supermodular part."""

from __future__ import annotations

from setloss.decomposition import decompose
from setloss.operators.cut import Surrogate
from setloss.operators.lovasz import LovaszHinge
from setloss.operators.rescaling import SlackRescaling
from setloss.setfunctions.set_function import SetFunction


def B_D(function: SetFunction, *, monotone: bool = False, scale: float = 2.0) -> Surrogate:
    """B_D l = L f + S g with g = D l and f = l - g   (Equation 20).

    An extension of l iff f >= 0. With ``monotone=True`` the Lovász hinge is that of the monotone closure f_up of f,
    with the element-wise positive part: what the printed operator lacks on mixed sets. Where f is not increasing
    that is neither an extension nor an upper bound of l, but one of f_up + g; where f has negative values (cost
    curves 3 and 4) there is no closure, and a `ValueError` says so.
    """
    parts = decompose(function)
    hinge = LovaszHinge.of_closure if monotone else LovaszHinge
    return hinge(parts.submodular) + SlackRescaling(parts.supermodular, scale)
