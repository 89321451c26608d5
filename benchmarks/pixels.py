"""Decisions for pixels: time against one sort of the probabilities, and against `rankseg` where that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import torch

from benchmarks.measure import Row, side_by_side
from setloss.decisions import expected_losses
from setloss.nn import decide_images


def rows(quick: bool) -> Iterator[Row]:
    side = 256 if quick else 1000
    chances = np.random.default_rng(0).beta(0.2, 2, (1, side, side))
    logits = torch.logit(torch.as_tensor(chances))
    flat = logits.flatten(1)
    ours, reference = side_by_side(lambda: decide_images(logits), lambda: torch.sort(flat, dim=1))
    note = f"error at most {float(decide_images(logits).error):.0e}"
    yield Row(f"decide_images dice {side}x{side} / torch.sort", ours, reference, note=note)
    if find_spec("rankseg") is not None:
        yield from peer_rows(side, logits)


def peer_rows(side: int, logits: torch.Tensor) -> Iterator[Row]:
    """Time, and the expected Dice that is reached on a small image with few expected positives."""
    from rankseg import RankSEG

    solver = RankSEG("dice", output_mode="multilabel", solver="RMA", pruning_prob=0.0)
    p = logits.sigmoid().float().unsqueeze(1)
    ours, reference = side_by_side(lambda: decide_images(logits), lambda: solver.predict(p))
    yield Row(f"decide_images dice {side}x{side} / rankseg", ours, reference)
    few = np.random.default_rng(0).beta(0.05, 20, (1, 32, 32))
    flat = few.reshape(1, -1)
    scores = 1 - expected_losses(np.log(flat) - np.log1p(-flat), "dice")[0]
    found = decide_images(torch.logit(torch.as_tensor(few))).sets.sum()
    theirs = solver.predict(torch.as_tensor(few, dtype=torch.float32).unsqueeze(1)).sum()
    reached = float(scores[int(found)]), float(scores[int(theirs)])
    yield Row("expected Dice 32x32, few positives: ours / rankseg", *reached, note="larger is better")
