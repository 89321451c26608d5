"""Operators by name, as estimators, modules and the command line call them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from setloss.operators.combined import B_D
from setloss.operators.cut import Surrogate
from setloss.operators.lovasz import LovaszHinge
from setloss.operators.rescaling import MarginRescaling, SlackRescaling
from setloss.setfunctions.combinations import Linear
from setloss.setfunctions.set_function import SetFunction

Operator = Callable[[SetFunction], Surrogate]


def hinge_like(function: SetFunction) -> LovaszHinge:
    """sum_i max(0, 1 - m_i) over the elements and groups of `function`, whatever its values."""
    rates = (1.0,) * len(function.sizes)
    return LovaszHinge(SetFunction(Linear(function.sizes, rates), function.partition))


_OPERATORS: dict[str, Callable[[float], Operator]] = {
    "bd": lambda scale: partial(B_D, scale=scale),
    "bd-monotone": lambda scale: partial(B_D, scale=scale, monotone=True),
    "slack": lambda scale: partial(SlackRescaling, scale=scale),
    "margin": lambda scale: partial(MarginRescaling, scale=scale),
    "lovasz": lambda _: LovaszHinge,
    "hinge": lambda _: hinge_like,
}

OPERATOR_NAMES = tuple(_OPERATORS)


def operator_named(name: str, scale: float = 2.0) -> Operator:
    """The operator of that name: a function from set functions to surrogates."""
    if name not in _OPERATORS:
        raise ValueError(f"there is no operator {name!r}; the names are {', '.join(OPERATOR_NAMES)}")
    return _OPERATORS[name](scale)
