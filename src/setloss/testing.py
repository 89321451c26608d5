"""Public law checkers: run them on set functions, decompositions, cuts and surrogates of your own.

Each check raises `LawViolationError`, an AssertionError, that says what fails, where and by how much, and
returns nothing otherwise. Brute force is the judge: set functions, decompositions, extensions and upper bounds are
checked on all subsets, for p <= 12; cuts and convexity at points of a seeded generator, for any p. The library's
own tests run every implementation through them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setloss.decomposition import Decomposition, verify_decomposition
from setloss.decomposition.certificate import FEASIBILITY_TOLERANCE
from setloss.losses import Loss
from setloss.operators.cut import Surrogate
from setloss.setfunctions.properties import LAWS
from setloss.setfunctions.set_function import SetFunction
from setloss.typing import Array

MAX_ELEMENTS = 12


class LawViolationError(AssertionError):
    """A law does not hold; the message says where and by how much."""


def check_set_function(function: SetFunction, laws: Iterable[str] = ()) -> None:
    """l(empty) = 0, the chain and its gains agree with the masks, and the named laws hold by enumeration.

    Examples
    --------
    >>> check_set_function(SetFunction.symmetric([0, 1, 1.5]), laws=("increasing", "submodular"))
    >>> check_set_function(SetFunction.symmetric([0, 1, 3]), laws=("submodular",))
    Traceback (most recent call last):
    ...
    setloss.testing.LawViolationError: submodular: no, by 1: adding 0 to {} gains 1, to {1} gains 2
    """
    values = function(_masks(function.p))
    _expect(values[0] == 0, "l(empty) is {}, not 0", values[0])
    order = np.random.default_rng(0).permutation(function.p)
    prefixes = np.arange(function.p + 1)[:, None] > np.argsort(order)
    tolerance = 1e-12 * (np.abs(values).max() or 1.0)
    _expect_close(function.along(order), function(prefixes), tolerance, "along(order) and the masks of the prefixes")
    _expect_close(function.gains(order), np.diff(function(prefixes)), tolerance, "gains(order) and the differences")
    general = SetFunction.from_values(values)
    for law in laws:
        if law not in LAWS:
            raise ValueError(f"there is no law {law!r}; the laws are {', '.join(LAWS)}")
        verdict = LAWS[law](general)
        _expect(bool(verdict), "{}", verdict)


def check_decomposition(decomposition: Decomposition, tolerance: float = 1e-9) -> None:
    """L = f + g, f submodular, g supermodular, increasing, non-negative, zero on singletons, and of least sum.

    That no feasible g has a smaller sum is computed anew (`verify_decomposition`); the certificate must hold, too.

    Examples
    --------
    >>> from setloss import decompose
    >>> check_decomposition(decompose(SetFunction.symmetric([0, 0, 2])))
    """
    loss, f, g = decomposition.loss, decomposition.submodular, decomposition.supermodular
    masks = _masks(loss.p)
    sizes = np.max(np.abs([f(masks), g(masks), loss(masks)]), axis=0)
    _expect_close(f(masks) + g(masks), loss(masks), tolerance * sizes, "f + g and l")
    singletons = np.eye(loss.p, dtype=bool)
    _expect_close(g(singletons), np.zeros(loss.p), tolerance * np.abs(loss(singletons)), "g on single elements and 0")
    expected = ((f, "submodular"), (g, "supermodular"), (g, "increasing"), (g, "non-negative"))
    for function, law in expected:
        verdict = LAWS[law](SetFunction.from_values(function(masks)), tolerance)
        part = "sub" if function is f else "super"
        _expect(bool(verdict), "the {}modular part is not {}", part, verdict)
    _expect(decomposition.certificate.holds, "the certificate does not hold: {}", decomposition.certificate)
    verified = verify_decomposition(loss, g, max(tolerance, FEASIBILITY_TOLERANCE))
    _expect(verified.optimal is True, "the supermodular part is not D's: {}", verified)


def check_cut(
    surrogate: Surrogate, margins: ArrayLike, others: ArrayLike | None = None, tolerance: float = 1e-9
) -> None:
    """The cut at `margins` touches the surrogate there, and is below it at `others` (near and far if not given).

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.operators import SlackRescaling
    >>> check_cut(SlackRescaling(Dice().on_counts(2, 1)), [0.5, -1.0, 2.0])
    """
    here = np.asarray(margins, dtype=np.float64)
    cut = surrogate.cut(here)
    value = surrogate(here)
    unit = max(1.0, abs(value), abs(cut.offset))
    _expect(abs(cut(here) - value) <= tolerance * unit, "the cut is {} where the surrogate is {}", cut(here), value)
    for other in _around(here) if others is None else np.atleast_2d(np.asarray(others, dtype=float)):
        there = surrogate(other)
        excess = cut(other) - there
        below = excess <= tolerance * max(unit, abs(there))
        _expect(below, "the cut at {} exceeds the surrogate by {:.3g} at {}", here, excess, other)


def check_operator(
    operator: Callable[[Any], Surrogate], loss: Loss, counts: Iterable[tuple[int, int]] = ((2, 1), (0, 3), (3, 3))
) -> None:
    """An operator commutes with `on_counts`: of a loss, asked for one set, it is that of the set's function.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.operators import B_D
    >>> check_operator(B_D, Dice())
    """
    of_all = operator(loss)
    for positives, negatives in counts:
        at_counts, of_one = of_all.on_counts(positives, negatives), operator(loss.on_counts(positives, negatives))
        for margins in _points(positives + negatives, 20):
            left, right = at_counts(margins), of_one(margins)
            agree = abs(left - right) <= 1e-12 * max(1.0, abs(right))
            message = "at {} positives and {} negatives the operator of the loss is {}, that of its function {}"
            _expect(agree, message, positives, negatives, left, right)


def check_convex(surrogate: Surrogate, samples: int = 50, tolerance: float = 1e-9) -> None:
    """B((x + y) / 2) <= (B(x) + B(y)) / 2 on sampled segments, short and long.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.operators import SlackRescaling
    >>> check_convex(SlackRescaling(Dice().on_counts(2, 1)))
    """
    points = _points(surrogate.p, 2 * samples)
    ends_near = points[:samples] + 0.01 * points[samples:]
    pairs = [*zip(points[:samples], points[samples:], strict=True), *zip(points[:samples], ends_near, strict=True)]
    for x, y in pairs:
        middle, ends = surrogate((x + y) / 2), (surrogate(x) + surrogate(y)) / 2
        convex = middle <= ends + tolerance * max(1.0, abs(ends))
        _expect(convex, "not convex: {:.6g} half-way between {} and {}, where the mean is {:.6g}", middle, x, y, ends)


def check_extension(surrogate: Surrogate, function: SetFunction, tolerance: float = 1e-9) -> None:
    """B(1 - 1_A) = l(A) for all 2^p sets A: the vertices of the unit cube of Definition 10.

    Examples
    --------
    >>> from setloss import Jaccard
    >>> from setloss.operators import LovaszHinge
    >>> function = Jaccard().on_counts(2, 1)
    >>> check_extension(LovaszHinge(function), function)
    """
    scale = float(np.abs(function(_masks(function.p))).max()) or 1.0
    for mask in _masks(function.p):
        value, loss = surrogate(1.0 - mask), function(mask)
        extends, members = abs(value - loss) <= tolerance * scale, np.flatnonzero(mask).tolist()
        _expect(extends, "not an extension: {:.6g} at the vertex of {}, l is {:.6g}", value, members, loss)


def check_upper_bound(
    surrogate: Surrogate, function: SetFunction, samples: int = 200, tolerance: float = 1e-9
) -> None:
    """B(m) >= l({i : m_i <= 0}) at sampled margins and for every prediction: it bounds the loss incurred.

    Predictions are wrong by little and right by much as well: an outer positive part lets the one outweigh the other.

    Examples
    --------
    >>> from setloss import Dice
    >>> from setloss.operators import SlackRescaling
    >>> function = Dice().on_counts(2, 1)
    >>> check_upper_bound(SlackRescaling(function), function)
    """
    masks = _masks(function.p)
    sides = ((1e-9, 1.0), (1e-9, 100.0), (1.0, 1000.0), (20.0, 70.0))
    points = np.concatenate([_points(function.p, samples), *(np.where(masks, -bad, good) for bad, good in sides)])
    scale = float(np.abs(function(masks)).max()) or 1.0
    for margins in points:
        loss, value = function(margins <= 0), surrogate(margins)
        message = "the surrogate is {:.6g} at margins {}, the loss of the prediction is {:.6g}"
        bounds = value >= loss - 1e-6 * scale - tolerance * max(1.0, abs(value))
        _expect(bounds, message, value, margins, loss)


def _masks(p: int) -> NDArray[np.bool_]:
    """All 2^p subsets as boolean rows, in the C order of a ``(2,) * p`` array."""
    if p > MAX_ELEMENTS:
        raise ValueError(f"the law checkers enumerate subsets and take p <= {MAX_ELEMENTS}; got p = {p}")
    return (np.arange(2**p)[:, None] >> np.arange(p - 1, -1, -1)) & 1 > 0


def _points(p: int, samples: int) -> Array:
    """Margins of all sizes: normal ones, large ones, and rounded ones full of ties."""
    generator = np.random.default_rng(0)
    points: Array = generator.normal(size=(samples, p)) * generator.choice([0.3, 1.0, 5.0], size=(samples, 1))
    points[::3] = np.round(2 * points[::3]) / 2
    return points


def _around(center: Array) -> Array:
    """Points near and far in all directions: a wrong slope shows close by, a cut that is no minorant far off."""
    p = len(center)
    directions = np.concatenate([np.eye(p), -np.eye(p), np.ones((1, p)), -np.ones((1, p)), _points(p, 20)])
    return np.concatenate([center + size * directions for size in (1e-3, 0.1, 1.0, 10.0)])


def _expect(holds: bool | np.bool_, message: str, *facts: object) -> None:
    """The facts are put into the braces of the message where it is needed: to print arrays takes long."""
    if not holds:
        raise LawViolationError(message.format(*facts))


def _expect_close(left: Array, right: Array, tolerance: float | Array, what: str) -> None:
    difference = np.abs(left - right)
    worst = int(np.argmax(difference - tolerance))
    _expect(np.all(difference <= tolerance), "{} differ by {:.3g}, entry {}", what, difference[worst], worst)
