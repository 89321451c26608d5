"""The warm-started program over planes = the interior-point one, from wherever it starts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setloss.solvers.cutting_plane import PlaneState
from setloss.solvers.plane_qp import improved_weights, solve_plane_qp


def plane_bound(planes, offsets, weights):
    """The value of feasible multipliers."""
    image = weights @ planes
    return float(weights @ offsets) - 0.5 * float(image @ image)


def planes_of(seed, count, size, scale, repeated):
    generator = np.random.default_rng(seed)
    planes = scale * generator.normal(size=(count, size))
    offsets = np.abs(generator.normal(size=count))
    if repeated:
        planes, offsets = np.vstack([planes, planes[:2], 0 * planes[:1]]), np.append(offsets, [*offsets[:2], 0.5])
    return planes, offsets


@given(
    seed=st.integers(0, 2**16),
    count=st.integers(2, 12),
    size=st.integers(1, 8),
    scale=st.sampled_from([1e-3, 1.0, 1e3, 1e6]),
    repeated=st.booleans(),
    start=st.sampled_from(["nothing", "anything", "infeasible"]),
)
def test_the_program_is_solved_from_any_start(seed, count, size, scale, repeated, start):
    planes, offsets = planes_of(seed, count, size, scale, repeated)
    zero = np.zeros(len(offsets))
    anything = np.random.default_rng(seed).dirichlet(np.ones(len(offsets)))
    begin = {"nothing": zero, "anything": anything, "infeasible": 5 * anything - 1}[start]
    accuracy = 1e-9 * float(offsets.max())
    found = improved_weights(begin, planes @ planes.T, offsets, accuracy)
    if found is None:  # left to the interior-point method
        return
    assert found.min() >= 0
    assert found.sum() <= 1 + 1e-12
    best, _ = solve_plane_qp(planes, offsets, np.zeros(len(offsets), dtype=np.intp))
    assert plane_bound(planes, offsets, found) >= plane_bound(planes, offsets, best) - accuracy - 1e-12


@pytest.mark.parametrize(("seed", "count", "size"), [(0, 40, 10), *((seed, 15, 3) for seed in range(20))])
def test_one_more_plane_starts_from_the_last_answer(seed, count, size):
    """Programs that grow by a plane, past as many as there are dimensions: all are solved, the value never falls."""
    planes, offsets = planes_of(seed, count, size, 1.0, False)
    weights, before = np.zeros(0), 0.0
    for k in range(1, count + 1):
        some = planes[:k]
        found = improved_weights(np.append(weights, 0.0), some @ some.T, offsets[:k], 1e-10)
        assert found is not None, k
        weights = found
        value = plane_bound(some, offsets[:k], weights)
        assert value >= before - 1e-9
        assert np.count_nonzero(weights) <= size + 2
        before = value


@pytest.mark.parametrize("offset", [0.0, -1.0])
def test_planes_below_zero_get_no_weight(offset):
    found = improved_weights(np.array([1.0]), np.ones((1, 1)), np.array([offset]), 1e-9)
    np.testing.assert_allclose(found, [0.0], atol=1e-4)


def test_planes_keep_their_offsets_and_products_whatever_is_dropped():
    """Planes move in memory; what belongs to one moves with it."""
    generator, state, expected = np.random.default_rng(5), PlaneState(np.zeros(0)), {}
    for step in range(60):
        plane = generator.normal(size=7)
        state.add(plane, float(step))
        state.multipliers[-1], state.idle[-1] = 0.5 * step, 2 * step
        expected[float(step)] = plane
        if step % 3 == 2:
            kept = generator.random(len(state.offsets)) < 0.8
            expected = {offset: expected[offset] for offset in state.offsets[kept]}
            state.keep(kept)
    assert sorted(state.offsets) == sorted(expected)
    np.testing.assert_array_equal(state.planes, [expected[offset] for offset in state.offsets])
    np.testing.assert_array_equal(state.multipliers, 0.5 * state.offsets)
    np.testing.assert_array_equal(state.idle, 2 * state.offsets)
    np.testing.assert_allclose(state.gram, state.planes @ state.planes.T, atol=1e-12)
