"""Small data in partitions, and what every fit of them keeps."""

from itertools import pairwise

import dask.array as da
import numpy as np
from scipy.sparse import csr_array, issparse

from helpers.estimator_data import frame_data


def block_of(lo, hi, which):
    """Some rows of one of the arrays of `frame_data`, made on the worker that asks."""
    return frame_data(40)[which][lo:hi]


def lengths(rows, parts, groups=None):
    """Lengths of partitions that split no bag; some may be empty."""
    ends = np.linspace(0, rows, parts + 1).astype(int)
    if groups is not None:
        edges = np.concatenate(([0], np.flatnonzero(np.diff(groups)) + 1, [rows]))
        ends = edges[np.searchsorted(edges, ends)]
    return tuple(np.diff(ends).tolist())


def in_parts(parts, X, y, groups=None, weights=None):
    """What `fit` takes, as Dask arrays in so many partitions, or in partitions of these lengths; CSR stays CSR."""
    sizes = lengths(len(y), parts, groups) if isinstance(parts, int) else parts
    arrays = {"X": X, "y": y, "groups": groups, "sample_weight": weights}
    return {name: _cut(array, sizes) for name, array in arrays.items() if array is not None}


def _cut(array, sizes):
    if not issparse(array):
        return da.from_array(np.asarray(array), chunks=(sizes, *array.shape[1:]))
    meta = csr_array((0, 0), dtype=array.dtype)
    edges = np.concatenate(([0], np.cumsum(sizes)))
    blocks = [da.from_array(array[lo:hi], chunks=-1, asarray=False, meta=meta) for lo, hi in pairwise(edges)]
    return da.concatenate(blocks, axis=0)


def assert_certified(model, objective):
    """The primal value is what the definition gives, and the gap is the one asked for."""
    solution = model.solution_
    assert abs(solution.primal - objective) <= 1e-9 * max(1.0, objective)
    assert solution.gap <= model.tol
    assert model.dual_gap_ == solution.gap


def assert_same_problem(*models):
    """Every dual value is below every primal value, so all minima are within the gaps of each other."""
    rounding = 1e-9 * models[0].solution_.primal
    assert max(model.solution_.dual for model in models) <= min(model.solution_.primal for model in models) + rounding
