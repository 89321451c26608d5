"""Numba kernels: the proximal points of all bags, and the curvature that their faces give the smoothed risk.

See `setloss.solvers.proximal_points` for the formulas and `setloss.solvers.corrals` for the algorithm.
"""

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.solvers.corrals import Corral, climb, dot
from setloss.solvers.kernels import row_add


@kernel()
def move_to_points(first, batch, prox, points, ranks, basis, work, most):
    """Move `points`, at first the cuts at the margins, to the proximal points, from bag `first` on.

    A basis of the face of every bag follows that of the bag before; ends where `basis` may become too small. Returns
    the bag to go on with, and how much of `basis` is used.
    """
    starts = batch[0]
    margins, centre, mu = prox
    slopes, offsets = points
    here, middle, shifted, pull, slope, chosen, atoms, atom_offsets, weights, products, factor, targets, ones = work
    used, capacity = 0, weights.shape[1]
    for i in range(first, len(ranks)):
        lo, hi = starts[i], starts[i + 1]
        p = hi - lo
        if used + capacity * p > len(basis):
            return i, used
        away = False
        for e in range(p):
            here[e], middle[e], atoms[e] = margins[lo + e], centre[lo + e], slopes[lo + e]
            away = away or slopes[lo + e] != centre[lo + e]
        ranks[i] = 0
        if away:
            atom_offsets[0, 0], weights[0, 0] = offsets[i], 1.0
            block = atoms[: capacity * p].reshape(capacity, p)
            corral = Corral(block, atom_offsets, weights, products, factor, targets, ones)
            prox_here, room = (here, middle, mu), (shifted[:p], pull, slope[:p], chosen[:p])
            count, offsets[i], _ = climb(
                i, batch, prox_here, corral, 0, 1, slopes[lo:hi], offsets[i], room, most, 0.0
            )
            ranks[i] = _face(corral, count, p, basis, used)
            used += ranks[i] * p
    return len(ranks), used


@kernel()
def _face(corral, count, p, basis, used):
    """Append an orthonormal basis of the differences of the cuts of the corral; returns its rank."""
    rank = 0
    for k in range(1, count):
        vector = basis[used + rank * p : used + (rank + 1) * p]
        for e in range(p):
            vector[e] = corral.slopes[k, e] - corral.slopes[0, e]
        length = np.sqrt(dot(vector, vector, p))
        for _ in range(2):  # twice is enough
            for j in range(rank):
                other = basis[used + j * p : used + (j + 1) * p]
                product = dot(other, vector, p)
                for e in range(p):
                    vector[e] -= product * other[e]
        left = np.sqrt(dot(vector, vector, p))
        if left > 1e-9 * length:
            for e in range(p):
                vector[e] /= left
            rank += 1
    return rank


@kernel()
def face_rows(design, maps, starts, ranks, basis, scales, first, used, out):
    """One row ``scale sum_e y_e q_e x_e`` per vector q of a basis, until `out` is full.

    Returns the bag and the place in `basis` to go on with, and the number of rows.
    """
    rows, tasks, signs = maps
    count, labels = 0, out.shape[1]
    for i in range(first, len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        if count + ranks[i] > len(out):
            return i, used, count
        for _ in range(ranks[i]):
            for t in range(labels):
                for j in range(out.shape[2]):
                    out[count, t, j] = 0.0
            for e in range(p):
                factor = scales[i] * signs[lo + e] * basis[used + e]
                if factor != 0.0:
                    row, task = (rows[lo + e], 0) if labels == 1 else (rows[i], e if p == labels else tasks[lo + e])
                    row_add(design, row, factor, out[count, task])
            used += p
            count += 1
    return len(ranks), used, count


@kernel()
def project_on_faces(starts, ranks, basis, scale, change, image):
    """Image = scale Q_i Q_i^T change, bag by bag."""
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        for e in range(p):
            image[lo + e] = 0.0
        for _ in range(ranks[i]):
            product = 0.0
            for e in range(p):
                product += basis[used + e] * change[lo + e]
            for e in range(p):
                image[lo + e] += scale * product * basis[used + e]
            used += p


@kernel()
def face_diagonals(starts, ranks, basis, scales, out):
    """out[e] = scale_i sum over the basis of q_e^2."""
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        for _ in range(ranks[i]):
            for e in range(p):
                out[lo + e] += scales[i] * basis[used + e] * basis[used + e]
            used += p
