"""Options of ``setloss train``: the classifier, the linear models of the paper, and a promise."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from setloss.cli.commands import InputError, panel_option, refusing
from setloss.defaults import LINEAR_MODELS

Surrogate = Literal["slack", "margin", "bd", "bd-monotone", "lovasz", "hinge"]
"""Names of operators that give a linear model something to minimise."""

KEPT = 0.25
"""Share of the sets that are kept to learn a promise."""

_model, _linear, _promise = (partial(panel_option, name) for name in ("The model", "Linear models", "A promise"))


@dataclass(frozen=True)
class TrainingOptions:
    """The classifier and the rule, as given."""

    method: Annotated[
        Literal[Surrogate, "logistic", "trees"] | None,
        _model(
            "What gives scores: logistic regression, trees, or a linear model trained by the surrogate of that name.",
            show_default="the likeliest of several logistic regressions and trees",
        ),
    ] = None
    rule: Annotated[
        Literal["auto", "counts", "plug-in", "threshold", "half", "sign"],
        _model(
            "How scores become sets, learned on held-out folds; auto is the better of counts and threshold. sign: a "
            "linear model as in the paper."
        ),
    ] = "auto"
    cv: Annotated[int, _model("Folds.", min=2)] = 5
    average: Annotated[Literal["samples", "macro", "micro"], _model("Of label sets.")] = "samples"
    jobs: Annotated[int, _model("Folds at a time.")] = 1

    @property
    def surrogate(self) -> str | None:
        """The surrogate that a linear model is trained by, if one is."""
        if self.method is None and self.rule == "sign":
            return LINEAR_MODELS.operator
        return None if self.method in ("logistic", "trees") else self.method


@dataclass(frozen=True)
class LinearOptions:
    """How to train a linear model, as given."""

    C: Annotated[
        str,
        _linear(
            "What losses weigh against small coefficients; of several, as 0.1,1,10, cross-validation keeps one.",
            "--C",
        ),
    ] = "1"
    scale: Annotated[float, _linear("Scale of the rescaled part of a surrogate.")] = LINEAR_MODELS.scale
    tol: Annotated[float, _linear("Relative duality gap to reach.")] = 1e-3
    max_iter: Annotated[int, _linear("Most iterations.")] = 1000
    max_time: Annotated[float | None, _linear("Most seconds.")] = None

    def path(self) -> list[float]:
        """The values of C."""
        with refusing("--C is a positive number, or several with commas between, as 0.1,1,10: ", ValueError):
            return [float(text) for text in self.C.split(",")]


@dataclass(frozen=True)
class PromiseOptions:
    """The mean score to promise on what is answered, and how surely."""

    promise: Annotated[
        float | None,
        _promise(
            f"Mean score (1 - loss) to promise on the sets that are answered, as 0.8. {100 * KEPT:.0f} % of the sets "
            "are kept to learn it, and nothing else is trained on them.",
            max=1,
        ),
    ] = None
    confidence: Annotated[float, _promise("Probability that the promise is true.", min=0, max=1)] = 0.9

    def split(self, examples: Any) -> tuple[Any, Any]:
        """The examples to train on, and those kept for the promise (None if there is none to make)."""
        from sklearn.model_selection import GroupShuffleSplit

        if self.promise is None:
            return examples, None
        sets = np.arange(examples.X.shape[0]) if hasattr(examples, "Y") else examples.groups
        others, kept = next(GroupShuffleSplit(1, test_size=KEPT, random_state=0).split(sets, groups=sets))
        return _rows(examples, others), _rows(examples, kept)

    def make(self, estimator: Any, X: Any, targets: dict[str, Any]) -> Any:
        """Let a fitted estimator promise, by the features and labels of what was kept."""
        with refusing("--promise: ", ValueError):
            return estimator.promise(X, at_most=1 - (self.promise or 0), confidence=self.confidence, **targets)


def _rows(examples: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of label sets or tracks."""
    X = examples.X.iloc[rows] if hasattr(examples.X, "iloc") else examples.X[rows]
    beside = {name: getattr(examples, name)[rows] for name in ("Y", "y", "groups") if hasattr(examples, name)}
    return replace(examples, X=X, **beside)


def check_options(training: TrainingOptions, linear: LinearOptions, promised: PromiseOptions) -> None:
    """Refuse what contradicts itself before any data are read; estimators check the rest."""
    surrogates = ", ".join(get_args(Surrogate))
    if training.rule == "sign" and training.surrogate is None:
        raise InputError(f"--rule sign is for linear models ({surrogates}); take --rule half")
    if training.surrogate is None and linear != LinearOptions():
        raise InputError(f"--C, --scale, --tol, --max-iter, --max-time are for --method {surrogates}")
    linear.path()
    if promised.promise is None and promised != PromiseOptions():
        raise InputError("--confidence is that of --promise; give both, or leave it out")
    if promised.promise is not None and training.rule == "sign":
        raise InputError("--promise is for models that decide for the set; leave out --rule sign")
    if promised.promise is not None and training.average != "samples":
        raise InputError("--promise is about the mean loss of decided sets; leave out --average")


def estimator_for(training: TrainingOptions, linear: LinearOptions, objective: Any, of_label_sets: bool) -> Any:
    """The estimator that the options ask for."""
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    from setloss.estimators import SetClassifier, SetClassifierCV, SetDecisionCV
    from setloss.estimators.candidates import LEAF, TREES
    from setloss.estimators.label_scores import LabelwiseClassifier

    scorer: Any = None
    if training.surrogate is not None:
        path, common = linear.path(), asdict(linear) | {"loss": objective, "operator": training.surrogate}
        del common["C"]
        if training.rule == "sign" and len(path) > 1:
            return SetClassifierCV(Cs=path, cv=training.cv, verbose=1, **common)
        if training.rule == "sign":
            return SetClassifier(C=path[0], verbose=1, **common)
        scorer = [SetClassifier(C=C, **common) for C in path]
    elif training.method == "trees":
        scorer = ExtraTreesClassifier(TREES, min_samples_leaf=LEAF, random_state=0, n_jobs=training.jobs)
    elif training.method == "logistic":
        scorer = LogisticRegression(max_iter=1000)
        scorer = LabelwiseClassifier(scorer) if of_label_sets else scorer
    how: dict[str, Any] = {"average": training.average, "cv": training.cv, "n_jobs": training.jobs, "verbose": 1}
    return SetDecisionCV(scorer, objective, rule=training.rule, **how)
