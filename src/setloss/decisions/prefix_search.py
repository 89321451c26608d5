"""The best of the sets of the k largest scores, k = 0, ..., p, by prefix and suffix sums.

    E l(top k) = 1/Z sum_{a, b} A_k(a) B_k(b) w_{a+b} l(b, k - a | a + b),

A_k and B_k being the chances of a positives among the first k elements and of b among the others. Two things keep
this short.

1. For a loss that never falls with more mistakes, no set of k elements or more is expected to cost less than
   ``sum_t P(|y| = t) l(0, max(k - t, 0) | t)``, and this bound climbs with k. The search ends where it passes the
   best cost so far.
2. Chances below `floor` are dropped at both ends. Each element adds one chance to A_k and to B_k, so at most 4 p are
   dropped, each of which weighs at most its own size: no expected loss changes by more than ``4 p floor / Z`` times
   the largest loss, which is below a rounding error.

**Jaccard**, and Tversky's index that weighs false positives by 1, needs O(K) for each k: with G_k(x) = sum_a a A_k(a)
w_{a+x} its score is sum_x B_k(x) G_k(x) / (k + b x) / Z. One more element gives A_{k+1}(a) = (1 - q) A_k(a) +
q A_k(a - 1), so with H_k(x) = sum_a A_k(a) w_{a+x}

    G_{k+1}(x) = (1 - q) G_k(x) + q (G_k(x + 1) + H_k(x + 1)),        H_{k+1}(x) = (1 - q) H_k(x) + q H_k(x + 1).
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.count_kernels import SMALLEST, clear, weigh_elements, weigh_sizes
from setloss.decisions.specs import CURVE, TVERSKY

ONE = np.uint64(1)
"""Step of unsigned indices, which tell the compiler that none is negative: loops become vector instructions."""


@kernel()
def write_losses(kind, numbers, table, k, a, width, out):
    """out[b] = the loss of k chosen elements, a of them positive, with b positives not chosen, b < width."""
    wrong = k - a
    if kind == TVERSKY:
        for b in range(width):
            missed = numbers[0] * b + numbers[1] * wrong
            out[b] = missed / (a + missed) if a + missed > 0.0 else numbers[2]
    elif kind == CURVE:
        for b in range(width):
            out[b] = numbers[b + wrong]
    else:
        for b in range(width):
            out[b] = table[k, a, b]


@kernel()
def add_element(chances, low, high, q, r, floor):
    """One more element: ``r chances + q chances shifted``, in place, trimmed to the chances above `floor`."""
    last, top = min(high + 1, len(chances) - 1), np.uint64(high)
    if last > high:
        chances[last] = chances[high] * q
    for i in range(high - low):
        a = top - np.uint64(i)
        chances[a] = chances[a] * r + chances[a - ONE] * q
    chances[low] *= r
    while last > low and chances[last] < floor:
        last -= 1
    while low < last and chances[low] < floor:
        low += 1
    return low, last


@kernel()
def store_sums(scores, potentials, floor, q, r, w, stored, ranges, sizes):
    """stored[k, b] = the chance of b positives from element k on, and sizes[t] = P(|y| = t); returns Z, scaled."""
    weigh_elements(scores, q, r)
    weigh_sizes(potentials, w)
    low, high = 0, 0
    stored[len(q), 0] = 1.0
    ranges[len(q), 0], ranges[len(q), 1] = low, high
    for k in range(len(q) - 1, -1, -1):  # as `add_element`; a view of every row takes as long as thirty sums
        last, chance, rest = min(high + 1, len(w) - 1), q[k], r[k]
        stored[k, low] = stored[k + 1, low] * rest
        for a in range(np.uint64(low + 1), np.uint64(high + 1)):
            stored[k, a] = stored[k + 1, a] * rest + stored[k + 1, a - ONE] * chance
        if last > high:
            stored[k, last] = stored[k + 1, high] * chance
        while last > low and stored[k, last] < floor:
            last -= 1
        while low < last and stored[k, low] < floor:
            low += 1
        high = ranges[k, 1] = last
        ranges[k, 0] = low
    total = 0.0
    for t in range(len(w)):
        sizes[t] = w[t] * stored[0, t] if low <= t <= high else 0.0
        total += sizes[t]
    for t in range(len(w)):
        sizes[t] /= max(total, SMALLEST)
    return total


@kernel(fastmath={"reassoc", "contract"})
def expected_loss(k, first, low, high, others, b_low, b_high, w, spec, row):
    """Z E l(top k)."""
    kind, numbers, table = spec
    total = 0.0
    for a in range(low, high + 1):
        end = min(b_high + 1, len(w) - a)
        if end <= b_low:
            break
        write_losses(kind, numbers, table, k, a, end, row)
        inner = 0.0
        for b in range(b_low, end):
            inner += others[b] * w[a + b] * row[b]
        total += first[a] * inner
    return total


@kernel()
def least_loss(k, sizes, spec, row):
    """No set of k elements or more is expected to cost less."""
    kind, numbers, table = spec
    total = 0.0
    for t in range(len(sizes)):
        write_losses(kind, numbers, table, max(k, t), t, 1, row)
        total += sizes[t] * row[0]
    return total


@kernel(fastmath={"reassoc", "contract"})
def score_by_misses(others, low, high, hits, b, k):
    """Z times the expected score of k elements, from B_k and G_k."""
    total = 0.0
    for x in range(low, high + 1):
        total += others[x] * hits[x] / (k + b * x)
    return total


@kernel()
def losses_of_prefixes(scores, potentials, spec, by_misses, floor, every, costs, safe):
    """The expected losses (n, p + 1) of the k largest of falling scores; `safe` is False where Z is too small.

    Unless `every` is asked for, those of sizes that cannot be the best are left as they are. `by_misses` is for
    Jaccard.
    """
    n, p = scores.shape
    width = potentials.shape[1]
    q, r = np.empty(p), np.empty(p)
    w, sizes, row = np.empty(width), np.empty(width), np.empty(width)
    first, hits, sums = np.empty(width), np.empty(width + 1), np.empty(width + 1)
    stored, ranges = np.empty((p + 1, width)), np.empty((p + 1, 2), np.int64)
    for i in range(n):
        total = store_sums(scores[i], potentials[i % len(potentials)], floor, q, r, w, stored, ranges, sizes)
        safe[i] = total > SMALLEST
        if not safe[i]:
            continue
        first[0] = 1.0
        low, high, least = 0, 0, np.inf
        clear(hits)
        sums[:width], sums[width] = w, 0.0
        up_to = positives = 0.0
        for k in range(p + 1):
            if k < width:
                up_to, positives = up_to + sizes[k], positives + k * sizes[k]
            if by_misses and k > 0:
                if not every and up_to - positives / k >= least:
                    break
                for x in range(width):
                    hits[x] = r[k - 1] * hits[x] + q[k - 1] * (hits[x + 1] + sums[x + 1])
                    sums[x] = r[k - 1] * sums[x] + q[k - 1] * sums[x + 1]
                costs[i, k] = 1 - score_by_misses(stored[k], ranges[k, 0], ranges[k, 1], hits, spec[1][0], k) / total
            else:
                if k > 0 and not every and least_loss(k, sizes, spec, row) >= least:
                    break
                others = stored[k], ranges[k, 0], ranges[k, 1]
                costs[i, k] = expected_loss(k, first, low, high, *others, w, spec, row) / total
            least = min(least, costs[i, k])
            if k < p and not by_misses:
                low, high = add_element(first, low, high, q[k], r[k], floor)


@kernel()
def losses_of_firsts(scores, chosen, potentials, spec, floor, expected, safe):
    """The expected loss of the first chosen[i] elements of every row; `safe` is False where Z is too small."""
    n, p = scores.shape
    width = potentials.shape[1]
    q, r, w, row = np.empty(p), np.empty(p), np.empty(width), np.empty(width)
    first, others = np.empty(width), np.empty(width)
    for i in range(n):
        k = chosen[i]
        weigh_elements(scores[i], q, r)
        weigh_sizes(potentials[i % len(potentials)], w)
        first[0] = others[0] = 1.0
        low, high, b_low, b_high = 0, 0, 0, 0
        for j in range(k):
            low, high = add_element(first, low, high, q[j], r[j], floor)
        for j in range(k, p):
            b_low, b_high = add_element(others, b_low, b_high, q[j], r[j], floor)
        total = 0.0
        for a in range(low, high + 1):
            for b in range(b_low, min(b_high + 1, width - a)):
                total += first[a] * others[b] * w[a + b]
        safe[i] = total > SMALLEST
        expected[i] = expected_loss(k, first, low, high, others, b_low, b_high, w, spec, row) / total
