"""A loss and an operator, made ready for any batch: the plan that a `SetLoss` keeps as long as it lives.

An operator of torch takes tensors and plain numbers only, so a graph refers to a plan by its number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from setloss.losses import CountLoss, Loss, TverskyFamily, as_loss
from setloss.operators.names import Operator, operator_named
from setloss.plans.build import ClosedForm, Scale, check_scale, closed_form, surrogate_on_counts

__all__ = ["Plan", "Scale", "make_plan", "plan_number", "plan_of"]

_numbers = count()


@dataclass(frozen=True, eq=False)
class Plan:
    """A loss, an operator and the scale c; `closed` says how the fields of its records follow from the counts."""

    loss: Loss
    operator: str | Operator
    scale: Scale
    closed: ClosedForm | None
    number: int = field(default_factory=partial(next, _numbers))

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, is a plan of its own."""
        return make_plan, (self.loss, self.operator, self.scale)


_living: WeakValueDictionary[int, Plan] = WeakValueDictionary()
"""The plans somebody keeps, by number; a plan goes when its last module does."""

_lock = Lock()

PROBE = 8
"""Losses without a closed form are tried on this many positives and negatives before training starts."""


def make_plan(loss: Loss | str, operator: str | Operator, scale: Scale) -> Plan:
    """A new plan; refuses what cannot work. It lives as long as it is kept."""
    loss = as_loss(loss)
    check_scale(scale)
    if isinstance(operator, str):
        operator_named(operator)
        _check_together(loss, operator)
    plan = Plan(loss, operator, scale, closed_form(loss, operator, scale))
    with _lock:
        _living[plan.number] = plan
    return plan


def plan_number(loss: Loss | str, operator: str | Operator, scale: Scale) -> int:
    """The number of a plan that is kept for good; a constant while `torch.compile` traces."""
    check_scale(scale)
    # As text, since the compiler makes a variable of a number that changes from call to call.
    number: int = _constant_number(loss, operator, "mean" if scale == "mean" else float(scale).hex())
    return number


def _constant_number(loss: Loss | str, operator: str | Operator, scale: str) -> int:
    return _kept_plan(as_loss(loss), operator, "mean" if scale == "mean" else float.fromhex(scale)).number


# As `torch.compiler.assume_constant_result` marks it, which imports the compiler first: a second of every process.
_constant_number._dynamo_marked_constant = True  # type: ignore[attr-defined]


_kept_plan = cache(make_plan)


def plan_of(number: int) -> Plan:
    """The plan of that number."""
    return _living[number]


def _check_together(loss: Loss, operator: str) -> None:
    """Raise where a loss and an operator do not go together, before training starts."""
    if isinstance(loss, TverskyFamily):
        _check_tversky(loss, operator)
    elif operator in ("lovasz", "bd-monotone") and isinstance(loss, CountLoss):
        surrogate_on_counts(loss, operator, 2.0, PROBE, PROBE)


def _check_tversky(loss: TverskyFamily, operator: str) -> None:
    if loss.zero_division != 1:
        raise ValueError(
            f"{loss} costs {1 - loss.zero_division:g} on a set without positives that is predicted right; a set "
            "function needs l(empty) = 0. Train with zero_division=1, and keep the other value for scores."
        )
    if operator == "lovasz" and loss.weights[1] < 1:
        raise ValueError(
            f"the Lovász hinge needs a submodular loss, and {loss} is not one (its false negatives weigh less than "
            'true positives). Use operator="bd", or the Jaccard loss.'
        )
    if operator == "bd-monotone" and loss.weights[1] < 0.5:
        surrogate_on_counts(loss, operator, 2.0, PROBE, PROBE)
