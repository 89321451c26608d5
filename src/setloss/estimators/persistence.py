"""Saving and loading fitted estimators: plain numbers and names in an .npz or a .skops file, no pickle, no code.

The file holds a dictionary of arrays and strings; the estimator is built anew from it. What this version does
not know, it refuses. An .npz needs no other package. Classifiers of scikit-learn inside `SetDecisionCV` and
`BagDecisionCV` are written by skops; `setloss.estimators.skops_files` says which are read.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import setloss
from setloss import losses
from setloss.archives import DAMAGE, ArchiveError
from setloss.estimators.bag_classifier import BagClassifier
from setloss.estimators.count_classifier import CountClassifier
from setloss.estimators.decision_files import DECISIONS, decision_content, rebuild_decision
from setloss.estimators.learner_arrays import learned_arrays, learned_facts, restore_learned
from setloss.estimators.linear_model import LinearSetModel
from setloss.estimators.npz_files import holds_arrays, read_arrays, write_arrays
from setloss.estimators.set_classifier import SetClassifier
from setloss.estimators.skops_files import ModelFileError, dump_of_skops, read_skops
from setloss.files import not_a_file, replacing
from setloss.operators.names import OPERATOR_NAMES
from setloss.typing import Array

FORMAT = "setloss-model-1"
_MODELS: dict[str, type[LinearSetModel] | type[CountClassifier]] = {
    "SetClassifier": SetClassifier,
    "BagClassifier": BagClassifier,
    "CountClassifier": CountClassifier,
}
_LOSSES = ("Dice", "Jaccard", "Tversky", "FBeta", "Hamming", "CostCurve")
_FORGOTTEN = ("callbacks", "checkpoint", "checkpoint_seconds", "random_state", "warm_start")
_NAMES = {"feature_names": "feature_names_in_", "label_names": "label_names_", "target_columns": "target_columns_"}
"""Names of columns that a model may know: features, labels, and of tracks those of the bag and of the label."""


def save(model: Any, path: str | Path) -> None:
    """Write a fitted estimator to `path`; estimators chosen by cross-validation are saved as the chosen one.

    A name that ends in .skops gives a skops file, if skops is installed; any other name an .npz of arrays.
    `SetDecisionCV` and `BagDecisionCV` hold a classifier of scikit-learn and need a .skops file; classifiers with
    functions or types of others inside are refused.
    """
    kind = next((name for name, known in (_MODELS | DECISIONS).items() if isinstance(model, known)), None)
    if kind is None:
        raise ModelFileError(f"a {type(model).__name__} cannot be saved")
    if not hasattr(model, "scorer_" if kind in DECISIONS else "coef_"):
        raise ModelFileError("the model is not fitted; call fit before save")
    target = _target(path)
    as_skops = target.suffix.lower() == ".skops"
    if kind in DECISIONS and not as_skops:
        raise ModelFileError(f"a {kind} holds a classifier of scikit-learn; give a name that ends in .skops")
    header, arrays = decision_content(model) if kind in DECISIONS else _linear_content(model, _MODELS[kind])
    header |= {
        "format": FORMAT,
        "version": setloss.__version__,
        "kind": kind,
        "loss": _describe(model.loss),
        "flat": bool(getattr(model, "_flat", False)),
    }
    arrays["classes"] = np.asarray(model.classes_)
    for name, attribute in _NAMES.items():
        if hasattr(model, attribute):
            arrays[name] = np.asarray(getattr(model, attribute), dtype=str)
    write = dump_of_skops() if as_skops else write_arrays
    with replacing(target) as file:
        write({"header": json.dumps(header), **arrays}, file)


def _target(path: str | Path) -> Path:
    """A path that can be written to."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ModelFileError(f"the folder of {target} does not exist; create it first")
    wrong = not_a_file(target)
    if wrong is not None:
        raise ModelFileError(f"{target} is {wrong}; give the name of a file")
    return target


def _linear_content(model: Any, simple: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a header and what arrays say of a linear model."""
    known = {name: getattr(model, name) for name in simple().get_params() if hasattr(model, name)}
    known |= {"C": getattr(model, "C_", known.get("C"))}
    arrays = {"coef": model.coef_, "intercept": model.intercept_}
    learned = hasattr(model, "learner_")
    if isinstance(model, CountClassifier):
        arrays |= {"counts": model.counts_, "counts_coef": model.counts_coef_}
    else:
        known |= {"operator": getattr(model, "operator_", model.operator)}
    header: dict[str, Any] = {
        "parameters": {
            name: _plain(name, value) for name, value in known.items() if name not in (*_FORGOTTEN, "loss")
        },
        "n_features_in": int(model.n_features_in_),
        "n_iter": int(model.n_iter_),
        "dual_gap": float(model.dual_gap_),
    }
    if learned:
        header["decided"] = learned_facts(model)
        arrays |= learned_arrays(model)
    return header, arrays


def load(path: str | Path) -> Any:
    """The estimator saved at `path`, ready to predict."""
    source = Path(path)
    wrong = not_a_file(source)
    if wrong is not None:
        raise ModelFileError(f"{source} is {wrong}; give the name of a model file")
    if not source.exists():
        raise ModelFileError(f"there is no model file {source}")
    try:
        content = read_arrays(source) if holds_arrays(source) else read_skops(source)
        header = json.loads(str(content["header"]))
        if not isinstance(header, dict):
            raise ArchiveError("has a header that is no dictionary")
        if header["format"] != FORMAT:
            raise ModelFileError(
                f"{source} has the format {header['format']!r}, written by setloss {header.get('version')}; "
                f"setloss {setloss.__version__} reads {FORMAT!r}"
            )
        return _rebuild(header, content)
    except ModelFileError:
        raise
    except ArchiveError as error:
        what = f": it {error}"
    except DAMAGE as error:
        what = f" ({type(error).__name__})"
    raise ModelFileError(f"{source} is not a setloss model, or it is damaged{what}; train and save it again")


def _rebuild(header: dict[str, Any], content: dict[str, Any]) -> Any:
    kind = str(header["kind"])
    if kind not in _MODELS and kind not in DECISIONS:
        raise ArchiveError(f"is of the kind {_shortened(header['kind'])}, which is not known")
    classes, loss = np.asarray(content["classes"]), _restore(header["loss"])
    if classes.shape != (2,) or not _are_rising(classes.tolist()):
        raise ArchiveError(f"has the classes {_shortened(classes.tolist())}; they are two, in rising order")
    if kind in DECISIONS:
        model = rebuild_decision(header, content, loss)
        features, labels = getattr(model, "n_features_in_", None), len(model.scorer_.constants)
    else:
        model = _rebuild_linear(header, content, loss)
        labels, features = model.coef_.shape
    model.classes_, model._flat = classes, bool(header["flat"])
    for (name, attribute), length in zip(_NAMES.items(), (features, labels, 2), strict=True):
        if name in content:
            names = np.asarray(content[name])
            if names.shape != (length,) or names.dtype.kind != "U":
                raise ArchiveError(f"has {name} of shape {names.shape} for {length} {name.partition('_')[0]}s")
            setattr(model, attribute, names.astype(object))
    return model


def _rebuild_linear(header: dict[str, Any], content: dict[str, Any], loss: Any) -> Any:
    """The linear model of a file."""
    kind = header["kind"]
    model = _MODELS[kind](**_checked_parameters(header["parameters"], kind))
    model.loss = loss
    coef, intercept = np.asarray(content["coef"]), np.asarray(content["intercept"])
    if coef.ndim != 2 or intercept.shape != coef.shape[:1] or coef.shape[1] != header["n_features_in"]:
        raise ArchiveError(
            f"has coef of shape {coef.shape} and intercept of shape {intercept.shape} for "
            f"{str(header['n_features_in'])[:20]} features"
        )
    if coef.dtype.kind != "f" or intercept.dtype.kind != "f":
        raise ArchiveError(f"has coef of type {coef.dtype} and intercept of type {intercept.dtype}")
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        raise ArchiveError("has a coef or intercept that is not finite")
    if type(header["n_iter"]) is not int or type(header["dual_gap"]) not in (int, float):
        raise ArchiveError("has no numbers for n_iter and dual_gap")
    if kind == "BagClassifier" and len(coef) != 1:
        raise ArchiveError(f"has {len(coef)} rows of coef, and a BagClassifier has one")
    model.coef_, model.intercept_, model.n_features_in_ = coef, intercept, coef.shape[1]
    model.n_iter_, model.dual_gap_ = header["n_iter"], header["dual_gap"]
    if isinstance(model, CountClassifier):
        model.counts_, model.counts_coef_ = _potentials(content, coef.shape)
    elif "decided" not in header:
        model._keep_sign()
    else:
        restore_learned(model, header["decided"], content, None if kind == "BagClassifier" else len(coef))
    return model


def _potentials(content: dict[str, Any], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The potentials of a count model for p labels and d features."""
    counts, coef = np.asarray(content["counts"]), np.asarray(content["counts_coef"])
    p, d = shape
    if counts.ndim != 1 or not 0 < len(counts) <= p + 1 or coef.shape != (len(counts), d):
        raise ArchiveError(f"has counts of shapes {counts.shape} and {coef.shape} for {p} labels and {d} features")
    if counts.dtype.kind != "f" or coef.dtype.kind != "f" or not np.all(np.isfinite(coef)):
        raise ArchiveError("has counts that are not numbers")
    if np.isnan(counts).any() or not counts.max() < np.inf or not counts.max() > -np.inf:
        raise ArchiveError("has counts that make every number of labels impossible, or are not numbers")
    return counts, coef


def _are_rising(classes: list[Any]) -> bool:
    """Whether two classes differ, in the order that `numpy.unique` gives them; NaN is below and above nothing."""
    try:
        return bool(classes[0] < classes[1])
    except TypeError:
        return False


def _checked_parameters(parameters: Any, kind: str) -> dict[str, Any]:
    """Parameters of the types that `save` writes, with C and the operator as `fit` wants them."""
    kinds: dict[str, Any] = {
        "counts": str,
        "decision": str,
        "fit_intercept": bool,
        "intercept_scaling": int | float | str,
        "max_iter": int,
        "max_time": int | float | None,
        "operator": str,
        "solver": str,
        "verbose": int,
    }
    if not isinstance(parameters, dict):
        raise ArchiveError("has parameters that are no dictionary")
    for name, value in parameters.items():
        if name not in _MODELS[kind]().get_params():
            raise ArchiveError(f"has the parameter {name[:40]!r}, which is not known")
        if not isinstance(value, kinds.get(name, int | float)):
            raise ArchiveError(f"has {_shortened(value)} for the parameter {name[:40]!r}")
    if not parameters.get("C", 1.0) > 0:
        raise ArchiveError(f"has {_shortened(parameters['C'])} for C, which is positive")
    if parameters.get("decision", "sign") not in getattr(_MODELS[kind], "_decisions", ("sign",)):
        raise ArchiveError(f"has the decision {_shortened(parameters['decision'])}, which is not known")
    if parameters.get("operator", OPERATOR_NAMES[0]) not in OPERATOR_NAMES:
        raise ArchiveError(f"has the operator {_shortened(parameters['operator'])}, which is not known")
    return parameters


def _shortened(value: object) -> str:
    """A value from a file, for messages."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON knows it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ModelFileError(f"a model with {name}={value!r} cannot be saved; use a name or a number")


def _describe(loss: Any) -> Any:
    if isinstance(loss, str):
        return loss
    name = type(loss).__name__
    if name not in _LOSSES or type(loss) is not getattr(losses, name):
        raise ModelFileError(
            f"a model trained for a {name} cannot be saved: the loss is code or a table of yours. Save coef_ and "
            "intercept_, or use one of the losses with a formula."
        )
    return {"type": name, "fields": asdict(loss)}


def _restore(described: Any) -> Any:
    if isinstance(described, str):
        if described.lower() not in losses.NAMED_LOSSES:
            raise ArchiveError(f"has the loss {_shortened(described)}, which is not known")
        return described
    if not isinstance(described, dict) or not isinstance(described["fields"], dict):
        raise ArchiveError(f"has the loss {_shortened(described)}, which is not known")
    if described["type"] not in _LOSSES:
        raise ArchiveError(f"has the loss {_shortened(described['type'])}, which is not known")
    try:
        return getattr(losses, described["type"])(**described["fields"])
    except (TypeError, ValueError) as error:
        raise ArchiveError(f"has a loss that is not possible: {str(error)[:200]}") from None
