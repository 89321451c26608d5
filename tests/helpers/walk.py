"""Walks through the package: the modules of setloss whose functions run, from a call to the kernels and back.

``PYTHONPATH=tests python -m helpers.walk`` lists them.
"""

import sys
import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np

import setloss

SOURCES = Path(setloss.__file__).parent
SCALES = count(1.2345)  # of no other test: the surrogates of a scale are made once in a process


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


def fit() -> None:
    """`SetClassifier("dice", "bd")`: the paper, from the loss to the solver."""
    from setloss.estimators import SetClassifier

    SetClassifier("dice", "bd", scale=next(SCALES)).fit(*label_sets())


def decision_cv() -> None:
    """`SetDecisionCV` around logistic regression: held-out scores, a fitted decision, sets."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    from setloss.estimators import SetDecisionCV

    X, Y = label_sets()
    SetDecisionCV(OneVsRestClassifier(LogisticRegression()), cv=3).fit(X, Y).predict(X)


def set_loss() -> None:
    """`SetLoss` of masks, forward and backward."""
    import torch

    from setloss.nn import SetLoss

    scores = torch.randn(2, 1, 8, 8, requires_grad=True)
    SetLoss()(scores, torch.rand(2, 1, 8, 8) > 0.7).backward()


WALKS = {
    'SetClassifier("dice", "bd").fit': (fit, "losses decomposition operators plans solvers estimators"),
    "SetDecisionCV": (decision_cv, "estimators decisions losses"),
    "SetLoss": (set_loss, "nn losses plans"),
}
"""What is called, and packages through which the call must lead."""


def walked(name: str) -> list[str]:
    """The modules that a walk enters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return modules_entered(WALKS[name][0])


if __name__ == "__main__":
    for _name in WALKS:
        _found = walked(_name)
        sys.stdout.write(f"{_name}\n" + "".join(f"  {module}\n" for module in _found))
