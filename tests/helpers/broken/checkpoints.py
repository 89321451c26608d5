"""Broken checkpoints of a small problem: damaged, of other content, with bombs, or of another problem."""

import io
import json
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np

from helpers.broken.case import Case, Made, archive, member, promising, shaped

SOLVERS = ("cutting_plane", "frank_wolfe", "n_slack")


@cache
def problem():
    from helpers.problems import tracks

    return tracks("dice", "slack").problem


@cache
def good(solver="cutting_plane"):
    """The checkpoint of a run cut short."""
    from pathlib import Path

    from setloss.solvers import Limits, solve

    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.npz"
        solve(problem(), solver, Limits(1e-12, 3, checkpoint=path))
        return path.read_bytes()


def contents(solver):
    with np.load(io.BytesIO(good(solver))) as file:
        return dict(file)


def altered(solver="cutting_plane", header=None, **arrays):
    """The maker of a checkpoint with header fields or arrays replaced; None removes one."""

    def make():
        found = contents(solver)
        head = json.loads(str(found["header"])) | (header or {})
        text = json.dumps({name: value for name, value in head.items() if value is not None})
        changed = {k: v for k, v in (found | {"header": np.array(text)} | arrays).items() if v is not None}
        changes = {k: v if not isinstance(v, np.ndarray) else f"{v.dtype} {v.shape}" for k, v in arrays.items()}
        words = ", ".join(f"{k} = {str(v)[:50]}" for k, v in ((header or {}) | changes).items())
        return Made(archive(**changed), words)

    return make


def changed(solver, name, change, words):
    """The maker of a checkpoint with one array changed."""
    return lambda: Made(altered(solver, **{name: change(contents(solver)[name])})(), words)


def bomb():
    return promising(good(), "best.npy", 2**30, "an array that promises a gigabyte")


def huge():
    return member(good(), shaped("(3, 1000000000000)"), "more.npy", "an array that promises 24 TB")


DAMAGED = "is not a checkpoint of setloss, or it is damaged"
UNFIT = "does not fit this problem: "

ROWS = [
    ("", DAMAGED),
    ("junk", DAMAGED),
    (lambda: Made(good()[:-40], "a checkpoint without its last 40 bytes"), DAMAGED),
    (lambda: Made(good()[100:], "a checkpoint without its first 100 bytes"), DAMAGED),
    (lambda: archive(x=np.eye(3)), DAMAGED),
    (lambda: archive(header=np.array({}, dtype=object)), "holds Python objects"),
    (lambda: archive(header=np.array("[1, 2]")), DAMAGED),
    (lambda: archive(header=np.array("[" * 100_000)), DAMAGED),
    (bomb, "unpacks to 10737"),
    (huge, "has another length than its shape"),
    (altered(header={"format": "setloss-checkpoint-0"}), DAMAGED),
    (altered(header={"primal": None}), DAMAGED),
    (altered(header={"primal": "low"}), DAMAGED),
    (altered(header={"dual": float("nan")}), DAMAGED),
    (altered(header={"seconds": [1]}), DAMAGED),
    (altered(header={"fingerprint": "0"}), "belongs to another problem or solver"),
    (lambda: Made(good("frank_wolfe"), "a checkpoint of another solver"), "belongs to another problem or solver"),
    (altered(best=None), UNFIT),
    (altered(more=np.eye(2)), UNFIT),
    (altered(best=np.zeros((1, 9))), UNFIT),
    (altered(best=np.array("best")), UNFIT),
    (changed("cutting_plane", "best", lambda a: a.astype(np.float32), "best in float32"), UNFIT),
    (changed("cutting_plane", "best", lambda a: a * np.nan, "best of NaN"), UNFIT),
    (changed("cutting_plane", "planes", lambda a: a[:-1], "one plane too few"), UNFIT),
    (changed("cutting_plane", "planes", lambda a: a + np.inf, "infinite planes"), UNFIT),
]

OF_SOLVERS = [
    ("frank_wolfe", "counts", lambda a: a + 10**9, "counts out of range"),
    ("frank_wolfe", "counts", lambda a: a - 10, "negative counts"),
    ("n_slack", "bags", lambda a: a + 1000, "planes of bags out of range"),
]

CASES = [Case("checkpoint", "c.npz", content, (says,)) for content, says in ROWS] + [
    Case("checkpoint", "c.npz", changed(solver, name, change, words), (UNFIT,), {"solver": solver})
    for solver, name, change, words in OF_SOLVERS
]
