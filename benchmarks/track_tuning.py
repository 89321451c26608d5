"""How the generated tracks of Table 2 were set: a small family of generators, searched for the paper's 0-1 row.

Only the hinge is looked at. Its losses 1 and 3 are compared with the paper's; losses 2 and 4 cannot be matched by
any tracks, for the curves as we read them have ``l_2 >= 3 l_1`` and ``l_4 >= 1.5 l_3`` at every share of mistakes,
and the paper's 0-1 row has 1.25 and 0.74 times. Settings where the hinge is not at least a tenth better on loss 1
than always giving the same answer are left out: there is nothing to learn.

    python -m benchmarks.track_tuning
"""

from __future__ import annotations

from itertools import product

import numpy as np

from experiments.document import ResultTable
from experiments.paper.artefact import paper_table
from experiments.paper.tracks import CURVES, SHAPES
from experiments.tracks.data import TrackParameters, generated_tracks
from experiments.tracks.protocol import Protocol, run_protocol

FAMILY = {"positive": (0.25, 0.4, 0.5), "identity": (0.5, 1.0, 2.0), "separation": (1.0, 2.0, 3.0, 4.0, 6.0)}
"""What was searched; the noise of the frames is the unit, 1."""


def search(shape: str = "usual", *, seed: int = 0) -> ResultTable:
    """The hinge row of every setting of the family, the closest first."""
    rows = []
    for positive, identity, separation in product(*FAMILY.values()):
        parameters = TrackParameters(separation, identity, 1.0, positive)
        losses = hinge_row(parameters, shape, seed=seed)
        rows.append((positive, identity, separation, *losses, distance(losses), useful(losses, positive)))
    rows.sort(key=lambda row: (not row[-1], row[-2]))
    columns = ("positive", "identity", "separation", *(f"loss {k}" for k in range(1, 5)), "distance", "useful")
    return ResultTable(
        f"0-1 row on generated tracks, {shape}", columns, tuple((*row[:-1], str(row[-1])) for row in rows)
    )


def hinge_row(parameters: TrackParameters, shape: str, *, seed: int = 0) -> tuple[float, ...]:
    """The mean losses 1 to 4 of the hinge over two of five folds, C chosen inside."""
    n_bags, n_frames, n_features = SHAPES[shape]
    problem = generated_tracks(parameters, n_bags=n_bags, n_frames=n_frames, n_features=n_features, seed=seed)
    protocol = Protocol(outer=5, outer_used=2, inner=2, seed=seed)
    found = run_protocol(problem, ["hinge"], CURVES, protocol)
    return tuple(float(np.mean(found[curve, "hinge"].losses)) for curve in CURVES)


def distance(losses: tuple[float, ...]) -> float:
    """The sum of squared logarithms of ratios to the paper's losses 1 and 3."""
    paper = paper_table("table2")["hinge"]
    ratios = [losses[0] / paper["curve1"][0], losses[2] / paper["curve3"][0]]
    return float(np.sum(np.log(np.maximum(ratios, 1e-12)) ** 2))


def useful(losses: tuple[float, ...], positive: float) -> bool:
    """Whether the hinge is at least a tenth better on loss 1 than a constant answer."""
    return losses[0] <= 0.9 * (2 / 3) * min(positive, 1 - positive)


if __name__ == "__main__":
    print(search().markdown())
