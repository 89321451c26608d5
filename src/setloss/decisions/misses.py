"""The best set of independent elements for Jaccard, and for Tversky's index that weighs false positives by 1.

With S positives among the k chosen elements and R among the others the score is S / (k + b R). S and R are
independent, so

    E score = E S  E 1 / (k + b R):        O(p) for each k, once the chances of R are known.

R has one element more for each k less. All sets take O(p^2), and less where chances below `floor` are dropped.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from setloss.compilation import kernel
from setloss.decisions.chances import gather_chances
from setloss.decisions.search import TIE, add_element, choose


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
        for k in range(1, p + 1):
            if costs[k] < expected[i] - TIE * abs(expected[i]):
                best[i], expected[i] = k, costs[k]
        choose(sets[i], order[i], best[i])
