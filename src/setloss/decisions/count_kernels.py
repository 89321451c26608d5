"""Sums over all label sets by forward and backward recursions over the elements.

With q_i = sigma(s_i) and w_k = exp(u_k - max u) the count model is a chain of Bernoulli variables, weighted at the
end:

    P(y) ~ prod_i q_i^{y_i} (1 - q_i)^{1 - y_i} w_{|y|},      Z = sum_k w_k F_k,   F_k = P(k of them are 1).

Every term is positive, so nothing cancels: each number is right to about p rounding errors. What underflows is below
1e-300 and weighs at most 1, so it is lost without harm unless Z itself is tiny; rows with Z below `SMALLEST` are
marked, and `SetsOfOneSize.tilted` shifts their scores.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np

from setloss.compilation import kernel

SMALLEST = 1e-250


@kernel()
def weigh_sizes(potentials, w):
    """The weights w_k = exp(u_k - max u); returns max u."""
    top = potentials.max()
    for k in range(len(potentials)):
        w[k] = np.exp(potentials[k] - top)
    return top


@kernel()
def weigh_elements(scores, q, r):
    """Chances q and their complements r."""
    for j in range(len(scores)):
        small = np.exp(-abs(scores[j]))
        large = 1 / (1 + small)
        q[j], r[j] = (large, small * large) if scores[j] >= 0 else (small * large, large)


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
        weigh_elements(scores[i], q, r)
        scale, total = weigh_sizes(potentials[i % len(potentials)], w), 0.0
        likeliest = 1.0
        for j in range(p):
            scale += max(scores[i, j], 0.0)
            likeliest *= max(q[j], r[j])
            if likeliest < 1e-200 or j == p - 1:  # few logarithms, before the product underflows
                scale -= np.log(likeliest)
                likeliest = 1.0
        prefixes(q, r, table)
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
                ahead[a] = ahead[a] * r[j] + ahead[a + 1] * q[j]
            marginals[i, j] = min(q[j] * with_it, 1.0)
