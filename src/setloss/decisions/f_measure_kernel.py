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

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.count_kernels import clear, weigh_elements, weigh_sizes
from setloss.decisions.prefix_search import ONE, add_element
from setloss.decisions.specs import TIE

GROWTH = 256.0
"""Rounding errors, beside one for each element, that a division may cost."""

TWO, THREE, FOUR = np.uint64(2), np.uint64(3), np.uint64(4)

FLOOR, LEAST_SUM = 1e-30, 1e-10
"""Chances that are dropped, and the least Z for which they may be."""


@kernel(fastmath={"contract"})
def divide(chances, low, high, last, q, r, w, part):
    """part[t] = F^{-i}_{t-1} for an element i, low <= t <= last; returns a bound of its error, weighted by w."""
    f = error = worst = 0.0
    part[low] = 0.0
    if q <= r:
        scale, odds = 1 / r, q / r
        for t in range(np.uint64(low), np.uint64(last)):
            f = chances[t] * scale - odds * f
            error = chances[t] + odds * error
            worst += w[t + ONE] * error
            part[t + ONE] = f
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
    for t in range(np.uint64(low), np.uint64(last + 1)):
        total += hits[t] / (a * k + b * t)
    return total


@kernel(fastmath={"reassoc", "contract"})
def score_with(hits, part, w, q, a, b, k, low, last):
    """Z times the expected score with one more element, the k-th, added to `hits`, and what no larger set exceeds."""
    total = bound = 0.0
    for t in range(np.uint64(low), np.uint64(last + 1)):
        chance = q * w[t] * part[t]
        hits[t] += chance
        share = hits[t] / (a * k + b * t)
        total += share
        bound += max(share, chance / a)
    return total, bound


@kernel(fastmath={"reassoc", "contract"})
def score_without(hits, part, chances, w, q, a, b, k, low, last):
    """The same with one element less, k being left, and what no smaller set exceeds."""
    total = bound = 0.0
    for t in range(np.uint64(low), np.uint64(last + 1)):
        chance = q * w[t] * part[t]
        hits[t] -= chance
        share = hits[t] / (a * k + b * t)
        total += share
        bound += max(share, min(w[t] * chances[t], (hits[t] - (k - 1) * chance) / (a + b * t)))
    return total, bound


@kernel(fastmath={"contract"})
def add_four(chances, low, high, q, r, j):
    """`add_element` for four elements at once. The chance of t is at 4 + t, with four zeros on both sides."""
    x0, x1, x2 = r[j] * r[j + 1], r[j] * q[j + 1] + q[j] * r[j + 1], q[j] * q[j + 1]
    y0, y1, y2 = r[j + 2] * r[j + 3], r[j + 2] * q[j + 3] + q[j + 2] * r[j + 3], q[j + 2] * q[j + 3]
    c0, c4 = x0 * y0, x2 * y2
    c1, c2, c3 = x0 * y1 + x1 * y0, x0 * y2 + x1 * y1 + x2 * y0, x1 * y2 + x2 * y1
    top = np.uint64(high + 4)
    for i in range(high - low + 5):
        t = top - np.uint64(i)
        near = c0 * chances[t + FOUR] + c1 * chances[t + THREE] + c2 * chances[t + TWO]
        chances[t + FOUR] = near + c3 * chances[t + ONE] + c4 * chances[t]
    high += 4
    while high > low and chances[high + 4] < FLOOR:
        high -= 1
    while low < high and chances[low + 4] < FLOOR:
        low += 1
    for zero in range(4):
        chances[low + zero] = chances[high + 5 + zero] = 0.0
    return low, high


@kernel()
def chances_among(q, r, start, end, chances):
    """The chances of t positives among 4 m independent elements, and the range of t in which they matter."""
    clear(chances[:9])
    chances[4] = 1.0
    low, high = 0, 0
    for j in range(start, end, 4):
        low, high = add_four(chances, low, high, q, r, j)
    return chances[4:], low, high


@kernel(fastmath={"contract"})
def merge(first, others, chances, hits):
    """F, its range, and J of the first elements, from the chances among these and among the others."""
    (among, a_low, a_high), (rest, b_low, b_high) = first, others
    low, high = a_low + b_low, a_high + b_high
    clear(chances[low : high + 1])
    clear(hits[low : high + 1])
    for a in range(np.uint64(a_low), np.uint64(a_high + 1)):
        for b in range(np.uint64(b_low), np.uint64(b_high + 1)):
            chance = among[a] * rest[b]
            chances[a + b] += chance
            hits[a + b] += a * chance
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
    q, r, w, costs, buffers = np.zeros(p + 3), np.ones(p + 3), np.zeros(p + 1), np.empty(p + 1), np.empty((2, p + 16))
    chances, hits, part = np.empty(p + 1), np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        weigh_elements(scores[i], q, r)
        if i < len(potentials):
            weigh_sizes(potentials[i], w)
        k = likely_size(q[:p], weights[1], weights[0], width - 1) // 4 * 4
        end = p + -p % 4  # elements of chance 0 fill the last four
        first = chances_among(q, r, 0, k, buffers[0])
        others = chances_among(q, r, k, end, buffers[1])
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
    others = np.empty(p + 1)
    for i in range(n):
        weigh_elements(scores[i], q, r)
        for k in range(p):
            means[k + 1] = means[k] + q[k]
        others[0] = 1.0
        low, high = 0, 0
        for k in range(p, 0, -1):
            costs[k] = 1 - means[k] * score_of(others, 1.0, b, k, low, high)
            low, high = add_element(others, low, high, q[k - 1], r[k - 1], floor)
        best[i], expected[i], safe[i] = 0, 1 - (others[0] * (1 - undefined) if low == 0 else 0.0), True
        room = TIE * abs(expected[i])
        for k in range(1, p + 1):
            if costs[k] < expected[i] - room:
                best[i], expected[i] = k, costs[k]
