"""The best set for F-measures, whose loss is linear in the number of hits: O(p K) for each example.

With a + b = 1 (Dice and F-beta) the loss of k chosen elements, t positives and h hits is 1 - h / (a k + b t), so

    E l(top k) = 1 - sum_t J_k(t) / (a k + b t),      J_k(t) = sum_{i <= k} j_i(t),   j_i(t) = P(y_i = 1, |y| = t).

**One element.** j_i(t) = w_t q_i F^{-i}_{t-1} / Z, where F^{-i}, the chances without element i, is F divided by
``(1 - q_i) + q_i z``. For q_i <= 1/2 the division runs upwards, F^{-i}_t = (F_t - q_i F^{-i}_{t-1}) / (1 - q_i), for
larger ones downwards from the largest size. Rounding errors of F grow as ``e_t = F_t + rho e_{t-1}``, rho <= 1 being
the odds: the kernel sums this bound, and a row in which it exceeds `GROWTH` rounding errors is left to
`setloss.decisions.search`, which never subtracts. Where sizes beyond K are impossible there is no largest size to run
down from; elements with q_i > 1/2, at most twice the expected number of positives, are then convolved.

**When to stop.** By the swap argument j_i(t) falls with i, so J_{k+x}(t) <= J_k(t) + x j_k(t). Divided by
a (k + x) + b t this is monotone in x, so no larger set scores more than
``sum_t max(J_k(t) / (a k + b t), j_k(t) / a)``.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.kernels import SMALLEST
from setloss.decisions.search import TIE, choose, settle_ties

LANES = 4
"""Elements that are multiplied or divided side by side."""
GROWTH = 256.0


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


# Slices that start at 0 tell the compiler that no index is negative; loops over them become vector instructions.


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


@kernel(fastmath={"contract"})
def divide_up(chances, low, high, q, r, w, k, parts):
    """parts[l, t] = F^{-l}_{t-1} for the LANES elements from k on, all at most one half; returns an error bound."""
    parts[:, low] = 0.0
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
    parts[:, low] = 0.0
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
    part[low : high + 1] = 0.0
    for a in range(min(last, high - 1) + 1):
        start, chance = max(a, low - 1), first[a]
        source, target = others[start - a :], part[start + 1 :]
        for t in range(high - start):
            target[t] += chance * source[t]


@kernel(fastmath={"reassoc", "contract"})
def score_with(hits, part, w, q, low, high, a_k, b):
    """J_k(t) and Z times the expected score with one more element."""
    total, size = 0.0, a_k + b * low
    found, more, weight = hits[low:], part[low:], w[low:]
    for t in range(high - low + 1):
        found[t] += q * weight[t] * more[t]
        total += found[t] / (size + b * t)
    return total


@kernel(fastmath={"reassoc", "contract"})
def largest_score(hits, part, w, q, low, high, a, a_k, b):
    """No larger set has a larger expected score, times Z."""
    total, size, rate = 0.0, a_k + b * low, q / a
    found, more, weight = hits[low:], part[low:], w[low:]
    for t in range(high - low + 1):
        total += max(found[t] / (size + b * t), rate * weight[t] * more[t])
    return total


@kernel()
def all_chances(q, r, heavy, floor, now, then, stored):
    """F and its range; with `stored`, the chances of the elements after each of the first `heavy` ones."""
    p = len(q) - LANES
    now[:LANES], now[LANES], now[LANES + 1 : 2 * LANES + 1] = 0.0, 1.0, 0.0
    low, high, ends = 0, 0, heavy + (p - heavy + LANES - 1) // LANES * LANES
    for j in range(ends - LANES, heavy - 1, -LANES):
        low, high = multiply(now, then, low, high, q, r, j, floor)
        now, then = then, now
    one_q, one_r = np.zeros(LANES), np.ones(LANES)
    for j in range(heavy - 1, -1, -1):
        stored[j + 1, :] = 0.0
        stored[j + 1, low : high + 1] = now[low + LANES : high + LANES + 1]
        one_q[0], one_r[0] = q[j], r[j]
        low, high = multiply(now, then, low, high, one_q, one_r, 0, floor)
        now, then = then, now
    return now[LANES:], low, high


@kernel()
def append(first, k, q, r):
    """The chances of the first k elements become those of k + 1."""
    last = min(k + 1, len(first) - 1)
    if last == k + 1:
        first[last] = 0.0
    for t in range(last, 0, -1):
        first[t] = first[t] * r + first[t - 1] * q
    first[0] *= r


@kernel()
def best_by_hits(scores, potentials, weights, order, floor, sets, expected, best, safe):
    """The best set of every row, `order` by falling scores; `safe` is False where the sums cannot be trusted."""
    n, p = scores.shape
    a, b, undefined = weights
    width = potentials.shape[1]
    whole = width == p + 1
    q, r, w, hits = np.zeros(p + LANES), np.ones(p + LANES), np.empty(width), np.empty(width)
    now, then, parts = np.empty(width + 2 * LANES), np.empty(width + 2 * LANES), np.zeros((LANES, width))
    first, stored = np.empty(width), np.empty((1, width))
    for i in range(n):
        heavy = gather_chances(scores[i], order[i], q, r)
        if i < len(potentials):
            w[:] = np.exp(potentials[i] - potentials[i].max())
        if not whole and len(stored) <= heavy:
            stored = np.empty((heavy + 32, width))
        chances, low, high = all_chances(q, r, 0 if whole else heavy, floor, now, then, stored)
        total = 0.0
        for t in range(low, high + 1):
            total += w[t] * chances[t]
            hits[t] = 0.0
        safe[i] = total > SMALLEST
        if not safe[i]:
            continue
        best[i], expected[i] = 0, 1 - (w[0] * chances[0] / total * (1 - undefined) if low == 0 else 0.0)
        first[0] = 1.0
        k, bound, growth = 0, total, 0.0
        while k < p and 1 - bound / total < expected[i] * (1 - TIE):
            lanes = 1
            if k >= heavy:
                lanes = min(LANES, p - k)
                error = divide_up(chances, low, high, q, r, w, k, parts)
                growth = max(growth, error)
            elif whole:
                lanes = min(LANES, heavy - k)
                error = divide_down(chances, low, high, q, r, w, k, lanes, parts)
                growth = max(growth, error)
            else:
                convolve(first, min(k, width - 1), stored[k + 1], low, high, parts[0])
                append(first, k, q[k], r[k])
            for lane in range(lanes):
                k += 1
                cost = 1 - score_with(hits, parts[lane], w, q[k - 1], low, high, a * k, b) / total
                if cost < expected[i] - TIE * abs(expected[i]):
                    best[i], expected[i] = k, cost
            bound = largest_score(hits, parts[lanes - 1], w, q[k - 1], low, high, a, a * k, b)
        safe[i] = growth <= GROWTH * total
        choose(sets[i], order[i], best[i])
