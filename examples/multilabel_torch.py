"""Label sets in PyTorch: which loss to train, and which labels to predict.

    python examples/multilabel_torch.py [--hidden N] [TRAIN.arff ...]

prints example F1 in five folds of each file for losses and decisions: a linear layer, or one hidden layer of N
units, the same 300 steps for all, nothing tuned. Without files the data is generated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_multilabel_classification
from torch import Tensor, nn

from experiments.document import Estimate
from setloss import decide, io
from setloss.nn import SetLoss

FOLDS = 5
STEPS = 300


def cut(logits: Tensor, criterion: nn.Module) -> Tensor:
    """Every label for itself."""
    return logits > 0


def best_sets(logits: Tensor, criterion: nn.Module) -> Tensor:
    """The sets of least expected F1 loss of independent labels."""
    return torch.as_tensor(decide(logits.detach().numpy(), "f1").sets)


PIXELS = {"margins": "probabilities", "with_cross_entropy": 1.0, "soft_share": "adaptive"}

METHODS: dict[str, tuple[Callable[[int], nn.Module], tuple[Callable[[Tensor, nn.Module], Tensor], ...]]] = {
    "cross-entropy": (lambda labels: nn.BCEWithLogitsLoss(), (cut, best_sets)),
    'SetLoss(mode="multilabel"): L Jaccard': (lambda labels: SetLoss(mode="multilabel"), (cut,)),
    "B_D Dice": (lambda labels: SetLoss("dice", "bd", mode="multilabel"), (cut,)),
    "L and soft Jaccard of probabilities + cross-entropy": (
        lambda labels: SetLoss(mode="multilabel", **PIXELS),
        (cut, best_sets),
    ),
}
"""By name: the loss for so many labels, and how its scores are turned into sets."""


def fit(X: Tensor, Y: Tensor, criterion: nn.Module, hidden: int | None) -> nn.Module:
    """One score per label; a set is all labels of one example."""
    torch.manual_seed(0)
    layers = [nn.Linear(X.shape[1], Y.shape[1])]
    if hidden is not None:
        layers = [nn.Linear(X.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, Y.shape[1])]
    model = nn.Sequential(*layers)
    optimiser = torch.optim.AdamW([*model.parameters(), *criterion.parameters()], lr=0.02)
    for _ in range(STEPS):
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
    data = io.read(path)
    if not isinstance(data, io.LabelSets):
        raise io.DatasetError(f"{path} holds tracks; this example needs label sets")
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return torch.as_tensor(X).float(), torch.as_tensor(data.Y).float()


def scores(X: Tensor, Y: Tensor, hidden: int | None) -> dict[str, Estimate]:
    """Example F1 of every loss and decision, ± over folds; features are scaled by the part that is trained on."""
    place = torch.randperm(len(X), generator=torch.Generator().manual_seed(0)) % FOLDS
    found: dict[str, list[float]] = {}
    for fold in range(FOLDS):
        inside, outside = place != fold, place == fold
        mean, spread = X[inside].mean(0), X[inside].std(0)
        train, test = ((X[part] - mean) / torch.where(spread > 0, spread, 1.0) for part in (inside, outside))
        for name, (make, decisions) in METHODS.items():
            criterion = make(Y.shape[1])
            logits = fit(train, Y[inside], criterion, hidden)(test)
            for decision in decisions:
                f1 = example_f1(decision(logits, criterion).float(), Y[outside])
                found.setdefault(f"{name} | {'threshold 0' if decision is cut else 'decide'}", []).append(f1)
    return {name: Estimate.of(values) for name, values in found.items()}


def main(arguments: list[str]) -> int:
    """Print a table; 0, or 2 with one sentence where a file is bad."""
    parser = argparse.ArgumentParser(description="Example F1 of losses and decisions for label sets.")
    parser.add_argument("files", nargs="*", help="training parts, .arff with the .xml beside it")
    parser.add_argument("--hidden", type=int, help="units of a hidden layer; none for a linear model")
    options = parser.parse_args(arguments)
    try:
        problems = {Path(path).stem: read(path) for path in options.files}
    except io.DatasetError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not problems:
        made = make_multilabel_classification(400, 60, n_classes=8, n_labels=2, random_state=0)
        problems = {"generated": tuple(torch.as_tensor(part).float() for part in made)}
    columns = {name: scores(*problem, options.hidden) for name, problem in problems.items()}
    print(f"| loss | prediction | {' | '.join(columns)} |\n| --- | --- |{' ---: |' * len(columns)}")
    for row in next(iter(columns.values())):
        print(f"| {row} | {' | '.join(str(column[row]) for column in columns.values())} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
