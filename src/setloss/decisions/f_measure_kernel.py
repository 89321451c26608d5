"""The best set for F-measures, whose loss is linear in the number of hits, and for Jaccard: O(p) for each size.

With a + b = 1 (Dice and F-beta) the loss of k chosen elements, t positives and h hits is 1 - h / (a k + b t), so

    E l(top k) = 1 - sum_t J_k(t) / (a k + b t),      J_k(t) = sum_{i <= k} j_i(t),   j_i(t) = P(y_i = 1, |y| = t).

**One element.** j_i(t) = w_t q_i F^{-i}_{t-1} / Z, with F^{-i} the chances of t positives without element i: F of all
elements divided by ``(1 - q_i) + q_i z``. For q_i <= 1/2 the division runs upwards, F^{-i}_t = (F_t - q_i
F^{-i}_{t-1}) / (1 - q_i), for larger ones downwards from the largest size. Rounding errors of F grow as
``e_t = F_t + rho e_{t-1}``, rho <= 1 being the odds; this bound is summed, and a row in which it exceeds `GROWTH` + p
rounding errors is left to `setloss.decisions.search`, which never subtracts. The shares 1 / (a k + b t) add up to
about 1 over k elements, so the expected loss is as good as one division.

**When to stop.** By the swap argument j_i(t) falls with i, so J_{k+x}(t) <= J_k(t) + x j_k(t). Divided by
a (k + x) + b t this is monotone in x, so no larger set scores more than
``sum_t max(J_k(t) / (a k + b t), j_k(t) / a)``.

**Jaccard**, and Tversky's index that weighs false positives by 1, of independent elements: with S positives among the
k chosen elements and R among the others the score is S / (k + b R). S and R are independent, so
E score = E S  E 1 / (k + b R): O(p) for each k, once the chances of R are known. R has one element more for each k
less. All sets take O(p^2), and less where chances below `floor` are dropped.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.kernels import SMALLEST, clear, weigh_falling
from setloss.decisions.search import add_element, choose
from setloss.decisions.specs import TIE

GROWTH = 256.0
"""Rounding errors, beside one for each element, that a division may cost."""


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
def score_with(hits, part, w, q, a, b, k, low, last):
    """Z times the expected score with one more element, the k-th, added to `hits`, and what no larger set exceeds."""
    total = bound = 0.0
    found, more, weight, size = hits[low:], part[low:], w[low:], a * k + b * low
    for t in range(last - low + 1):
        chance = q * weight[t] * more[t]
        found[t] += chance
        share = found[t] / (size + b * t)
        total += share
        bound += max(share, chance / a)
    return total, bound


@kernel()
def best_by_hits(scores, potentials, weights, order, floor, sets, expected, best, safe):
    """The best set of every row, `order` by falling scores; `safe` is False where the sums cannot be trusted."""
    n, p = scores.shape
    a, b, undefined = weights
    falling, q, r, w = np.empty(p), np.empty(p), np.empty(p), np.zeros(p + 1)
    chances, then, part, hits = np.empty(p + 1), np.empty(p + 1), np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        weigh_falling(scores[i], order[i], potentials[i % len(potentials)], falling, q, r, w)
        chances[0] = 1.0
        low, high, total, growth = 0, 0, 0.0, 0.0
        for j in range(p):
            low, high = add_element(chances, then, low, high, q[j], r[j], floor)
            chances, then = then, chances
        last = min(high, potentials.shape[1] - 1)
        for t in range(low, last + 1):
            total += w[t] * chances[t]
        safe[i] = total > SMALLEST
        if not safe[i]:
            continue
        clear(hits[low : last + 1])
        best[i], expected[i] = 0, 1 - (w[0] * chances[0] / total * (1 - undefined) if low == 0 else 0.0)
        room, bound = TIE * abs(expected[i]), total
        for k in range(1, p + 1):
            if 1 - bound / total >= expected[i] - room:
                break
            growth = max(growth, divide(chances, low, high, last, q[k - 1], r[k - 1], w, part))
            score, bound = score_with(hits, part, w, q[k - 1], a, b, k, low, last)
            if 1 - score / total < expected[i] - room:
                best[i], expected[i] = k, 1 - score / total
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
def best_by_misses(scores, potentials, weights, order, floor, sets, expected, best, safe):
    """The best set of every row for weights 1 and b > 0; `order` by falling scores. Potentials must be 0."""
    n, p = scores.shape
    _, b, undefined = weights
    falling, q, r, means, costs = np.empty(p), np.empty(p), np.empty(p), np.zeros(p + 1), np.empty(p + 1)
    now, then, w = np.empty(p + 1), np.empty(p + 1), np.empty(p + 1)
    for i in range(n):
        weigh_falling(scores[i], order[i], potentials[0], falling, q, r, w)
        for k in range(p):
            means[k + 1] = means[k] + q[k]
        now[0] = 1.0
        low, high = 0, 0
        for k in range(p, 0, -1):
            costs[k] = 1 - means[k] * expected_share(now, low, high, k, b)
            low, high = add_element(now, then, low, high, q[k - 1], r[k - 1], floor)
            now, then = then, now
        best[i], expected[i], safe[i] = 0, 1 - (now[0] * (1 - undefined) if low == 0 else 0.0), True
        room = TIE * abs(expected[i])
        for k in range(1, p + 1):
            if costs[k] < expected[i] - room:
                best[i], expected[i] = k, costs[k]
        choose(sets[i], order[i], best[i])
