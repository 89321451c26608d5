"""Five walks through the package: the modules of setloss whose functions run, from a call to the kernels and back.

``PYTHONPATH=tests python -m helpers.walk`` counts them, and ``python -m helpers.walk train`` lists those of one.
"""

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import setloss

SOURCES = Path(setloss.__file__).parent


def modules_entered(work: Callable[[], object]) -> list[str]:
    """The modules of setloss in the order in which a function of theirs is first called; imports do not count.

    The work is done twice, and the second time counts: by then kernels are compiled.
    """
    found: dict[str, None] = {}

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(SOURCES)):
            called_by_import = frame.f_back is not None and frame.f_back.f_code.co_name == "<module>"
            if not called_by_import:
                found.setdefault(str(Path(code.co_filename).relative_to(SOURCES)))

    work()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


def label_sets() -> tuple[np.ndarray, np.ndarray]:
    """A few examples with four labels each."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((60, 5))
    return X, (X @ generator.standard_normal((5, 4)) > 0).astype(int)


def train(folder: Path) -> None:
    """``setloss train`` and ``setloss predict`` on a file."""
    from helpers.command_line import run

    X, Y = label_sets()
    data, model = folder / "sets.npz", folder / "model.skops"
    np.savez(data, X=X, Y=Y)
    run("train", data, "--method", "slack", "--model", model)
    run("predict", model, data, "--out", folder / "labels.csv")


def decision_cv(folder: Path) -> None:
    """`SetDecisionCV` around logistic regression: held-out scores, a fitted decision, sets."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    from setloss.estimators import SetDecisionCV

    X, Y = label_sets()
    SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=3).fit(X, Y).predict(X)


def set_loss(folder: Path) -> None:
    """`SetLoss` of masks, forward and backward."""
    import torch

    from setloss.nn import SetLoss

    scores = torch.randn(2, 1, 8, 8, requires_grad=True)
    SetLoss()(scores, torch.rand(2, 1, 8, 8) > 0.7).backward()


def decompose(folder: Path) -> None:
    """D of a rough table, by the linear program."""
    from setloss import SetFunction

    values = np.random.default_rng(0).random((4, 4))
    values[0, 0] = 0
    setloss.decompose(SetFunction.from_table(values))


def dask(folder: Path) -> None:
    """A fit over partitions of a Dask array, without a cluster."""
    import dask.array as da

    from setloss.dask import DaskSetClassifier as SetClassifier

    X, Y = label_sets()
    SetClassifier(tol=1e-1).fit(da.from_array(X, chunks=(20, 5)), da.from_array(Y, chunks=(20, 4)))


WALKS = {"train": train, "SetDecisionCV": decision_cv, "SetLoss": set_loss, "decompose": decompose, "Dask": dask}


def walked(name: str) -> list[str]:
    """The modules that a walk enters."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return modules_entered(lambda: WALKS[name](Path(folder)))


if __name__ == "__main__":
    for _name in sys.argv[1:] or WALKS:
        _found = walked(_name)
        sys.stdout.write("".join(f"  {module}\n" for module in _found if _name in sys.argv[1:]))
        sys.stdout.write(f"{_name}: {len(_found)} modules\n")
