"""Values and gradients against the definitions, by enumeration of all 2^p sets, on both paths; large sets."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.torch_judge import CASES, PAIRS, PATHS, assert_close, draw, plan_of, surrogate
from setloss import Jaccard
from setloss.nn.cuts import runs_on_devices

_closed = {repr(plan_of(*pair).read(5, 3)): pair for pair in reversed(PAIRS) if plan_of(*pair).closed}
CLOSED = list(_closed.values())[::-1]
"""What works at any size; every closed form once, the hinge for one."""

ON_DEVICE = [pair for pair in CLOSED if runs_on_devices(plan_of(*pair))]
"""What tensor operations can do on a device."""

ON_PATHS = [("host", *pair) for pair in PAIRS] + [("device", *pair) for pair in ON_DEVICE]


def check(path, name, operator, scores, truth, valid, scale):
    """Row by row; elements that are not valid belong to no set."""
    got = PATHS[path](CASES[name].loss, operator, scores, truth, valid, scale)
    inside = np.ones(truth.shape, dtype=bool) if valid is None else valid.numpy()
    values, gradients = np.zeros(len(scores)), np.zeros(scores.shape)
    for row, here in enumerate(inside):
        right = truth[row, here].numpy()
        sign = np.where(right, 1.0, -1.0)
        values[row], slope = surrogate(name, operator, right, sign * scores[row, here].numpy(), scale)
        gradients[row, here] = -slope * sign
    assert_close(got[0], values)
    assert_close(got[1], gradients)


@pytest.mark.parametrize(("path", "name", "operator"), ON_PATHS)
def test_values_and_gradients_are_those_of_the_definitions(path, name, operator):
    """Every scale with and without a mask, and both in every size."""
    scales = (2.0, 2.0) if operator in ("lovasz", "hinge") else (1.0, 2.0, 0.7, "mean")
    for p, spread, masked in ((1, 1.0, (0,)), (3, 0.2, (0, 2)), (6, 0.3, (1, 3))):
        scores, truth, valid = draw((5, p), seed=p, spread=spread)
        for k, scale in enumerate(scales[:2] if p == 1 else scales):
            check(path, name, operator, scores, truth, valid if k in masked else None, scale)
    check(path, name, operator, *draw((4, 8), seed=8, spread=0.5), 2.0)
    scores, truth, _ = draw((7, 8), seed=9, spread=0.5)
    check(path, name, operator, scores + torch.where(truth, 2.0, -2.0), truth, None, 2.0)  # almost all are right


quarters = st.integers(-12, 12).map(lambda k: k / 4)
numbers = st.one_of(quarters, st.floats(-3, 3, allow_subnormal=False), st.just(-0.0))


@st.composite
def problems(draw):
    path, name, operator = draw(st.sampled_from(ON_PATHS))
    p = draw(st.integers(1, 6))
    bits = st.lists(st.booleans(), min_size=p, max_size=p)
    scores, other = (draw(st.lists(numbers, min_size=p, max_size=p)) for _ in range(2))
    return path, name, operator, np.array(scores), np.array(other), np.array(draw(bits)), np.array(draw(bits))


@settings(max_examples=200)
@given(problems(), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_at_ties_the_value_is_the_definition_s_and_the_gradient_a_subgradient(problem, scale):
    path, name, operator, scores, other, truth, valid = problem
    rows = [torch.as_tensor(row[None]) for row in (scores, truth, valid)]
    values, gradients = PATHS[path](CASES[name].loss, operator, *rows, scale)
    sign = np.where(truth, 1.0, -1.0)

    def at(point):
        return surrogate(name, operator, truth[valid], (sign * point)[valid], scale)[0]

    value, gradient = float(values[0]), gradients[0].numpy()
    assert_close(value, at(scores))
    assert np.all(gradient[~valid] == 0)
    for point in (other, np.zeros_like(other), scores + 1e-3 * (other - scores)):
        assert at(point) >= value + gradient @ (point - scores) - 1e-9


# ---------------------------------------------------------------- large sets

CHECKED = [("host", *pair, torch.float32, 1e-6) for pair in CLOSED]
CHECKED += [("device", *pair, *how) for pair in ON_DEVICE for how in ((torch.float64, 1e-12), (torch.float32, 1e-6))]


@pytest.mark.parametrize(("path", "name", "operator", "dtype", "tolerance"), CHECKED)
def test_sets_of_thousands_of_elements(path, name, operator, dtype, tolerance):
    """Where margins are sorted by radix: single precision and tensor operations against float64 on the CPU."""
    for spread, share in ((0.3, 0.02), (0.01, 0.5), (2.0, 0.97)):
        scores, truth, valid = draw((4, 2500), seed=7, spread=spread, dtype=dtype, share=share)
        got = PATHS[path](CASES[name].loss, operator, scores, truth, valid, 2.0)
        expected = PATHS["host"](CASES[name].loss, operator, scores.double(), truth, valid, 2.0)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == dtype
            assert_close(one, other, tolerance)


PIXELS = 1024 * 1024


@pytest.mark.parametrize("path", list(PATHS))
def test_slopes_of_a_megapixel_in_float32(path):
    """What each element adds to (n + q) / (m + q), to six digits by whole numbers below 2^53; of margins below 1.

    Differences of two values of the loss, as in a cumulative sum of Jaccard indices, lose up to 24 % of a slope here.
    """
    generator = np.random.default_rng(7)
    truth = generator.random(PIXELS) < 0.3
    sign = np.where(truth, 1, -1)
    margins = generator.normal(0.5, 1.0, PIXELS).astype(np.float32)
    order = np.argsort(margins, kind="stable")
    ranked = truth[order]
    n, q = np.cumsum(ranked) - ranked, np.cumsum(~ranked) - ~ranked
    wrong, union, less = n + q, int(truth.sum()) + q, np.where(ranked, 0, -1)
    expected = ((wrong + 1) * union - wrong * (union - less)) / (union * (union - less))
    rows = torch.as_tensor(margins * sign.astype(np.float32))[None], torch.as_tensor(truth)[None]
    slope = -PATHS[path](Jaccard(), "lovasz", *rows, None, 2.0)[1][0].numpy() * sign
    below = np.count_nonzero(margins < 1)
    np.testing.assert_allclose(slope[order[:below]], expected[:below], rtol=1e-6)
