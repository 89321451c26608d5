"""Random cost curves, and what the library says of them: shared by the tests of the explore page."""

import numpy as np

from setloss import CostCurve, decompose

LAWS = ("submodular", "supermodular", "modular", "increasing", "non-negative")


def random_curve(generator):
    """Knots and a set size: on whole mistakes or anywhere, rough, rounded, straight, flat, huge or tiny."""
    p, inner = int(generator.integers(2, 41)), int(generator.integers(0, 6))
    if generator.random() < 0.5:
        places = generator.permutation(np.arange(1, p))[:inner] / p
    else:
        places = np.round(generator.random(inner), int(generator.choice([2, 17])))
    shares = np.unique(np.concatenate(([0.0], places[(places > 0) & (places < 1)], [1.0])))
    costs = {
        "rough": lambda: generator.random(len(shares)),
        "rounded": lambda: np.round(generator.random(len(shares)), 2),
        "whole": lambda: generator.integers(0, 3, len(shares)).astype(float),
        "straight": lambda: 0.7 * shares,
        "convex": lambda: shares**2,
        "concave": lambda: np.sqrt(shares),
    }[str(generator.choice(["rough", "rounded", "whole", "straight", "convex", "concave"]))]()
    costs = costs * float(generator.choice([1.0, 1.0, 1e6, 1e-9]))
    costs[0] = 0.0
    return [[float(share), float(cost)] for share, cost in zip(shares, costs, strict=True)], p


def random_case(generator):
    knots, p = random_curve(generator)
    margins = generator.normal(size=p) * generator.choice([0.1, 1.0, 4.0])
    if generator.random() < 0.4:
        margins = np.round(margins)
    return {"knots": knots, "p": p, "margins": margins.tolist(), "scale": float(generator.choice([0.5, 1.0, 2.0]))}


def cases(seed, count):
    generator = np.random.default_rng(seed)
    return [random_case(generator) for _ in range(count)]


def library_says(case):
    function = CostCurve(case["knots"]).on_counts(case["p"], 0)
    return function, decompose(function)
