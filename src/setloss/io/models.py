"""Model files: any fitted estimator, its pipelines and losses, in one format (.skops), without running code.

A file of skops names types and their attributes. Loading builds only types of setloss, NumPy, SciPy and scikit-learn,
by `__new__` and their attributes, never by a call with arguments from the file; functions and everything of other
packages is refused unless the reader trusts it by name. Nothing is fitted when a model is loaded.
"""

from __future__ import annotations

import importlib
import json
import os
import zipfile
from collections.abc import Sequence
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any

from setloss.files import replacing
from setloss.io.data import reason

PACKAGES = ("setloss", "numpy", "scipy", "sklearn")
"""Packages whose types are trusted."""

BUILT_BY_STATE = {"ObjectNode", "DTypeNode", "TupleNode", "TreeNode", "CachedNode"}
"""Nodes of skops that build a type and call nothing but the type itself (`__new__`, a named tuple, a dtype)."""

CODE = {"FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode", "unknown"}
"""Nodes of skops that stand for functions."""


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
        Packages ("xgboost") or types ("mine.Scaler") that may be built beside those of setloss, NumPy, SciPy and
        scikit-learn. A file can make a trusted package do anything that its types can do: name only what you expect.
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
    except (OSError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{file} cannot be read as a model: {_reason(error)}; save the model anew") from None
    except ModuleNotFoundError as error:
        if str(error.name).startswith("setloss."):
            raise ModelFileError(f"{file} is from an older version of setloss; train the model anew") from None
        raise ModelFileError(f"{file} needs the package {error.name}; install it first") from None
    except Exception as error:  # a node of the file may lack any part, or name a type that is no longer there
        raise ModelFileError(
            f"{file} is damaged or from another version ({_reason(error)}); fit and save the model anew"
        ) from None
    if foreign:
        raise ModelFileError(
            f"{file} holds {', '.join(foreign[:3])}, of packages that are not trusted; if you know where the file "
            f"comes from, load it with trusted={[name.partition('.')[0] for name in foreign[:1]]}"
        )
    if not hasattr(model, "predict"):
        raise ModelFileError(f"{file} holds a {type(model).__name__}, not a model; give a file of setloss.save")
    return model


def _model_path(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.suffix != ".skops":
        older = " (.npz models of version 0.2 are not read any more, train the model anew)"
        raise ModelFileError(f"{file} is no model file; they end in .skops{older if file.suffix == '.npz' else ''}")
    return file


def _untrusted(content: bytes) -> dict[str, set[str]]:
    """The types and functions of a file that skops does not trust, and the kinds of nodes that each stands in."""
    from skops.io import get_untrusted_types

    nodes: dict[str, set[str]] = {}

    def note(node: dict[str, Any]) -> dict[str, Any]:
        name = f"{node.get('__module__')}.{node.get('__class__')}"
        nodes.setdefault(name, set()).add(str(node.get("__loader__")))
        return node

    with zipfile.ZipFile(BytesIO(content)) as archive:
        json.loads(archive.read("schema.json"), object_hook=note)
    return {name: nodes.get(name, {"unknown"}) for name in get_untrusted_types(data=content)}


def _is_trusted(name: str, loaders: set[str], trusted: Sequence[str]) -> bool:
    """Whether a type may be built: trusted by the reader, or of our packages and built by its state alone.

    What a module of ours has imported from elsewhere is not ours.
    """
    module, _, kind = name.rpartition(".")
    package = name.partition(".")[0]
    if name in trusted or package in trusted or name == "builtins.frozenset":
        return True
    if package not in PACKAGES or "__main__" in name:
        return False
    found = getattr(importlib.import_module(module), kind, None)
    if not isinstance(found, type) or found.__module__.partition(".")[0] not in PACKAGES:
        return False
    return loaders <= BUILT_BY_STATE or (package == "setloss" and issubclass(found, Enum))


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {reason(error)}"
