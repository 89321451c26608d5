"""``setloss train``: from a data file to a model file, and a report in words."""

import math
import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import typer
from numpy.typing import NDArray

from setloss.cli.commands import (
    InputError,
    JsonOption,
    LossOptions,
    check_writable,
    panel_option,
    print_document,
    refusing,
    say,
    with_option_groups,
)
from setloss.cli.model_and_data import DataOptions, Source
from setloss.cli.progress import Waiting
from setloss.defaults import LINEAR_MODELS
from setloss.io.models import save

NOT_CONVERGED = 4
"""Exit code of a training that a limit ended before the gap asked for."""

RULES = {
    "counts": "the number of labels of a set is learned beside the scores; the set of least expected loss is taken",
    "plug-in": "labels are taken as independent; the set of least expected loss is taken",
    "threshold": "scores above a threshold are taken, the one that lost least on held-out sets",
    "half": "labels of a probability above 1/2 are taken",
    "sign": "labels of a positive score are taken, as in the paper",
}
"""Rules and what they mean."""

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


def _rows(examples: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of label sets or tracks."""
    X = examples.X.iloc[rows] if hasattr(examples.X, "iloc") else examples.X[rows]
    beside = {name: getattr(examples, name)[rows] for name in ("Y", "y", "groups") if hasattr(examples, name)}
    return replace(examples, X=X, **beside)


@with_option_groups
def train(
    data: DataOptions,
    loss: LossOptions,
    training: TrainingOptions,
    promised: PromiseOptions,
    linear: LinearOptions,
    model: Annotated[Path, typer.Option(help="File to write, .skops.")],
    as_json: JsonOption = False,
) -> None:
    """Train on label sets or tracks (bags of frames), and decide for the loss of the whole set.

    For example: setloss train stories.csv --labels topics --model stories.skops
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.pipeline import make_pipeline

    from setloss.io.encoding import LeftOutWarning

    objective = loss.read()
    check_options(training, linear, promised)
    check_writable("--model", model, (".skops",), data.data)
    promise = None
    with Waiting(f"reading {data.data}") as waiting, refusing("", ValueError, TypeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # C is chosen among many, some of them too large
        warnings.simplefilter("ignore", LeftOutWarning)  # the report of the columns says it
        examples = data.read()
        _check_labels(examples, data.data)
        examples, kept = promised.split(examples)
        waiting.doing("preparing the columns")
        steps, X = _preparation(examples.X, training), examples.X
        for step in steps:
            X = step.fit_transform(X)
        waiting.doing("training")
        estimator = estimator_for(training, linear, objective, hasattr(examples, "Y"))
        estimator.fit(X, **_targets(examples)).set_params(verbose=0)
        fitted = make_pipeline(*steps, estimator) if steps else estimator
        if kept is not None:
            waiting.doing("learning the promise")
            X_kept = fitted[:-1].transform(kept.X) if steps else kept.X
            at_most = 1 - (promised.promise or 0)
            with refusing("--promise: ", ValueError):
                promise = estimator.promise(X_kept, at_most=at_most, confidence=promised.confidence, **_targets(kept))
        waiting.doing(f"writing {model}")
        fitted.source_ = asdict(Source.of(examples, data))
        save(fitted, model)
    document = _summary(estimator) | {
        "sets": X.shape[0] if hasattr(examples, "Y") else len(np.unique(examples.groups)),
        "features": int(X.shape[1]),
        "columns": _columns(steps[0] if steps else None, examples),
        "model": str(model),
        "promise": None if promise is None else {"sets": promise.sets, "words": str(promise)},
    }
    if as_json:
        print_document(document)
    else:
        _print_report(document)
    if document["status"] not in (None, "converged"):
        reached = f"{document['status']} with {_gap(document)}, not {linear.tol:.1e}"
        say(f"{reached}; raise --max-iter or --max-time, or lower C")
        raise typer.Exit(NOT_CONVERGED)


def _targets(examples: Any) -> dict[str, Any]:
    """What `fit` takes beside X; labels keep their names."""
    from pandas import DataFrame

    if not hasattr(examples, "Y"):
        return {"y": examples.y, "groups": examples.groups}
    dense = isinstance(examples.Y, np.ndarray)
    return {"y": DataFrame(examples.Y, columns=examples.label_names) if dense else examples.Y}


def _check_labels(examples: Any, file: Path) -> None:
    """Refuse labels that nothing can be learned from: missing, or free text."""
    labels = examples.Y if hasattr(examples, "Y") else examples.y
    if getattr(examples, "cell", None) is not None:
        own = np.ravel((labels @ (np.ravel(labels.sum(axis=0)) == 1)) > 0)
        if len(own) >= 20 and own.mean() > 0.5:  # smaller tables are tried out, and may have labels that occur once
            raise InputError(
                f"{file}: {own.sum()} of {len(own)} rows have a label that no other row has, as if column "
                f"{examples.cell[0]!r} were free text; give another column, or the sign between labels by --separator"
            )
    if labels.ndim == 2 and labels.dtype.kind == "f" and (missing := np.isnan(labels).all(axis=0)).any():
        name = examples.label_names[int(np.argmax(missing))]
        raise InputError(f"the label {name!r} is missing everywhere; fill it, or leave it out with --ignore {name}")


def _preparation(X: Any, training: TrainingOptions) -> list[Any]:
    """Steps before the classifier: columns become features; dense arrays get one scale for linear models."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    from setloss.io import TableEncoder

    if hasattr(X, "columns"):
        return [TableEncoder()]
    is_linear = training.surrogate is not None or training.method == "logistic"
    return [SimpleImputer(strategy="median"), StandardScaler()] if is_linear and isinstance(X, np.ndarray) else []


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
    if promised.promise is not None and (training.rule == "sign" or training.average != "samples"):
        raise InputError("--promise is about the mean loss of decided sets; leave out --rule sign and --average")


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


# -------------------------------------------------------------------- the report


def _summary(estimator: Any) -> dict[str, Any]:
    """What was trained and how it ended; None where something does not apply."""
    from setloss.estimators.fit_log import in_words

    decision, scorer = getattr(estimator, "decision_", None), getattr(estimator, "estimator_", estimator)
    losses = {} if decision is None else decision.rule_losses_
    solution = getattr(scorer[-1] if hasattr(scorer, "steps") else scorer, "solution_", None)
    return {
        "loss": estimator.loss if isinstance(estimator.loss, str) else repr(estimator.loss),
        "classifier": in_words(scorer),
        "rule": "sign" if decision is None else decision.rule_name_,
        "held_out_losses": {rule: [float(mean), float(error)] for rule, (mean, error) in losses.items()},
        "status": None if solution is None else str(solution.status),
        "gap": None if solution is None or not math.isfinite(solution.gap) else float(solution.gap),
    }


def _columns(encoder: Any, examples: Any) -> list[dict[str, str]] | None:
    """What became of the columns of a table: features, and labels that were not written as 0 and 1."""
    columns = getattr(encoder, "columns_", ())
    roles = [{"name": column.name, "role": column.role, "words": column.words} for column in columns]
    for column in roles:
        if column["role"] == "id":
            column["words"] += "; names the rows of predictions" if column["name"] == encoder.id_ else "; left out"
    roles += [{"name": name, "role": "labels", "words": words} for name, words in getattr(examples, "notes", ())]
    return roles or None


def _gap(document: dict[str, Any]) -> str:
    return "no certified gap" if document["gap"] is None else f"a relative gap of {document['gap']:.1e}"


def _print_report(document: dict[str, Any]) -> None:
    """The document in words."""
    columns, rule, losses = document["columns"] or [], document["rule"], document["held_out_losses"]
    width = max((len(column["name"]) for column in columns), default=0)
    for column in columns:
        role = "" if column["role"] in ("number", "labels") else f"{column['role']}: "
        typer.echo(f"  {column['name']:<{width}}  {role}{column['words']}")
    lines = [
        ("trained on", f"{document['sets']} sets, {document['features']} features"),
        ("classifier", document["classifier"]),
    ]
    if document["status"] is not None:
        lines.append(("", f"{document['status']} with {_gap(document)}"))
    lines.append(("rule", f"{rule}: {RULES[rule]}"))
    if rule in losses:
        what = "F1" if document["loss"] == "f1" else f"1 - {document['loss']}"
        others = {"half": "threshold 1/2", "threshold": "the best threshold"}
        compared = ", ".join(f"{words} {1 - losses[rule][0]:.4f}" for rule, words in others.items() if rule in losses)
        lines.append(("held out", f"{what} {1 - losses[rule][0]:.4f} +- {losses[rule][1]:.4f}; {compared}"))
    if document["promise"] is not None:
        kept = document["promise"]["sets"]
        lines.append(("promise", f"{kept} of {kept + document['sets']} sets were kept for it, and not trained on"))
        lines.append(("", document["promise"]["words"]))
    lines.append(("model", f"written to {document['model']}"))
    names = " --names" if any(column["role"] == "labels" for column in columns) else ""
    next_steps = f"setloss evaluate {document['model']} TEST; setloss predict {document['model']} NEW{names}"
    for name, words in [*lines, ("next", next_steps)]:
        typer.echo(f"{name:<10}  {words}")
