"""
Tracks and cost curves
======================

A track is a bag of frames that share one label: the pictures of one face, the windows
of one utterance, the copies of one digit. A few wrong frames do no harm, and once many
are wrong the track is lost anyway. That cost is a curve over the share of wrong frames.
This page draws one, splits it into its two parts, makes it convex, and trains with it.
"""

# %%
# Draw a curve
# ------------
#
# Knots are pairs (share of mistakes, cost). The first fifth of the mistakes is free,
# from two fifths on the track is lost.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from setloss import CostCurve, decompose, is_submodular, is_supermodular
from setloss.estimators import SetClassifierCV, SetDecisionCV
from setloss.operators import B_D, Hinge, SlackRescaling

curve = CostCurve([(0, 0), (0.2, 0), (0.4, 1), (1, 1)])
loss = curve.set_function(np.ones(10))  # on a track of ten frames
print(is_submodular(loss))
print(is_supermodular(loss))

# %%
# Neither: the cost of one more mistake first grows, then falls. So there is no
# textbook surrogate for it.
#
# See its two parts
# -----------------
#
# D writes the loss as f + g, f submodular, g supermodular and as small as it can be.
# For a curve the answer is known in closed form: g bends up wherever the loss does,
# and nowhere else.

parts = decompose(loss)
print(parts.certificate)

mistakes = np.arange(11)
figure, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
axes.axhline(0, color="0.7", linewidth=0.8)
for function, label, style in (
    (loss, "loss $l$", {"color": "#D55E00", "linewidth": 3.4}),
    (
        parts.submodular,
        "submodular $f$",
        {"color": "#0072B2", "marker": "s", "markersize": 4},
    ),
    (
        parts.supermodular,
        "supermodular $g$",
        {"color": "#009E73", "marker": "^", "markersize": 4},
    ),
):
    axes.plot(mistakes, function.at(mistakes), label=label, **style)
axes.set(xlabel="wrong frames of 10", ylabel="cost")
axes.legend(frameon=False)
plt.show()

# %%
# Here f is negative, as for every curve that starts flat. Then B_D, which is the
# Lovász hinge of f plus slack rescaling of g, is still convex and an upper bound, but
# it exceeds the loss at some corners of the unit cube (Theorem 4 of the paper). Slack
# rescaling of the loss itself needs no decomposition and agrees at all corners.
#
# Make it convex
# --------------
#
# To look at functions of ten margins, let all frames have the same margin t: below 0
# all are wrong.

surrogates = {
    "slack rescaling, c = 1": (SlackRescaling(loss, scale=1.0), "#009E73", "-"),
    "B_D, c = 2": (B_D(loss), "#0072B2", "-"),
    "hinge / 10": (Hinge(10, normalize=True), "#E69F00", "--"),
}
t = np.linspace(-0.3, 1.2, 301)
figure, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
axes.plot(
    t,
    np.where(t > 0, 0.0, 1.0),
    color="#D55E00",
    linewidth=3.4,
    label="loss of the prediction",
)
for name, (surrogate, colour, line) in surrogates.items():
    axes.plot(
        t,
        [surrogate(np.full(10, margin)) for margin in t],
        color=colour,
        linestyle=line,
        label=name,
    )
axes.set(xlabel="margin t of every frame", ylabel="value", ylim=(-0.05, 4))
axes.legend(frameon=False)
plt.show()

# %%
# B_D is the steeper of the two near t = 0, for its scale is 2 and g is larger than the
# loss; and it rises again beyond t = 1: with a negative f, being right by a wide margin
# costs something. Slack rescaling does not do that, one more reason to take it for
# curves that start flat.
#
# Train
# -----
#
# Handwritten digits, which scikit-learn brings along. A track is up to eight copies of
# one digit, in the order of the file, and the question is whether that digit is even.
# Half of the tracks are to train on. C comes from cross-validation of the curve over
# whole tracks. The vote gives every frame the label of the majority of its track.

images, digit = load_digits(return_X_y=True)
order = np.argsort(digit, kind="stable")
X, digit = images[order] / 16, digit[order]
copy = np.concatenate([np.arange(count) for count in np.bincount(digit)])
_, track = np.unique(1000 * digit + copy // 8, return_inverse=True)
y, tracks = (digit % 2 == 0).astype(int), track.max() + 1
train = (np.random.default_rng(0).permutation(tracks) < tracks // 2)[track]
print(f"{tracks} tracks of {np.bincount(track).min()} to 8 frames, {len(y)} frames")


def mistakes_of_tracks(predicted):
    """The share of wrong frames of every test track."""
    _, place = np.unique(track[~train], return_inverse=True)
    return np.bincount(place, predicted != y[~train]) / np.bincount(place)


wrong_shares, costs = {}, {}
for name, operator, scale in (
    ("hinge", "hinge", 1.0),
    ("slack, c = 1", "slack", 1.0),
    ("B_D, c = 2", "bd", 2.0),
):
    model = SetClassifierCV(
        loss=curve,
        operator=operator,
        scale=scale,
        Cs=(1e-2, 1e-1, 1.0, 10.0),
        cv=3,
        tol=1e-2,
    )
    model.fit(X[train], y[train], groups=track[train])
    predicted = model.predict(X[~train])
    wrong_shares[name] = mistakes_of_tracks(predicted)
    losses = curve(y[~train], predicted, groups=track[~train])
    voted = np.mean(wrong_shares[name] >= 0.5)  # the majority of these tracks is wrong
    costs[name] = losses
    error = losses.std(ddof=1) / np.sqrt(len(losses))
    told = f"cost {losses.mean():.3f} ± {error:.3f}, with a vote {voted:.3f}"
    print(f"{name:13} C = {model.C_:<6g} {told}")

# %%
# The same in sentences, which the numbers write:

for name in list(costs)[1:]:
    difference = costs[name] - costs["hinge"]
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    clear = abs(difference.mean()) > 2 * error
    print(
        f"{name} costs {difference.mean():+.3f} ± {error:.3f} against the hinge: "
        f"{'more than' if clear else 'within'} two standard errors."
    )
plain = costs["hinge"].mean()
voted = np.mean(wrong_shares["hinge"] >= 0.5)
print(f"A vote changes the cost of the hinge from {plain:.3f} to {voted:.3f}.")

# %%
# Nobody has to know that a vote is right here. ``SetDecisionCV`` learns from held-out
# tracks how many frames of a track tend to be positive, around any classifier of
# frames (unless one is named, logistic regression), and decides for the curve:

decided = SetDecisionCV(loss=curve).fit(X[train], y[train], groups=track[train])
predicted = decided.predict(X[~train], groups=track[~train])
cost = curve(y[~train], predicted, groups=track[~train]).mean()
print(f"Logistic regression in SetDecisionCV costs {cost:.3f}.")

# %%
# Larger experiments say the same (:doc:`/evidence`): on cost curves no operator
# is clearly better than a plain SVM, and the decision for the track gains more than any
# of them. How the three models spread their mistakes over tracks:

figure, axes = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
axes.axvspan(0, 0.2, color="0.93")
axes.text(0.19, 0.52, "free", ha="right", color="0.4")
axes.axvspan(0.4, 1.0, color="#D55E00", alpha=0.12)
axes.text(0.41, 0.52, "lost", color="#D55E00")
for (name, shares), colour in zip(
    wrong_shares.items(), ("#E69F00", "#009E73", "#0072B2"), strict=True
):
    axes.plot(np.sort(shares), np.linspace(0, 1, len(shares)), color=colour, label=name)
axes.set(
    xlabel="share of wrong frames",
    ylabel="share of tracks below",
    xlim=(0, 1),
    ylim=(0.5, 1.005),
)
axes.legend(frameon=False, loc="lower right")
plt.show()
