"""Sums over all label sets by forward and backward recursions over the elements.

With q_i = sigma(s_i) and w_k = exp(u_k - max u) the count model is a chain of Bernoulli variables, weighted at the
end:

    P(y) ~ prod_i q_i^{y_i} (1 - q_i)^{1 - y_i} w_{|y|},      Z = sum_k w_k F_k,   F_k = P(k of them are 1).

Every term is positive, so nothing cancels: each number is right to about p rounding errors. What underflows is below
1e-300 and weighs at most 1, so it is lost without harm unless Z itself is tiny; rows with Z below `SMALLEST` are
marked, and `setloss.decisions.mixtures` takes them one size at a time.

The second half has the chances F_t of t positives among independent elements, with all of them and without some.
**All of them.** F is a product of polynomials (1 - q_i) + q_i z; chances below a floor are dropped at both ends.

**Without one.** F^{-i}, the chances without element i, is F divided by ``(1 - q_i) + q_i z``. For q_i <= 1/2 the
division runs upwards, F^{-i}_t = (F_t - q_i F^{-i}_{t-1}) / (1 - q_i), for larger ones downwards from the largest
size. Rounding errors of F grow as ``e_t = F_t + rho e_{t-1}``, rho <= 1 being the odds: the kernels sum this bound.
Where there is no largest size to run down from, the chances before and after an element are convolved.

**With a head start.** From the chances A and B of the first elements and of the others F(t) = sum_a A(a) B(t - a),
and J(t) = sum_a a A(a) B(t - a) is the expected number of positives among the first, times the chance of t.

Slices that start at 0 tell the compiler that no index is negative; loops over them become vector instructions.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel

SMALLEST = 1e-250


@kernel()
def weigh_sizes(potentials, w):
    """The weights w_k = exp(u_k - max u); returns max u."""
    top = potentials[0]
    for k in range(1, len(potentials)):
        top = max(top, potentials[k])
    for k in range(len(potentials)):
        w[k] = np.exp(potentials[k] - top)
    return top


@kernel()
def weigh(scores, potentials, q, r, w):
    """Chances q, their complements r and weights w; returns the logarithm of what was divided out."""
    scale = 0.0
    for j in range(len(scores)):
        small = np.exp(-abs(scores[j]))
        scale += np.log1p(small)
        if scores[j] >= 0:
            scale += scores[j]
            q[j], r[j] = 1 / (1 + small), small / (1 + small)
        else:
            q[j], r[j] = small / (1 + small), 1 / (1 + small)
    return scale + weigh_sizes(potentials, w)


@kernel()
def clear(values):
    """Zeros; a loop compiles in a tenth of the time of an assignment to a slice."""
    for k in range(len(values)):
        values[k] = 0.0


@kernel()
def prefixes(q, r, table):
    """table[i, a] = the chance of a positives among the first i elements, a below the width of the table."""
    clear(table[0])
    table[0, 0] = 1.0
    for i in range(len(q)):
        before, after = table[i], table[i + 1]
        after[0] = before[0] * r[i]
        for a in range(1, table.shape[1]):
            after[a] = before[a] * r[i] + before[a - 1] * q[i]


@kernel()
def sums(scores, potentials, log_partition, sizes, marginals, safe):
    """The logarithm of Z, P(|y| = k) and P(y_i = 1) of every row; `safe` is False where Z is too small to trust."""
    n, p = scores.shape
    width = potentials.shape[1]
    q, r, w, ahead = np.empty(p), np.empty(p), np.empty(width), np.empty(width + 1)
    table = np.empty((p + 1, width))
    for i in range(n):
        scale = weigh(scores[i], potentials[i % len(potentials)], q, r, w)
        prefixes(q, r, table)
        total = 0.0
        for k in range(width):
            sizes[i, k] = w[k] * table[p, k]
            total += sizes[i, k]
        safe[i] = total > SMALLEST
        if not safe[i]:
            continue
        log_partition[i] = scale + np.log(total)
        for k in range(width):
            sizes[i, k] /= total
            ahead[k] = w[k] / total
        ahead[width] = 0.0
        for j in range(p - 1, -1, -1):
            with_it = 0.0
            for a in range(width):
                with_it += table[j, a] * ahead[a + 1]
            marginals[i, j] = min(q[j] * with_it, 1.0)
            for a in range(width):
                ahead[a] = ahead[a] * r[j] + ahead[a + 1] * q[j]


@kernel()
def draw(scores, sizes, uniform, sets):
    """Label sets of the given sizes, element by element from the last; the rows must be safe at their size."""
    n, p = scores.shape
    q, r, w = np.empty(p), np.empty(p), np.empty(1)
    table = np.empty((p + 1, sizes.max() + 1))
    for i in range(n):
        weigh(scores[i], np.zeros(1), q, r, w)
        prefixes(q, r, table)
        left = sizes[i]
        for j in range(p - 1, -1, -1):
            taken = q[j] * table[j, left - 1] if left > 0 else 0.0
            sets[i, j] = uniform[i, j] * table[j + 1, left] < taken
            left -= sets[i, j]


@kernel()
def chances_of_sizes(scores, sizes, chances):
    """The chance of sizes[i] positives among independent elements with the scores of row i."""
    n, p = scores.shape
    q, r, w = np.empty(p), np.empty(p), np.empty(1)
    for i in range(n):
        weigh(scores[i], np.zeros(1), q, r, w)
        table = np.zeros(sizes[i] + 1)
        table[0] = 1.0
        for j in range(p):
            for a in range(sizes[i], 0, -1):
                table[a] = table[a] * r[j] + table[a - 1] * q[j]
            table[0] *= r[j]
        chances[i] = table[sizes[i]]


# ---------------------------------------------------------------- chances of t positives


LANES = 4
"""Elements that are multiplied or divided side by side."""


@kernel()
def settle_ties(scores, order):
    """Elements of equal score in the order of their numbers."""
    for j in range(1, len(order)):
        i = j
        while i > 0 and scores[order[i]] == scores[order[i - 1]] and order[i] < order[i - 1]:
            order[i], order[i - 1] = order[i - 1], order[i]
            i -= 1


@kernel()
def gather_chances(scores, order, q, r):
    """Chances by falling scores, of equal scores the first element first; returns how many exceed one half."""
    heavy, before = 0, np.inf
    for j in range(len(order)):
        s = scores[order[j]]
        if s == before:
            settle_ties(scores, order)
            s = scores[order[j]]
        before = s
        small = np.exp(-abs(s))
        one = 1 / (1 + small)
        if s > 0:
            q[j], r[j] = one, small * one
            heavy += 1
        else:
            q[j], r[j] = small * one, one
    return heavy


@kernel()
def count_above(scores, order, least):
    """How many scores are larger, in falling order."""
    k = 0
    while k < len(order) and scores[order[k]] > least:
        k += 1
    return k


@kernel(fastmath={"contract"})
def multiply(before, after, low, high, q, r, j, floor):
    """The LANES elements from j on: chances are at ``before[LANES + t]``, low <= t <= high, between LANES zeros."""
    x0, x1, x2 = r[j] * r[j + 1], r[j] * q[j + 1] + q[j] * r[j + 1], q[j] * q[j + 1]
    y0, y1, y2 = r[j + 2] * r[j + 3], r[j + 2] * q[j + 3] + q[j + 2] * r[j + 3], q[j + 2] * q[j + 3]
    c0, c4 = x0 * y0, x2 * y2
    c1, c2, c3 = x0 * y1 + x1 * y0, x0 * y2 + x1 * y1 + x2 * y0, x1 * y2 + x2 * y1
    last = min(high + LANES, len(after) - 2 * LANES - 1)
    source, target = before[low:], after[low + LANES :]
    for t in range(last - low + 1):
        near = c0 * source[t + 4] + c1 * source[t + 3] + c2 * source[t + 2]
        target[t] = near + c3 * source[t + 1] + c4 * source[t]
    while last > low and after[last + LANES] < floor:
        last -= 1
    while low < last and after[low + LANES] < floor:
        low += 1
    for t in range(LANES):
        after[low + t] = 0.0
        after[last + LANES + 1 + t] = 0.0
    return low, last


@kernel()
def all_chances(q, r, heavy, floor, now, then, stored):
    """F and its range; with `stored`, the chances of the elements after each of the first `heavy` ones."""
    p = len(q) - LANES
    clear(now[: 2 * LANES + 1])
    now[LANES] = 1.0
    low, high, ends = 0, 0, heavy + (p - heavy + LANES - 1) // LANES * LANES
    for j in range(ends - LANES, heavy - 1, -LANES):
        low, high = multiply(now, then, low, high, q, r, j, floor)
        now, then = then, now
    one_q, one_r = np.zeros(LANES), np.ones(LANES)
    for j in range(heavy - 1, -1, -1):
        clear(stored[j + 1])
        for t in range(low, high + 1):
            stored[j + 1, t] = now[t + LANES]
        one_q[0], one_r[0] = q[j], r[j]
        low, high = multiply(now, then, low, high, one_q, one_r, 0, floor)
        now, then = then, now
    return now[LANES:], low, high


@kernel(fastmath={"contract"})
def merge(first, a_low, a_high, others, b_low, b_high, chances, hits):
    """F and J of all elements from the chances of positives among the first ones and among the others."""
    low, high = a_low + b_low, a_high + b_high
    clear(chances[low : high + 1])
    clear(hits[low : high + 1])
    last = b_high - b_low + 1
    for a in range(a_low, a_high + 1, 2):  # two at a time: b of the others meet a + 1, b - 1 of them meet a
        x, y = first[a], first[a + 1] if a < a_high else 0.0
        source, target, found = others[b_low:], chances[a + b_low :], hits[a + b_low :]
        target[0] += x * source[0]
        found[0] += a * x * source[0]
        for t in range(1, last):
            target[t] += x * source[t] + y * source[t - 1]
            found[t] += a * x * source[t] + (a + 1) * y * source[t - 1]
        if a < a_high:
            target[last] += y * source[last - 1]
            found[last] += (a + 1) * y * source[last - 1]
    return low, high


@kernel()
def begin_with(sure, q, r, floor, buffers, chances, hits):
    """F, its range, and J of the first `sure` elements."""
    head_q, head_r = np.zeros(sure + LANES), np.ones(sure + LANES)
    for j in range(sure):
        head_q[j], head_r[j] = q[j], r[j]
    nothing = np.empty((1, 1))
    first, a_low, a_high = all_chances(head_q, head_r, 0, floor, buffers[0], buffers[1], nothing)
    others, b_low, b_high = all_chances(q[sure:], r[sure:], 0, floor, buffers[2], buffers[3], nothing)
    return merge(first, a_low, a_high, others, b_low, b_high, chances, hits)


@kernel(fastmath={"contract"})
def divide_up(chances, low, high, q, r, w, k, parts):
    """parts[l, t] = F^{-l}_{t-1} for the LANES elements from k on, all at most one half; returns an error bound."""
    parts[0, low] = parts[1, low] = parts[2, low] = parts[3, low] = 0.0
    i0, i1, i2, i3 = 1 / r[k], 1 / r[k + 1], 1 / r[k + 2], 1 / r[k + 3]
    o0, o1, o2, o3 = q[k] * i0, q[k + 1] * i1, q[k + 2] * i2, q[k + 3] * i3
    f0 = f1 = f2 = f3 = error = worst = 0.0
    source, weight, target = chances[low:], w[low + 1 :], parts[:, low + 1 :]
    for t in range(high - low):
        f0 = source[t] * i0 - o0 * f0
        f1 = source[t] * i1 - o1 * f1
        f2 = source[t] * i2 - o2 * f2
        f3 = source[t] * i3 - o3 * f3
        error = source[t] + o0 * error
        worst += weight[t] * error
        target[0, t], target[1, t], target[2, t], target[3, t] = f0, f1, f2, f3
    return worst * o0


@kernel(fastmath={"contract"})
def divide_down(chances, low, high, q, r, w, k, lanes, parts):
    """The same for up to LANES elements of more than one half, from the largest size on."""
    parts[0, low] = parts[1, low] = parts[2, low] = parts[3, low] = 0.0
    i0, i1, i2, i3 = 1 / q[k], 1 / q[k + 1], 1 / q[k + 2], 1 / q[k + 3]
    o0, o1, o2, o3 = r[k] * i0, r[k + 1] * i1, r[k + 2] * i2, r[k + 3] * i3
    f0 = f1 = f2 = f3 = error = worst = 0.0
    largest = r[k + lanes - 1] / q[k + lanes - 1]
    for t in range(high, max(low, 1) - 1, -1):
        f0 = chances[t] * i0 - o0 * f0
        f1 = chances[t] * i1 - o1 * f1
        f2 = chances[t] * i2 - o2 * f2
        f3 = chances[t] * i3 - o3 * f3
        error = chances[t] + largest * error
        worst += w[t] * error
        parts[0, t], parts[1, t], parts[2, t], parts[3, t] = f0, f1, f2, f3
    return worst


@kernel(fastmath={"contract"})
def convolve(first, last, others, low, high, part):
    """part[t] = F^{-l}_{t-1} for any element, from the chances before and after it."""
    clear(part[low : high + 1])
    for a in range(min(last, high - 1) + 1):
        start, chance = max(a, low - 1), first[a]
        source, target = others[start - a :], part[start + 1 :]
        for t in range(high - start):
            target[t] += chance * source[t]


@kernel()
def append(first, k, q, r):
    """The chances of the first k elements become those of k + 1."""
    last = min(k + 1, len(first) - 1)
    if last == k + 1:
        first[last] = 0.0
    for t in range(last, 0, -1):
        first[t] = first[t] * r + first[t - 1] * q
    first[0] *= r
