"""
Your metric is F1
=================

You tag songs, pictures or documents with several labels each, and you are judged by
F1: for every example, how well does the set of predicted labels match the true one?
Most people train one classifier per label and hope. This page shows why that costs
points, and three ways to get them back: tune a threshold, decide for the set, or train
for F1.
"""

# %%
# Data
# ----
#
# Handwritten digits, which scikit-learn brings along: 64 pixels each, under the noise
# of a bad scanner, and for every image the set of what is true of its digit (it is
# even, a prime, a square, it has a hole, it is written with curves only).

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setloss import Dice
from setloss.estimators import SetClassifierCV, SetDecisionCV

# sphinx_gallery_thumbnail_number = 2

images, digit = load_digits(return_X_y=True)
images = images + np.random.default_rng(0).normal(0, 6, images.shape)
even, prime, square = (0, 2, 4, 6, 8), (2, 3, 5, 7), (0, 1, 4, 9)
hole, curves = (0, 6, 8, 9), (0, 3, 6, 8, 9)
properties = (even, prime, square, hole, curves)
labels = np.column_stack([np.isin(digit, set_) for set_ in properties]).astype(int)
X, Y, X_test, Y_test = images[:400], labels[:400], images[400:700], labels[400:700]
print(f"{len(X)} examples to train on, {len(X_test)} to test on")
print(f"{Y.mean():.0%} of the labels are positive")

# %%
# What a mistake costs
# --------------------
#
# One minus F1 is the Dice loss. It depends on how many labels are missed and how many
# are predicted falsely, and it is no sum: what the next mistake costs depends on the
# mistakes already made. Here is the cost of every set of mistakes on an example with
# three of six labels.

loss = Dice().set_function([1, 1, 1, 0, 0, 0])
figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
picture = axes.imshow(loss.table, cmap="viridis", vmin=0, vmax=1)
for (missed, false), cost in np.ndenumerate(loss.table):
    axes.text(
        false,
        missed,
        f"{cost:.2f}",
        ha="center",
        va="center",
        color="white" if cost < 0.6 else "black",
    )
axes.set(
    xlabel="false positives", ylabel="false negatives", xticks=range(4), yticks=range(4)
)
axes.set_title("Dice loss, three positives of six")
figure.colorbar(picture, shrink=0.8)
plt.show()

# %%
# The first miss costs 0.2, the second 0.3, the third 0.5. With all three missed,
# false positives cost nothing more. A classifier per label, trained on its own, knows
# nothing of this; it says "no" wherever "no" is the likelier answer.
#
# Four ways
# ---------
#
# All are linear and see standardised features. The first is what most people do, the
# second tunes one threshold for all labels on held-out predictions. The third puts
# the same classifier into ``SetDecisionCV``, which learns how many labels there tend
# to be and predicts the set of least expected loss. The fourth trains for F1 itself:
# slack rescaling of the Dice loss, with C chosen by cross-validation of that loss.

per_label = make_pipeline(
    StandardScaler(), OneVsRestClassifier(LogisticRegression(C=0.1))
).fit(X, Y)


def f1_of_examples(truth, predicted):
    """F1 of every example."""
    return 1 - Dice()(truth, predicted)


held_out = cross_val_predict(per_label, X, Y, method="predict_proba", cv=5)
thresholds = np.linspace(0.1, 0.6, 26)
scores = [f1_of_examples(Y, held_out > threshold).mean() for threshold in thresholds]
threshold = thresholds[np.argmax(scores)]

decided = SetDecisionCV(per_label, loss="f1").fit(X, Y)

for_f1 = make_pipeline(
    StandardScaler(), SetClassifierCV(loss="f1", Cs=(0.001, 0.01, 0.1), tol=1e-2)
).fit(X, Y)
model = for_f1[-1]
print(
    f"threshold {threshold:.2f}; C = {model.C_:g}, certified gap {model.dual_gap_:.1e}"
)

# %%
# What came out
# -------------

predictions = {
    "logistic per label": per_label.predict(X_test),
    f"the same, threshold {threshold:.2f}": (
        per_label.predict_proba(X_test) > threshold
    ).astype(int),
    "the same in SetDecisionCV": decided.predict(X_test),
    "trained and decided for F1": for_f1.predict(X_test),
}
colours = ["#777777", "#E69F00", "#009E73", "#0072B2"]
inks = ["white", "black", "white", "white"]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for place, (name, predicted) in enumerate(predictions.items()):
    values = f1_of_examples(Y_test, predicted)
    error = values.std(ddof=1) / np.sqrt(len(values))
    empty = np.mean(predicted.sum(1) == 0)
    print(
        f"{name:25} F1 {values.mean():.3f} ± {error:.3f}, {empty:4.0%} without labels"
    )
    left.barh(place, values.mean(), xerr=error, color=colours[place], height=0.6)
    left.text(0.01, place, name, va="center", color=inks[place])
    sizes = np.bincount(predicted.sum(1).astype(int), minlength=Y.shape[1] + 1) / len(
        predicted
    )
    right.plot(sizes, "o-", color=colours[place], label=name)
right.plot(
    np.bincount(Y_test.sum(1).astype(int), minlength=Y.shape[1] + 1) / len(Y_test),
    "k:",
    label="truth",
)
left.set(xlabel="example F1 on the test part", yticks=[], xlim=(0, 0.85))
left.invert_yaxis()
right.set(xlabel="labels in the set", ylabel="share of examples", ylim=(0, 0.8))
right.legend(frameon=False, fontsize="small")
plt.show()

# %%
# The right panel tells why. The numbers of this run in a sentence:

empty = [f"{np.mean(sets.sum(1) == 0):.0%}" for sets in predictions.values()]
means = [f"{f1_of_examples(Y_test, sets).mean():.3f}" for sets in predictions.values()]
print(
    f"With threshold 1/2 for each label, the model leaves {empty[0]} of the examples "
    "without any label, which F1 punishes with a full loss; with the best threshold "
    f"it is {empty[1]}, decided for the set {empty[2]}, trained for F1 "
    f"too {empty[3]}. F1: {means[0]}, {means[1]}, {means[2]} and {means[3]}."
)

# %%
# Which remedy is best depends on the data (:doc:`/evidence`, six data sets).
# Deciding for the set takes any classifier and, once fitted, any loss: it is the one
# to try first. Train for the set if you want one linear model with a certificate.
