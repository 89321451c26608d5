"""Model files: any fitted estimator, its pipelines and losses, in one format (.skops), without running code.

A file of skops names types and their attributes. Loading builds only what skops itself trusts (the estimators of
scikit-learn, arrays, containers) and the types listed here, each by the one kind of node that stands for it in our
files. Functions and everything else is refused unless the reader trusts it by name: hundreds of types of NumPy and
SciPy run code or delete files when they are built. Nothing is fitted when a model is loaded.
"""

import json
import os
import sys
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from setloss.files import replacing
from setloss.io.data import reason

OWN = {
    "decisions.calibration": ("BagPotentials", "Calibration", "LabelPotentials"),
    "decisions.promises": ("Promise",),
    "decisions.rules": ("Reliability", "Threshold"),
    "estimators.classifier_cv": ("SetClassifierCV",),
    "estimators.decision_cv": ("SetDecisionCV",),
    "estimators.label_scores": ("LabelwiseClassifier", "Scorer"),
    "estimators.labels": ("Labels",),
    "estimators.set_classifier": ("SetClassifier",),
    "estimators.set_decision": ("SetDecision",),
    "io.encoding": ("Column", "TableEncoder"),
    "losses.counts_of_errors": ("CostCurve", "Dice", "FBeta", "Hamming", "Jaccard", "Tversky"),
    "losses.custom": ("FixedSetLoss",),
    "setfunctions.counts": ("Table",),
    "setfunctions.set_function": ("SetFunction",),
    "solvers.solution": ("Record", "Solution"),
}
"""Types of setloss that a saved model can hold, by module. A test says when one is missing."""

OTHERS = {
    "ObjectNode": (
        "sklearn._loss.link.HalfLogitLink",  # from here to _BinMapper newer versions of skops trust them, too
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    ),
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "DTypeNode": ("numpy.dtype",),
    "DictNode": ("sklearn.utils._bunch.Bunch",),
    "SparseMatrixNode": ("scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array"),
}
"""Types of other packages that our saved models hold beside those that skops trusts, by the node that builds them."""

TRUSTED = {name: {node} for node, names in OTHERS.items() for name in names}
TRUSTED |= {f"setloss.{module}.{name}": {"ObjectNode", "TupleNode"} for module in OWN for name in OWN[module]}
TRUSTED["builtins.frozenset"] = {"ConstructorFromReduceNode", "SetNode"}

MOST_UNPACKED, MOST_TIMES = 2**31, 100
"""Largest size of all parts of a file when unpacked: these bytes, or this multiple of the size of the file."""

CODE = {"FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode", "unknown"}
"""Nodes of skops that stand for functions."""

POOL = {"__loader__": "JsonNode", "content": "4"}
"""The size of the pool that seeds a random generator, which forests hold; of a large one that takes hours."""


class ModelFileError(ValueError):
    """A model file that cannot be read or written; the message says why and what to do, in one sentence."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a .skops file, which replaces an older one in one step.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of setloss, alone, in a pipeline or around others. Types of other packages (XGBoost) are
        written, and `load` then asks to trust them; functions, as a loss of your own, are refused.
    path : path
        The file; its name ends in .skops.

    Examples
    --------
    >>> import tempfile
    >>> from setloss.estimators import SetDecision
    >>> decision = SetDecision(rule="threshold").fit([[2.0, -1.0], [0.5, 1.5], [-2.0, 3.0]], [[1, 0], [0, 1], [0, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(decision, f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").predict([[2.0, -1.0]])
    array([[1, 0]])
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted
    from skops.io import dumps

    file = _model_path(path)
    who = type(model).__name__
    try:
        check_is_fitted(model)
        content = dumps(model, compression=zipfile.ZIP_DEFLATED)
        refused = [name for name, loaders in _untrusted(content).items() if loaders & CODE]
    except NotFittedError:
        raise ModelFileError(f"this {who} has not been fitted; call fit before save") from None
    except Exception as error:  # skops raises whatever the attributes of foreign types raise
        raise ModelFileError(f"a {who} cannot be saved: {_reason(error)}") from None
    if refused:
        raise ModelFileError(
            f"a {who} that holds the function {refused[0]} cannot be saved: files hold no code; use a loss or a "
            "transformer with a name or a formula, or save the attributes that you need"
        )
    try:
        with replacing(file) as stream:
            stream.write(content)
    except OSError as error:
        raise ModelFileError(f"{file} cannot be written: {error.strerror or error}; choose another path") from None


def load(path: str | os.PathLike[str], trusted: Sequence[str] = ()) -> Any:
    """Read a model that `save` wrote; no code from the file is run.

    Parameters
    ----------
    path : path
        The .skops file.
    trusted : sequence of str
        Packages ("xgboost") or types ("mine.Scaler") that may be built beside those that models of setloss hold. A
        file can make a trusted package do anything that its types can do: name only what you expect.

    Examples
    --------
    >>> import tempfile
    >>> from setloss.estimators import SetDecision
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(SetDecision(rule="half").fit([[2.0, -1.0], [0.5, 1.5]], [[1, 0], [0, 1]]), f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").rule
    'half'
    """
    file = _model_path(path)
    if not file.is_file():
        raise ModelFileError(f"{file} is no file; give the path of a model written by setloss.save")
    import skops.io  # slow: it looks at every estimator of scikit-learn

    trusted = (trusted,) if isinstance(trusted, str) else tuple(trusted)
    try:
        content = file.read_bytes()
        unknown = _untrusted(content)
        foreign = [name for name, loaders in unknown.items() if not _is_trusted(name, loaders, trusted)]
        model = None if foreign else skops.io.loads(content, trusted=list(unknown))
        is_model = hasattr(model, "predict")  # a pipeline asks its last step, which may be anything
    except (OSError, zipfile.BadZipFile) as error:
        raise ModelFileError(
            f"{file} cannot be read as a model: {_reason(error)}; it may be half of a copy, or save the model anew"
        ) from None
    except ModuleNotFoundError as error:
        raise ModelFileError(f"{file} needs the package {error.name}; install it first") from None
    except Exception as error:  # a node of the file may lack any part, or name a type that is no longer there
        raise ModelFileError(
            f"{file} is damaged or from another version ({_reason(error)}); fit and save the model anew"
        ) from None
    if any(name.startswith("setloss.") for name in foreign):
        raise ModelFileError(f"{file} is from another version of setloss; train the model anew")
    if foreign:
        raise ModelFileError(
            f"{file} holds {repr(', '.join(foreign[:3]))[1:-1]}, which is not trusted; if you know where the file "
            f"comes from and expect that, load it with trusted={list(dict.fromkeys([*trusted, *_to_trust(foreign)]))}"
        )
    if not is_model:
        raise ModelFileError(f"{file} holds a {type(model).__name__}, not a model; give a file of setloss.save")
    return model


def _model_path(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.suffix != ".skops":
        raise ModelFileError(f"{file} is no model file; they end in .skops")
    return file


def _untrusted(content: bytes) -> dict[str, set[str]]:
    """The types and functions of a file that skops does not trust, and the kinds of nodes that each stands in."""
    from skops.io import get_untrusted_types

    nodes: dict[str, set[str]] = {}
    heads: dict[Any, tuple[Any, ...]] = {}

    def note(node: dict[str, Any]) -> dict[str, Any]:
        kind, loader = f"{node.get('__module__')}.{node.get('__class__')}", str(node.get("__loader__"))
        nodes.setdefault(kind, set()).add(loader)
        inside = [part for value in node.values() for part in (value if isinstance(value, list) else [value])]
        size = 1 + sum(part["size"] for part in inside if isinstance(part, dict))
        head = (kind, loader, size, node.get("content") if loader == "JsonNode" else None)
        # skops takes the first of an id for all: others that are smaller make a short file a tree without end
        if "__id__" in node and heads.setdefault(node["__id__"], head) != head:
            raise ValueError("two of its parts have the same id")
        pool = node.get("pool_size", POOL)
        if (pool["__loader__"], pool["content"]) != (POOL["__loader__"], POOL["content"]):
            raise ValueError("a random generator is seeded by a pool that is not NumPy's")
        return node | {"size": size}

    with zipfile.ZipFile(BytesIO(content)) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > max(MOST_UNPACKED, MOST_TIMES * len(content)):
            raise ValueError(
                f"it unpacks to {unpacked} bytes, more than {MOST_UNPACKED} and {MOST_TIMES} times its size"
            )
        json.loads(archive.read("schema.json"), object_hook=note)
    return {name: nodes.get(name, {"unknown"}) for name in get_untrusted_types(data=content)}


def _is_trusted(name: str, loaders: set[str], trusted: Sequence[str]) -> bool:
    """Whether a type may be built: trusted by the reader, or on the list and in no other node than there."""
    return name in trusted or name.partition(".")[0] in trusted or loaders <= TRUSTED.get(name, set())


def _to_trust(names: Sequence[str]) -> list[str]:
    """Names for `trusted`: whole packages, but single types of Python and of the packages that all models use."""
    large = {"numpy", "scipy", "sklearn", *sys.stdlib_module_names}
    packages = {name: name.partition(".")[0] for name in names}
    return sorted({name if package in large else package for name, package in packages.items()})


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {reason(error)}"
