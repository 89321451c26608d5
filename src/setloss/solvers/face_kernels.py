"""Numba kernels: the curvature that the faces of the bags give the smoothed risk; see `setloss.solvers.faces`."""

from __future__ import annotations

from setloss.compilation import kernel
from setloss.solvers.kernels import row_add, row_dot


@kernel()
def face_rows(design, maps, starts, ranks, basis, scales, first, used, out):
    """One row ``scale sum_e y_e q_e x_e`` per vector q of a basis, until `out` is full.

    Returns the bag and the place in `basis` to go on with, and the number of rows.
    """
    rows, tasks, signs = maps
    count = 0
    for i in range(first, len(ranks)):
        lo, hi = starts[i], starts[i + 1]
        if count + ranks[i] > len(out):
            return i, used, count
        for _ in range(ranks[i]):
            for t in range(out.shape[1]):
                for j in range(out.shape[2]):
                    out[count, t, j] = 0.0
            for e in range(lo, hi):
                factor = scales[i] * signs[e] * basis[used + e - lo]
                if factor != 0.0:
                    row_add(design, rows[e], factor, out[count, tasks[e]])
            used += hi - lo
            count += 1
    return len(ranks), used, count


@kernel()
def face_product(design, maps, starts, ranks, basis, scales, direction, room, out):
    """Out += sum_i scale_i M_i^T Q_i Q_i^T M_i direction; `room` has two numbers per element of the largest bag."""
    rows, tasks, signs = maps
    change, image = room
    used = 0
    for i in range(len(ranks)):
        lo, p = starts[i], starts[i + 1] - starts[i]
        if ranks[i] == 0:
            continue
        for e in range(p):
            change[e] = signs[lo + e] * row_dot(design, rows[lo + e], direction[tasks[lo + e]])
            image[e] = 0.0
        for _ in range(ranks[i]):
            product = 0.0
            for e in range(p):
                product += basis[used + e] * change[e]
            for e in range(p):
                image[e] += product * basis[used + e]
            used += p
        for e in range(p):
            factor = scales[i] * signs[lo + e] * image[e]
            if factor != 0.0:
                row_add(design, rows[lo + e], factor, out[tasks[lo + e]])


@kernel()
def project_on_faces(starts, ranks, basis, scales, change, image):
    """Image = scale_i Q_i Q_i^T change, bag by bag."""
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
                image[lo + e] += scales[i] * product * basis[used + e]
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
