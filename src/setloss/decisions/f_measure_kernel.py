"""The best set for F-measures, whose loss is linear in the number of hits, and for Jaccard: O(p K) for each example.

With a + b = 1 (Dice and F-beta) the loss of k chosen elements, t positives and h hits is 1 - h / (a k + b t), so

    E l(top k) = 1 - sum_t J_k(t) / (a k + b t),      J_k(t) = sum_{i <= k} j_i(t),   j_i(t) = P(y_i = 1, |y| = t).

**One element.** j_i(t) = w_t q_i F^{-i}_{t-1} / Z, with F^{-i} the chances without element i, by a division
(`setloss.decisions.kernels`). A row in which the bound of its error exceeds `GROWTH` + p rounding errors is left to
`setloss.decisions.search`, which never subtracts; the shares 1 / (a k + b t) add up to about 1 over k elements, so
the expected loss is as good as one division. Where sizes beyond K are impossible, elements with q_i > 1/2, at
most twice the expected number of positives, are convolved.

**When to stop.** By the swap argument j_i(t) falls with i, so J_{k+x}(t) <= J_k(t) + x j_k(t). Divided by
a (k + x) + b t this is monotone in x, so no larger set scores more than
``sum_t max(J_k(t) / (a k + b t), j_k(t) / a)``.

**Where to begin.** If elements are independent and the loss is F1, those with a chance above one half belong to the
best set, unless it is empty. For H hits, T positives among all elements but i, and D = (k + T) / 2 >= H, taking i
with chance q in addition gains

    q (D + (1 - H) / 2) / ((D + 1) (D + 1/2))  -  (1 - q) H / (2 D (D + 1/2)),

which is (D - H) / (2 D (D + 1)) >= 0 for q = 1/2, and grows with q. So smaller sets need no look, and these elements
enter all at once.

**Jaccard**, and Tversky's index that weighs false positives by 1, of independent elements: with S positives among the
k chosen elements and R among the others the score is S / (k + b R). S and R are independent, so
E score = E S  E 1 / (k + b R): O(p) for each k, once the chances of R are known. R has one element more for each k
less. All sets take O(p^2), and less where chances below `floor` are dropped.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.kernels import (
    LANES,
    SMALLEST,
    all_chances,
    append,
    begin_with,
    clear,
    convolve,
    count_above,
    divide_down,
    divide_up,
    gather_chances,
    weigh_sizes,
)
from setloss.decisions.search import add_element, choose
from setloss.decisions.specs import TIE

GROWTH = 256.0
"""Rounding errors, beside one for each element, that a division may cost."""

SURE = 1e-6
"""Scores above this are chances above one half whose gain is more than a tie."""


@kernel(fastmath={"reassoc", "contract"})
def score_lanes(hits, parts, w, shares, step, q, k, low, high, scores):
    """J(t) with LANES more elements, from k on, and Z times the expected score with each one of them."""
    found, weight = hits[low:], w[low:]
    f0, f1, f2, f3 = parts[0, low:], parts[1, low:], parts[2, low:], parts[3, low:]
    s0, s1, s2, s3 = shares[low:], shares[low + step :], shares[low + 2 * step :], shares[low + 3 * step :]
    q0, q1, q2, q3 = q[k], q[k + 1], q[k + 2], q[k + 3]
    a0 = a1 = a2 = a3 = 0.0
    for t in range(high - low + 1):
        h0 = found[t] + q0 * weight[t] * f0[t]
        h1 = h0 + q1 * weight[t] * f1[t]
        h2 = h1 + q2 * weight[t] * f2[t]
        h3 = h2 + q3 * weight[t] * f3[t]
        found[t] = h3
        a0 += h0 * s0[t]
        a1 += h1 * s1[t]
        a2 += h2 * s2[t]
        a3 += h3 * s3[t]
    scores[0], scores[1], scores[2], scores[3] = a0, a1, a2, a3


@kernel(fastmath={"reassoc", "contract"})
def score_with(hits, part, w, share, q, low, high):
    """J_k(t) and Z times the expected score with one more element."""
    total = 0.0
    found, more, weight, each = hits[low:], part[low:], w[low:], share[low:]
    for t in range(high - low + 1):
        found[t] += q * weight[t] * more[t]
        total += found[t] * each[t]
    return total


@kernel(fastmath={"reassoc", "contract"})
def largest_score(hits, part, w, share, q, low, high, a):
    """No larger set has a larger expected score, times Z."""
    total, rate = 0.0, q / a
    found, more, weight, each = hits[low:], part[low:], w[low:], share[low:]
    for t in range(high - low + 1):
        total += max(found[t] * each[t], rate * weight[t] * more[t])
    return total


@kernel()
def write_shares(k, a, b, low, high, width, shares):
    """shares[l width + t] = 1 / (a (k + l) + b t) for LANES sets, low <= t <= high."""
    for lane in range(LANES):
        row, size = shares[lane * width + low :], a * (k + lane) + b * low
        for t in range(high - low + 1):
            row[t] = 1 / (size + b * t)


@kernel()
def divide_next(k, heavy, whole, chances, low, high, q, r, w, first, stored, parts):
    """F without each of the next elements, from k on: how many of them, and the error bound of the division."""
    if k >= heavy:
        return min(LANES, len(q) - LANES - k), divide_up(chances, low, high, q, r, w, k, parts)
    if whole:
        lanes = min(LANES, heavy - k)
        return lanes, divide_down(chances, low, high, q, r, w, k, lanes, parts)
    convolve(first, min(k, len(w) - 1), stored[k + 1], low, high, parts[0])
    append(first, k, q[k], r[k])
    return 1, 0.0


@kernel()
def score_next(k, lanes, low, high, q, w, hits, parts, shares, step, gains):
    """Z times the expected scores of the sets with the next elements."""
    if lanes == LANES:
        score_lanes(hits, parts, w, shares, step, q, k, low, high, gains)
        return
    for lane in range(lanes):
        gains[lane] = score_with(hits, parts[lane], w, shares[lane * step :], q[k + lane], low, high)


@kernel()
def climb(k, total, least, heavy, whole, weights, chances, low, high, q, r, w, hits, table, scratch):
    """The best set of k elements or more, given J_k in `hits`: size, cost if below `least`, and error bound."""
    parts, first, stored = scratch
    p, a, b = len(q) - LANES, weights[0], weights[1]
    size, bound, growth, gains, room = 0, total, 0.0, np.empty(LANES), TIE * abs(least)
    if k:
        cost = 1 - score_with(hits, parts[0], w, table[k - 1 :], 0.0, low, high) / total
        if cost < least - room:
            size, least = k, cost
    while k < p and 1 - bound / total < least - room:
        shares, step = table[k:], 1
        if a != b:
            shares, step = table, len(w)
            write_shares(k + 1, a, b, low, high, step, shares)
        lanes, error = divide_next(k, heavy, whole, chances, low, high, q, r, w, first, stored, parts)
        growth = max(growth, error)
        score_next(k, lanes, low, high, q, w, hits, parts, shares, step, gains)
        for lane in range(lanes):
            k += 1
            cost = 1 - gains[lane] / total
            if cost < least - room:
                size, least = k, cost
        last = shares[(lanes - 1) * step :]
        bound = largest_score(hits, parts[lanes - 1], w, last, q[k - 1], low, high, a)
    return size, least, growth


@kernel()
def best_by_hits(scores, potentials, weights, order, floor, sets, expected, best, safe, independent):
    """The best set of every row, `order` by falling scores; `safe` is False where the sums cannot be trusted."""
    n, p = scores.shape
    a, b, undefined = weights
    width = potentials.shape[1]
    whole = width == p + 1
    q, r, w, hits = np.zeros(p + LANES), np.ones(p + LANES), np.empty(width), np.empty(width)
    buffers, parts = np.empty((4, width + 2 * LANES)), np.zeros((LANES, width))
    merged, first, stored = np.empty(width), np.empty(width), np.empty((1, width))
    # Of F1, a = b, one table of 1 / (a (k + t)) serves all sets and examples.
    table = np.empty(p + LANES + width if a == b else LANES * width)
    if a == b:
        for k in range(len(table)):
            table[k] = 1 / (a * (k + 1))
    for i in range(n):
        heavy = gather_chances(scores[i], order[i], q, r)
        if i < len(potentials):
            weigh_sizes(potentials[i], w)
        if not whole and len(stored) <= heavy:
            stored = np.empty((heavy + 32, width))
        sure = count_above(scores[i], order[i], SURE) if independent and a == b else 0
        if sure:
            low, high = begin_with(sure, q, r, floor, buffers, merged, hits)
            chances = merged
        else:
            chances, low, high = all_chances(q, r, 0 if whole else heavy, floor, buffers[0], buffers[1], stored)
            clear(hits[low : high + 1])
        total = 0.0
        for t in range(low, high + 1):
            total += w[t] * chances[t]
        safe[i] = total > SMALLEST
        if not safe[i]:
            continue
        none = 1 - (w[0] * chances[0] / total * (1 - undefined) if low == 0 else 0.0)
        first[0] = 1.0
        best[i], expected[i], growth = climb(
            sure, total, none, heavy, whole, weights, chances, low, high, q, r, w, hits, table, (parts, first, stored)
        )
        safe[i] = growth <= (GROWTH + p) * total
        choose(sets[i], order[i], best[i])


@kernel(fastmath={"reassoc", "contract"})
def expected_share(chances, low, high, k, b):
    """E 1 / (k + b R)."""
    found, total, size = chances[low:], 0.0, k + b * low
    for t in range(high - low + 1):
        total += found[t] / (size + b * t)
    return total


@kernel()
def best_by_misses(scores, weights, order, floor, sets, expected, best):
    """The best set of every row for weights 1 and b > 0; `order` by falling scores."""
    n, p = scores.shape
    _, b, undefined = weights
    q, r, means, costs = np.zeros(p), np.ones(p), np.zeros(p + 1), np.empty(p + 1)
    now, then = np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        gather_chances(scores[i], order[i], q, r)
        for k in range(p):
            means[k + 1] = means[k] + q[k]
        now[0] = 1.0
        low, high = 0, 0
        for k in range(p, 0, -1):
            costs[k] = 1 - means[k] * expected_share(now, low, high, k, b)
            low, high = add_element(now, then, low, high, q[k - 1], r[k - 1], floor)
            now, then = then, now
        best[i], expected[i] = 0, 1 - (now[0] * (1 - undefined) if low == 0 else 0.0)
        room = TIE * abs(expected[i])
        for k in range(1, p + 1):
            if costs[k] < expected[i] - room:
                best[i], expected[i] = k, costs[k]
        choose(sets[i], order[i], best[i])
