"""
Decomposing your own loss
=========================

You have a cost of your own. Is it submodular? What are its two parts, how do you know
that they are right, and what does the certificate say? This page takes a loss apart,
reads its certificate line by line, and ends with a loss that has two best
decompositions, which the paper says cannot be.
"""

# %%
# A cost of false negatives and false positives
# ---------------------------------------------
#
# A screening test: misses cost their share, and every false alarm costs less than the
# one before. Misses *and* alarms on the same day cost extra: the doctor looks in the
# wrong place.

import matplotlib.pyplot as plt
import numpy as np

from setloss import (
    SetFunction,
    decompose,
    from_counts,
    is_submodular,
    is_supermodular,
    verify_decomposition,
)


def screening(missed, alarms, positives, negatives):
    """The cost of `missed` positives and so many false `alarms`."""
    return (
        missed / np.maximum(positives, 1)
        + 0.3 * np.sqrt(alarms)
        + 0.4 * ((missed > 0) & (alarms > 0))
    )


loss = from_counts(screening).on_counts(4, 6)  # four ill, six healthy
print(is_submodular(loss))
print(is_supermodular(loss))

# %%
# Each verdict comes with a witness: a set, and two elements whose gains go the wrong
# way. Elements 0 to 3 are ill, 4 to 9 healthy.
#
# Its two parts
# -------------

parts = decompose(loss)
tables = {
    "loss $l$": loss.table,
    "submodular $f$": parts.submodular.table,
    "supermodular $g$": parts.supermodular.table,
}
reach = max(np.abs(table).max() for table in tables.values())
figure, panels = plt.subplots(
    1, 3, figsize=(9.6, 3.0), layout="constrained", sharey=True
)
for axes, (name, table) in zip(panels, tables.items(), strict=True):
    picture = axes.imshow(table, cmap="RdBu_r", vmin=-reach, vmax=reach)
    for (missed, alarms), value in np.ndenumerate(table):
        ink = "white" if abs(value) > 0.6 * reach else "black"
        place = {"ha": "center", "va": "center", "fontsize": 7}
        axes.text(alarms, missed, f"{value:.1f}", color=ink, **place)
    axes.set(title=name, xlabel="false positives")
panels[0].set_ylabel("false negatives")
figure.colorbar(picture, ax=panels, shrink=0.8)
plt.show()

# %%
# The certificate
# ---------------
#
# D asks for the smallest g, in the mean over all subsets. That is a linear program
# with a constraint for every second difference. The answer comes with what proves it:

certificate = parts.certificate
for name in (
    "rule",
    "reason",
    "feasibility",
    "column_residual",
    "primal",
    "dual",
    "gap",
    "unique",
    "checked",
):
    print(f"{name:16} {getattr(certificate, name)}")

# %%
# - ``rule``: a closed form, the pointwise lower bound, or the linear program. The
#   first two hold for every feasible g in every single cell, so they need no solver.
# - ``feasibility``: the largest violation of "g supermodular and non-negative, l - g
#   submodular", relative to the loss.
# - ``column_residual``: how far the worst *cell* is from proven optimal, relative to
#   its own weight. A gap of the total would not see the small counts: at 40 + 40
#   elements their weights are 10\ :sup:`22` times smaller than the largest.
# - ``primal``, ``dual``, ``gap``: the mean of g over all subsets, a lower bound for
#   every other g, and their distance.
# - ``unique``: whether g is the only one; of several it has the least sum of squares.
#
# ``decompose`` raises an error rather than return a g without a certificate that
# holds.
#
# A decomposition somebody brings
# -------------------------------
#
# Another g may be feasible and still larger than needed; or not feasible.
# ``verify_decomposition`` tells which, and where.

missed, alarms = np.indices(loss.table.shape)
pairs = 0.4 * missed * alarms
print(verify_decomposition(loss, parts.supermodular))
print(verify_decomposition(loss, pairs))
print(verify_decomposition(loss, 0.5 * parts.supermodular.table))

# %%
# Two best answers
# ----------------
#
# Proposition 5 of the paper says that D is unique. On four elements let the loss be 1
# on {2}, {3} and {2, 3}, and 0 elsewhere. Two different g reach the smallest possible
# sum, 4.

odd = SetFunction.from_callable(lambda A: float(A in ({2}, {3}, {2, 3})), 4)
first = SetFunction.from_callable(lambda A: float({0, 1} <= A), 4)
second = SetFunction.from_callable(
    lambda A: {3: 1.0, 4: 2.0}.get(len(A), 0.0) * ({0, 1} <= A), 4
)
for g in (first, second):
    sums = f"sum {g.table.sum():g}, sum of squares {(g.table**2).sum():g}"
    print(f"{sums}: {verify_decomposition(odd, g)}")
print(decompose(odd).certificate)
print("D takes the first:", decompose(odd).supermodular == first)

# %%
# Among several best answers D takes the one of least sum of squares, and the
# certificate says that it did. That choice does not depend on how the function is
# written down, and keeps its symmetries (:doc:`/reading-the-paper`).
