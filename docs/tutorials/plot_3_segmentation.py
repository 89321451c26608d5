"""
Segmentation in PyTorch
=======================

Pixels of one image are decided together and judged together, by Dice or Jaccard.
Cross-entropy judges them one by one. This page trains one small network with either,
on the same images, from the same start, for the same number of steps.
"""

# %%
# Images
# ------
#
# Pages of real handwriting: the digits that scikit-learn brings along, put at random
# places of an empty page, under uneven light and the noise of a bad camera. The mask is
# the ink. A page has between one and five digits.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from setloss.nn import SetLoss

# sphinx_gallery_thumbnail_number = 2

torch.set_num_threads(1)
SIZE = 48
digits = np.kron(load_digits().images / 16, np.ones((2, 2)))  # 16 by 16 pixels
generator = np.random.default_rng(0)


def page():
    """A page, and which of its pixels are ink."""
    ink = np.zeros((SIZE, SIZE))
    for _ in range(generator.integers(1, 6)):
        row, column = generator.integers(0, SIZE - 16, 2)
        place = slice(row, row + 16), slice(column, column + 16)
        ink[place] = np.maximum(ink[place], digits[generator.integers(len(digits))])
    light = generator.uniform(0, 1) * np.linspace(0, 1, SIZE)
    strength = generator.uniform(0.5, 1.0)
    return strength * ink + light + generator.normal(0, 0.3, ink.shape), ink > 0.4


pages = [page() for _ in range(200)]
images, masks = (np.stack(part) for part in zip(*pages, strict=True))
images = (images - images.mean((1, 2), keepdims=True)) / images.std(
    (1, 2), keepdims=True
)
X = torch.tensor(images, dtype=torch.float32).unsqueeze(1)
Y = torch.tensor(masks).unsqueeze(1)
X, Y, X_test, Y_test = X[:150], Y[:150], X[150:], Y[150:]
print(f"{len(X)} images to train on, {len(X_test)} to test on")
print(f"{Y.float().mean():.1%} of the pixels are positive")

# %%
# Train
# -----
#
# ``SetLoss`` takes scores, not sigmoids: positive predicts the label. One set is the
# pixels of one image. ``SetLoss()`` is the Lovász hinge of Jaccard mixed with soft
# Jaccard, both of probabilities, and cross-entropy; ``SetLoss("jaccard", "lovasz")`` is
# the hinge of the scores alone.
# Gradients are clipped, which set losses of many pixels need (:doc:`/pytorch`).


def network():
    """Four convolutions, two of them at half the resolution; one score per pixel."""
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.BatchNorm2d(16), nn.ReLU()),
        *(
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Conv2d(16, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
        ),
        nn.Conv2d(8, 1, 1),
    )


def cross_entropy(scores, truth):
    """Every pixel for itself."""
    return binary_cross_entropy_with_logits(scores, truth.float())


def train(criterion, warm_up, steps=150, batch=8):
    """Adam, first with cross-entropy; the scores of the test images, and all values."""
    net, generator, values = network(), torch.Generator().manual_seed(0), []
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        chosen = torch.randint(len(X), (batch,), generator=generator)
        value = (cross_entropy if step < warm_up else criterion)(
            net(X[chosen]), Y[chosen]
        )
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        values.append(value.item())
    with torch.no_grad():
        return net.eval()(X_test).squeeze(1).numpy(), np.array(values)


# %%
# A plateau at the start
# ----------------------
#
# With all scores at 0 every surrogate here has the value l(V), which is 1 for Dice
# and Jaccard, and no other *constant* score does better where at most half of the
# pixels are positive. A network that cannot tell pixels apart yet is drawn there, and
# may stay. So begin with a few steps of cross-entropy, or take ``SetLoss()``, which
# has cross-entropy in it and no such plateau:

jaccard = SetLoss("jaccard", "lovasz")
figure, axes = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
trained = {warm_up: train(jaccard, warm_up) for warm_up in (0, 30)}
for (warm_up, (_, values)), colour in zip(
    trained.items(), ("#D55E00", "#0072B2"), strict=True
):
    label = f"after {warm_up} steps of cross-entropy"
    print(f"{label}: value {values[-10:].mean():.3f} in the last ten steps")
    axes.plot(
        np.arange(warm_up, len(values)), values[warm_up:], color=colour, label=label
    )
axes.axhline(1, color="0.6", linestyle=":")
axes.set(xlabel="step", ylabel="Lovász hinge of Jaccard", ylim=(0, 2.5))
axes.legend(frameon=False)
plt.show()

# %%
# Whether a cold start gets stuck depends on the network, its first weights and the
# images; the U-Net of :doc:`/pytorch` did not. What this one did:

last = trained[0][1][-10:].mean()
print(f"The cold start {'is stuck at 1' if last > 0.95 else f'ends at {last:.2f}'}.")

# %%
# If the value of your loss stays at 1.000, this is why.
#
# Compare
# -------


def dice(scores, truth):
    """Dice of every image; nothing to find and nothing found counts 1."""
    found = scores > 0
    both, all_of_them = (
        (found & truth).sum((1, 2)),
        found.sum((1, 2)) + truth.sum((1, 2)),
    )
    return np.where(all_of_them > 0, 2 * both / np.maximum(all_of_them, 1), 1.0)


truth = Y_test.squeeze(1).numpy()
scores = {
    "cross-entropy": train(cross_entropy, 30)[0],
    "L of Jaccard": trained[30][0],
    "SetLoss()": train(SetLoss(), 0)[0],
}
values = {name: dice(score, truth) for name, score in scores.items()}
first = values["cross-entropy"]
for name, value in values.items():
    difference = value - first
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    gain = f"{difference.mean():+.3f} ± {error:.3f} against cross-entropy"
    print(f"{name:20} Dice {value.mean():.3f}, {gain}")

# %%
# Look
# ----
#
# Three test pages, from little ink to much: what was found (white), missed (blue)
# and marked falsely (orange).

ranks = np.argsort(truth.sum((1, 2)))[
    [len(truth) // 10, len(truth) // 2, 9 * len(truth) // 10]
]
figure, panels = plt.subplots(3, 4, figsize=(8.4, 6.6), layout="constrained")
for row, i in zip(panels, ranks, strict=True):
    row[0].imshow(X_test[i, 0].numpy(), cmap="gray")
    for axes, (name, score) in zip(row[1:], scores.items(), strict=True):
        found = score[i] > 0
        colours = np.zeros((SIZE, SIZE, 3))
        colours[found & truth[i]] = 1.0
        colours[~found & truth[i]] = (0.34, 0.71, 0.91)
        colours[found & ~truth[i]] = (0.84, 0.37, 0.0)
        axes.imshow(colours)
        axes.set_title(f"{name}\nDice {values[name][i]:.2f}", fontsize=9)
for axes in panels.ravel():
    axes.set_axis_off()
plt.show()

# %%
# One split, one start, few steps, and a warm-up that was settled while looking at
# these images: read the order, not the level. The comparison proper, with a U-Net,
# several starts, a learning rate chosen for every loss and soft Dice among the rivals,
# is in :doc:`/pytorch`, with the command that made it.
