"""The best set for F-measures, whose loss is linear in the number of hits, and for Jaccard of independent elements.

With a + b = 1 (Dice and F-beta) the loss of k chosen elements, t positives and h hits is 1 - h / (a k + b t), so

    E l(top k) = 1 - sum_t J_k(t) / (a k + b t),      J_k(t) = sum_{i <= k} j_i(t),   j_i(t) = P(y_i = 1, |y| = t).

**One element.** j_i(t) = w_t q_i F^{-i}_{t-1} / Z, with F^{-i} the chances of t positives without element i: F of all
elements divided by ``(1 - q_i) + q_i z``. For q_i <= 1/2 the division runs upwards, F^{-i}_t = (F_t - q_i
F^{-i}_{t-1}) / (1 - q_i), for larger ones downwards from the largest size. Rounding errors of F grow as
``e_t = F_t + rho e_{t-1}``, rho <= 1 being the odds; this bound is summed, and a row in which it exceeds `GROWTH` + p
rounding errors is left to `setloss.decisions.prefix_search`, which never subtracts. The shares 1 / (a k + b t) add
up to about 1 over k elements, so the expected loss is as good as one division.

**Where to begin.** Of A and B, the chances of a positives among the first k elements and of b among the others,
F(t) = sum_a A(a) B(t - a) and J_k(t) = w_t / Z sum_a a A(a) B(t - a). The search begins at the k of largest
``sum_{i <= k} q_i / (a k + b sum_i q_i)``, which is near the best one, and goes up and down from there.

**When to stop.** By the swap argument j_i(t) falls with i, so J_{k+x}(t) <= J_k(t) + x j_k(t). Divided by
a (k + x) + b t this is monotone in x, so no larger set scores more than
``sum_t max(J_k(t) / (a k + b t), j_k(t) / a)``. Smaller ones have J_{k-x}(t) <= J_k(t) - x j_{k+1}(t), divided by
a (k - x) + b t monotone in x as well, so those of one element at least score no more than
``sum_t max(J_k(t) / (a k + b t), min(P(|y| = t), (J_k(t) - (k - 1) j_{k+1}(t)) / (a + b t)))``.

**Jaccard**, and Tversky's index that weighs false positives by 1, of independent elements: with S positives among the
k chosen elements and R among the others the score is S / (k + b R). S and R are independent, so
E score = E S  E 1 / (k + b R): O(p) for each k, once the chances of R are known. R has one element more for each k
less. All sets take O(p^2), and less where chances below `floor` are dropped.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.count_kernels import clear, weigh_elements, weigh_sizes
from setloss.decisions.prefix_search import add_element
from setloss.decisions.specs import TIE

GROWTH = 256.0
"""Rounding errors, beside one for each element, that a division may cost."""

FLOOR, LEAST_SUM = 1e-30, 1e-10
"""Chances that are dropped, and the least Z for which they may be."""


@kernel(fastmath={"contract"})
def divide(chances, low, high, last, q, r, w, part):
    """part[t] = F^{-i}_{t-1} for an element i, low <= t <= last; returns a bound of its error, weighted by w."""
    f = error = worst = 0.0
    part[low] = 0.0
    if q <= r:
        scale, odds = 1 / r, q / r
        source, weight, target = chances[low:], w[low + 1 :], part[low + 1 :]
        for t in range(last - low):
            f = source[t] * scale - odds * f
            error = source[t] + odds * error
            worst += weight[t] * error
            target[t] = f
        return worst * odds
    scale, odds = 1 / q, r / q
    for t in range(high, max(low, 1) - 1, -1):
        f = chances[t] * scale - odds * f
        error = chances[t] + odds * error
        worst += w[t] * error
        part[t] = f
    return worst


@kernel(fastmath={"reassoc", "contract"})
def score_of(hits, a, b, k, low, last):
    """Z times the expected score of k elements; of chances instead of hits, E 1 / (a k + b t)."""
    total = 0.0
    found, size = hits[low:], a * k + b * low
    for t in range(last - low + 1):
        total += found[t] / (size + b * t)
    return total


@kernel(fastmath={"reassoc", "contract"})
def score_with(hits, part, w, q, a, b, k, low, last):
    """Z times the expected score with one more element, the k-th, added to `hits`, and what no larger set exceeds."""
    total = bound = 0.0
    found, more, weight, size, rate = hits[low:], part[low:], w[low:], a * k + b * low, 1 / a
    for t in range(last - low + 1):
        chance = q * weight[t] * more[t]
        found[t] += chance
        share = found[t] / (size + b * t)
        total += share
        bound += max(share, rate * chance)
    return total, bound


@kernel(fastmath={"reassoc", "contract"})
def score_without(hits, part, chances, w, q, a, b, k, low, last):
    """The same with one element less, k being left, and what no smaller set exceeds."""
    total = bound = 0.0
    found, less, among, weight = hits[low:], part[low:], chances[low:], w[low:]
    size, smallest = a * k + b * low, a + b * low
    for t in range(last - low + 1):
        chance = q * weight[t] * less[t]
        found[t] -= chance
        share = found[t] / (size + b * t)
        total += share
        bound += max(share, min(weight[t] * among[t], (found[t] - (k - 1) * chance) / (smallest + b * t)))
    return total, bound


@kernel(fastmath={"contract"})
def add_four(before, after, low, high, q, r):
    """`add_element` for four elements at once. The chance of t is at 4 + t, with four zeros on both sides."""
    x0, x1, x2 = r[0] * r[1], r[0] * q[1] + q[0] * r[1], q[0] * q[1]
    y0, y1, y2 = r[2] * r[3], r[2] * q[3] + q[2] * r[3], q[2] * q[3]
    c0, c4 = x0 * y0, x2 * y2
    c1, c2, c3 = x0 * y1 + x1 * y0, x0 * y2 + x1 * y1 + x2 * y0, x1 * y2 + x2 * y1
    source, target = before[low:], after[low + 4 :]
    for t in range(high - low + 5):
        near = c0 * source[t + 4] + c1 * source[t + 3] + c2 * source[t + 2]
        target[t] = near + c3 * source[t + 1] + c4 * source[t]
    high += 4
    while high > low and after[high + 4] < FLOOR:
        high -= 1
    while low < high and after[low + 4] < FLOOR:
        low += 1
    clear(after[low : low + 4])
    clear(after[high + 5 : high + 9])
    return low, high


@kernel()
def chances_among(q, r, now, then):
    """The chances of t positives among 4 m independent elements, and the range of t in which they matter."""
    clear(now[:9])
    now[4] = 1.0
    low, high = 0, 0
    for j in range(0, len(q), 4):
        low, high = add_four(now, then, low, high, q[j:], r[j:])
        now, then = then, now
    return now[4:], low, high


@kernel(fastmath={"contract"})
def merge(first, others, chances, hits):
    """F, its range, and J of the first elements, from the chances among these and among the others."""
    (among, a_low, a_high), (rest, b_low, b_high) = first, others
    low, high = a_low + b_low, a_high + b_high
    clear(chances[low : high + 1])
    clear(hits[low : high + 1])
    source = rest[b_low:]
    for a in range(a_low, a_high + 1):
        target, found = chances[a + b_low :], hits[a + b_low :]
        for t in range(b_high - b_low + 1):
            chance = among[a] * source[t]
            target[t] += chance
            found[t] += a * chance
    return low, high


@kernel()
def likely_size(q, a, b, most):
    """About the size of the best set; elements must have falling chances."""
    positives, hits = 0.0, 0.0
    for j in range(len(q)):
        positives += q[j]
    for k in range(len(q)):
        if q[k] * (a * k + b * min(positives, most)) <= a * hits:
            return k
        hits += q[k]
    return len(q)


@kernel()
def walk(start, total, none, weights, chances, low, high, last, q, r, w, hits, part, costs):
    """The best size, its cost and an error bound, given J of `start` elements and the cost of no elements.

    The search ends as soon as the error bound exceeds what a row is trusted with.
    """
    most = (GROWTH + len(q)) * total
    b, a, room, least, growth = weights[0], weights[1], TIE * abs(none), none, 0.0
    begin = hits[: last + 1].copy()
    if start:
        costs[start] = 1 - score_of(hits, a, b, start, low, last) / total
        least = min(least, costs[start])
    end, bound = start, total
    while end < len(q) and 1 - bound / total < least - room and growth <= most:
        growth = max(growth, divide(chances, low, high, last, q[end], r[end], w, part))
        end += 1
        score, bound = score_with(hits, part, w, q[end - 1], a, b, end, low, last)
        costs[end] = 1 - score / total
        least = min(least, costs[end])
    k, bound = start, total
    while k > 1 and 1 - bound / total <= least + room and growth <= most:
        k -= 1
        growth = max(growth, divide(chances, low, high, last, q[k], r[k], w, part))
        score, bound = score_without(begin, part, chances, w, q[k], a, b, k, low, last)
        costs[k] = 1 - score / total
        least = min(least, costs[k])
    if none <= least + room or growth > most:
        return 0, none, growth
    k = max(k, 1)
    while costs[k] > least + room:
        k += 1
    return k, costs[k], growth


@kernel()
def best_by_hits(scores, potentials, weights, expected, best, safe):
    """The best size of every row of falling scores; `safe` is False where the sums cannot be trusted."""
    n, p = scores.shape
    width, undefined = potentials.shape[1], weights[2]
    q, r, w, costs, buffers = np.zeros(p + 3), np.ones(p + 3), np.zeros(p + 1), np.empty(p + 1), np.empty((4, p + 16))
    chances, hits, part = np.empty(p + 1), np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        weigh_elements(scores[i], q, r)
        if i < len(potentials):
            weigh_sizes(potentials[i], w)
        k = likely_size(q[:p], weights[1], weights[0], width - 1) // 4 * 4
        end = p + -p % 4  # elements of chance 0 fill the last four
        first = chances_among(q[:k], r[:k], buffers[0], buffers[1])
        others = chances_among(q[k:end], r[k:end], buffers[2], buffers[3])
        low, high = merge(first, others, chances, hits)
        last, total = min(high, width - 1), 0.0
        for t in range(low, last + 1):
            hits[t] *= w[t]
            total += w[t] * chances[t]
        safe[i] = total > LEAST_SUM
        if safe[i]:
            none = 1 - (w[0] * chances[0] / total * (1 - undefined) if low == 0 else 0.0)
            best[i], expected[i], growth = walk(
                k, total, none, weights, chances, low, high, last, q[:p], r[:p], w, hits, part, costs
            )
            safe[i] = growth <= (GROWTH + p) * total


@kernel()
def best_by_misses(scores, weights, floor, expected, best, safe):
    """The best size of every row of falling scores, independent elements and weights 1 and b > 0; all are safe."""
    n, p = scores.shape
    b, _, undefined = weights
    q, r, means, costs = np.empty(p), np.empty(p), np.zeros(p + 1), np.empty(p + 1)
    now, then = np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        weigh_elements(scores[i], q, r)
        for k in range(p):
            means[k + 1] = means[k] + q[k]
        now[0] = 1.0
        low, high = 0, 0
        for k in range(p, 0, -1):
            costs[k] = 1 - means[k] * score_of(now, 1.0, b, k, low, high)
            low, high = add_element(now, then, low, high, q[k - 1], r[k - 1], floor)
            now, then = then, now
        best[i], expected[i], safe[i] = 0, 1 - (now[0] * (1 - undefined) if low == 0 else 0.0), True
        room = TIE * abs(expected[i])
        for k in range(1, p + 1):
            if costs[k] < expected[i] - room:
                best[i], expected[i] = k, costs[k]
