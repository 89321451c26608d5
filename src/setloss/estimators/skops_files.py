"""Model files of skops: dictionaries of texts and arrays, and for decisions one estimator of scikit-learn.

skops imports the module that a node names, and importing runs code; so every node is judged before skops sees the
file. Estimators are taken if skops trusts their type by default (the public estimators of scikit-learn and what
numbers and arrays are made of) or if it is listed here; functions, methods and types of other packages are not.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from setloss.archives import ArchiveError, array_header, open_archive, read_array

MAX_SCHEMA = 2**20
MAX_MEMBERS = 100
"""Most bytes of the description of a model, and most arrays, unless it holds an estimator."""

MAX_ESTIMATOR_SCHEMA = 2**25
"""The same with one."""

ESTIMATOR = "estimator"
"""The one place where a type of scikit-learn may stand."""

PLAIN_NODES = ("DictNode", "JsonNode", "ListNode", "NdArrayNode", "TupleNode", "TypeNode")
ESTIMATOR_NODES = (
    *PLAIN_NODES,
    *("ObjectNode", "CachedNode", "SliceNode", "SetNode", "BytesNode", "DtypeNode"),
    *("RandomStateNode", "RandomGeneratorNode", "SparseMatrixNode", "TreeNode", "LossNode"),
)
PACKAGES = ("builtins", "numpy", "scipy", "sklearn")
OURS = (
    "setloss.estimators.set_classifier.SetClassifier",
    "setloss.estimators.bag_classifier.BagClassifier",
    "setloss.estimators.count_classifier.CountClassifier",
    *(f"setloss.losses.counts_of_errors.{name}" for name in ("Dice", "Jaccard", "Tversky", "FBeta", "Hamming")),
    "setloss.losses.curves.CostCurve",
)
TRUSTED = (
    *OURS,
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
"""Types beyond those that skops trusts by default."""

FOREIGN = "holds types that are not part of a setloss model; it is not loaded"


class ModelFileError(ValueError):
    """A model file that cannot be read or written; the message says why and what to do."""


def dump_of_skops() -> Callable[[dict[str, Any], IO[bytes]], Any]:
    """The function that writes a skops file."""
    try:
        from skops.io import dump
    except ModuleNotFoundError:
        raise ModelFileError(
            "a .skops file needs skops: pip install skops; a name that ends in .npz needs nothing"
        ) from None
    return dump  # type: ignore[no-any-return]


def check_estimator(estimator: Any, who: str) -> None:
    """Refuse to write an estimator that would not be read again."""
    dump = dump_of_skops()
    from skops.io import get_untrusted_types

    buffer = io.BytesIO()
    dump({ESTIMATOR: estimator}, buffer)
    foreign = sorted(set(get_untrusted_types(data=buffer.getvalue())) - set(TRUSTED))
    with zipfile.ZipFile(buffer) as archive:
        schema = json.loads(archive.read("schema.json"))
    foreign += sorted({_name(node) for node in _nodes(schema) if not _is_known(node, inside=True)})
    if foreign:
        raise ModelFileError(
            f"a {who} with {', '.join(foreign[:3])} inside cannot be saved: files hold estimators of scikit-learn "
            "and setloss, no functions and no types of others. skops.io.dump writes it, and skops.io.load asks its "
            "reader whom to trust."
        )


def read_skops(path: Path) -> dict[str, Any]:
    """The dictionary in a file; its nodes are judged first, and skops raises anything where a node lacks a part."""
    _judge(path)
    try:
        from skops.io import get_untrusted_types, load
    except ModuleNotFoundError:
        raise ModelFileError(f"{path} is a skops file, which needs skops: pip install skops") from None
    try:
        unknown = set(get_untrusted_types(file=path))
        foreign = unknown - set(TRUSTED)
        content = None if foreign else load(path, trusted=sorted(unknown))
    except (AttributeError, TypeError, ImportError) as error:
        raise ArchiveError(f"is not what skops writes ({type(error).__name__})") from None
    if foreign:
        raise ModelFileError(f"{path} {FOREIGN}")
    if not isinstance(content, dict):
        raise ArchiveError("holds no dictionary")
    return content


def _judge(path: Path) -> None:
    """Refuse files that unpack to too much, and nodes that are not dictionaries, texts, arrays or one estimator."""
    with open_archive(path) as archive:
        members, size = archive.namelist(), archive.getinfo("schema.json").file_size
        if size > MAX_ESTIMATOR_SCHEMA:
            raise ArchiveError(f"has a schema.json of more than {MAX_ESTIMATOR_SCHEMA} bytes")
        schema = json.loads(archive.read("schema.json"))
        holds_estimator = isinstance(schema, dict) and ESTIMATOR in _entries(schema)
        if not holds_estimator and (len(members) > MAX_MEMBERS or size > MAX_SCHEMA):
            raise ArchiveError(
                f"has more than {MAX_MEMBERS} members, or a schema.json of more than {MAX_SCHEMA} bytes"
            )
        for member in members:
            if member.endswith(".npy") and array_header(archive, member).kind == "U":
                read_array(archive, member)
    inside = _entries(schema).pop(ESTIMATOR, None) if holds_estimator else None
    known = all(_is_known(node, inside=False) for node in _nodes(schema))
    if not known or not all(_is_known(node, inside=True) for node in _nodes(inside)):
        raise ModelFileError(f"{path} {FOREIGN}")


def _entries(schema: dict[str, Any]) -> dict[str, Any]:
    """The nodes of a dictionary by key."""
    content = schema.get("content")
    return content if isinstance(content, dict) else {}


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary in a schema, nodes among them."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        waiting.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


def _is_known(node: dict[str, Any], *, inside: bool) -> bool:
    """Whether a node may stand in a model, or inside its estimator."""
    loader, module = node.get("__loader__", "DictNode"), str(node.get("__module__", "builtins"))
    if not inside:
        return loader in PLAIN_NODES and module in ("builtins", "numpy")
    return loader in ESTIMATOR_NODES and (module.partition(".")[0] in PACKAGES or _name(node) in OURS)


def _name(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"
