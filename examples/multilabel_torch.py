"""Label sets in PyTorch: train on the loss that judges them.

    python examples/multilabel_torch.py [TRAIN.arff TEST.arff]

prints example F1 on the test part for cross-entropy and for set losses: one linear layer, the same 100 steps for all,
nothing tuned. Without files the data is generated.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from sklearn.datasets import make_multilabel_classification
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from setloss.datasets import DatasetError, LabelSets, load
from setloss.nn import SetLoss
from setloss.reproduction.estimate import Estimate

CRITERIA = {
    "cross-entropy": binary_cross_entropy_with_logits,
    "L Jaccard": SetLoss("jaccard", "lovasz", mode="multilabel"),
    "B_D Dice": SetLoss("dice", "bd", mode="multilabel"),
    "B_D monotone Dice": SetLoss("dice", "bd-monotone", mode="multilabel"),
    "S Dice": SetLoss("dice", "slack", mode="multilabel"),
    "M Dice": SetLoss("dice", "margin", mode="multilabel"),
}

SEEDS = range(5)


def fit(X: Tensor, Y: Tensor, criterion, seed: int) -> torch.nn.Linear:
    """One score per label; a set is all labels of one example."""
    torch.manual_seed(seed)
    model = torch.nn.Linear(X.shape[1], Y.shape[1])
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(100):
        optimiser.zero_grad()
        criterion(model(X), Y).backward()
        optimiser.step()
    return model


def example_f1(predicted: Tensor, truth: Tensor) -> float:
    """2 |P n T| / (|P| + |T|), averaged over the examples; 1 where both are empty."""
    total = (predicted + truth).sum(1)
    return torch.where(total > 0, 2 * (predicted * truth).sum(1) / total.clamp(min=1), 1.0).mean().item()


def read(path: str) -> tuple[Tensor, Tensor]:
    """Features and labels of a Mulan file; its XML lies beside it."""
    data = load(path)
    if not isinstance(data, LabelSets):
        raise DatasetError(f"{path} holds tracks; this example needs label sets")
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return torch.as_tensor(X).float(), torch.as_tensor(data.Y).float()


def parts(paths: list[str]) -> list[Tensor]:
    """Training and test features and labels, features scaled by the training part."""
    if paths:
        (X, Y), (X_test, Y_test) = map(read, paths)
    else:
        made = make_multilabel_classification(800, 60, n_classes=8, n_labels=2, random_state=0)
        X, Y = (torch.as_tensor(part).float() for part in made)
        X, X_test, Y, Y_test = X[:400], X[400:], Y[:400], Y[400:]
    mean, spread = X.mean(0), X.std(0).clamp(min=1e-6)
    return [(X - mean) / spread, Y, (X_test - mean) / spread, Y_test]


def main(paths: list[str]) -> int:
    """Print a table; 0, or 2 with one sentence where a file is bad."""
    if len(paths) not in (0, 2):
        print("error: give a training file and a test file, or no file at all", file=sys.stderr)
        return 2
    try:
        X, Y, X_test, Y_test = parts(paths)
    except DatasetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"| loss | example F1, ± over {len(SEEDS)} seeds |\n| --- | ---: |")
    for name, criterion in CRITERIA.items():
        models = [fit(X, Y, criterion, seed) for seed in SEEDS]
        print(f"| {name} | {Estimate.of([example_f1((model(X_test) > 0).float(), Y_test) for model in models])} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
