"""Which computation a loss and an operator ask for: a closed form at any size, or tables of the core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Literal

import torch

from setloss.losses import CountLoss, Hamming, Loss, TverskyFamily, loss_named
from setloss.operators.cut import Surrogate
from setloss.operators.names import operator_named
from setloss.plans.batch import surrogate_on_counts
from setloss.setfunctions.set_function import SetFunction


@dataclass(frozen=True)
class TverskyForm:
    """l = (b n + a q) / (m - (1 - b) n + a q), see `setloss.setfunctions.tversky`."""

    a: float
    b: float


@dataclass(frozen=True)
class ModularForm:
    """l = miss n + alarm q, divided by the number of elements where `mean`."""

    miss: float = 1.0
    alarm: float = 1.0
    mean: bool = False


Scale = float | Literal["mean"]
"""The scale c of a rescaled part: a number, or "mean" for 2 / |V|, so that the mean margin of a set counts."""

Hinged = Literal["", "loss", "submodular", "closure"]
Rescaled = Literal["", "loss", "supermodular"]


@dataclass(frozen=True)
class ClosedForm:
    """The Lovász hinge of one part of l plus a rescaling of another; "" where there is no such part."""

    form: TverskyForm | ModularForm
    hinged: Hinged = ""
    rescaled: Rescaled = ""
    margin: bool = False
    scale: Scale = 2.0


@dataclass(frozen=True, eq=False)
class Plan:
    """A loss and an operator, ready for any batch; `number` is how the compiled graph refers to it."""

    loss: Loss
    operator: str
    scale: Scale
    closed: ClosedForm | None
    number: int


_plans: list[Plan] = []
"""Every plan ever made: graphs hold numbers, as an operator of torch takes tensors and plain numbers only."""

_lock = Lock()

PROBE = 8
"""Losses without a closed form are tried on so many positives and negatives before training starts."""


@cache
def make_plan(loss: Loss, operator: str, scale: Scale) -> Plan:
    """The plan for a loss, an operator by name and the scale c of its rescaled part; refuses what cannot work."""
    operator_named(operator)
    closed = _closed_form(loss, operator, scale)
    if closed is None and operator in ("lovasz", "bd-monotone") and isinstance(loss, CountLoss):
        surrogate_on_counts(loss, operator, 2.0, PROBE, PROBE)  # raises where the two do not go together
    with _lock:
        plan = Plan(loss, operator, scale, closed, len(_plans))
        _plans.append(plan)
    return plan


def _is_scale(scale: object) -> bool:
    return isinstance(scale, int | float) and 0 < scale < float("inf")


def plan_number(loss: Loss | str, operator: str, scale: Scale) -> int:
    """The number of a plan; a constant while `torch.compile` traces."""
    if scale != "mean" and not _is_scale(scale):
        raise ValueError(f'the scale c must be a positive number or "mean"; got {scale!r}')
    # As text, since the compiler makes a variable of a number that changes from call to call.
    number: int = _constant_number(loss, operator, "mean" if scale == "mean" else float(scale).hex())
    return number


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _constant_number(loss: Loss | str, operator: str, scale: str) -> int:
    if not isinstance(loss, str | Loss):
        raise TypeError(f"a loss is a name or a setloss loss; got {type(loss).__name__}")
    c: Scale = "mean" if scale == "mean" else float.fromhex(scale)
    return make_plan(loss_named(loss) if isinstance(loss, str) else loss, operator, c).number


@dataclass(frozen=True)
class MeanScaled:
    """The operator of that name with c = 2 / p on a set function over p elements."""

    operator: str

    def __call__(self, function: SetFunction) -> Surrogate:
        return operator_named(self.operator, 2 / function.p)(function)


def plan_of(number: int) -> Plan:
    """The plan of that number."""
    return _plans[number]


def _closed_form(loss: Loss, operator: str, scale: Scale) -> ClosedForm | None:
    if operator == "hinge":
        return ClosedForm(ModularForm(), hinged="loss")
    if isinstance(loss, Hamming):
        form = ModularForm(loss.false_negative_weight, loss.false_positive_weight, loss.normalize)
        return _rescaling(form, operator, scale) or ClosedForm(form, hinged="loss")
    if isinstance(loss, TverskyFamily):
        return _tversky(loss, operator, scale)
    return None


def _tversky(loss: TverskyFamily, operator: str, scale: Scale) -> ClosedForm | None:
    if loss.zero_division != 1:
        raise ValueError(
            f"{loss} costs {1 - loss.zero_division:g} on a set without positives that is predicted right; a set "
            "function needs l(empty) = 0. Train with zero_division=1, and keep the other value for scores."
        )
    form = TverskyForm(*map(float, loss.weights))
    rescaling = _rescaling(form, operator, scale)
    if rescaling is not None:
        return rescaling
    if form.b >= 1:
        return ClosedForm(form, hinged="loss")
    if operator == "lovasz":
        raise ValueError(
            f"the Lovász hinge needs a submodular loss, and {loss} is not one (its false negatives weigh less than "
            'true positives). Use operator="bd", or the Jaccard loss.'
        )
    if form.b < 0.5:
        return None  # only small sets: the decomposition is a linear program there
    hinged: Hinged = "submodular" if operator == "bd" else "closure"
    return ClosedForm(form, hinged, "supermodular", scale=scale)


def _rescaling(form: TverskyForm | ModularForm, operator: str, scale: Scale) -> ClosedForm | None:
    if operator in ("slack", "margin"):
        return ClosedForm(form, rescaled="loss", margin=operator == "margin", scale=scale)
    return None
