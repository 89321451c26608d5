"""Model files of the commands: a path that can be written, checked before the work, and a model to predict with."""

import importlib.util
from pathlib import Path
from typing import Any

from setloss.cli.errors import InputError
from setloss.cli.output_files import check_writable
from setloss.files import not_a_file

SUFFIXES = (".npz", ".skops")


def check_model_path(path: Path) -> None:
    """Refuse a path that a model cannot be written to."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--model writes a {' or '.join(SUFFIXES)} file; got {path}")
    check_writable("--model", path)
    if path.suffix.lower() == ".skops" and importlib.util.find_spec("skops") is None:
        raise InputError(f"a .skops file needs skops: pip install skops; {path.with_suffix('.npz')} needs nothing")


def write_model(model: Any, path: Path) -> None:
    """Save a fitted estimator."""
    from setloss.estimators import ModelFileError, save

    try:
        save(model, path)
    except ModelFileError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(f"--model: {path} cannot be written: {error.strerror or error}") from None


def read_model(path: Path) -> Any:
    """The estimator in a file, or an `InputError`."""
    if not_a_file(path) is None and not path.exists():
        raise InputError(f"there is no model file {path}")
    from setloss.estimators import ModelFileError, load

    try:
        return load(path)
    except ModelFileError as error:
        raise InputError(str(error)) from None


def check_kind(examples: Any, path: Path, model: Any, model_path: Path) -> bool:
    """Refuse tracks for a model of label sets, and the other way round; returns whether they are label sets."""
    from setloss.cli.model_columns import is_of_label_sets

    sets = getattr(examples, "groups", None) is None
    if sets != is_of_label_sets(model):
        kinds = ("tracks", "label sets")
        raise InputError(f"{path} holds {kinds[sets]} and the model {model_path} was trained on {kinds[not sets]}")
    return sets


def scores_of(model: Any, X: Any) -> Any:
    """Scores (n, p). Names of features have been compared already, and an array has none to compare again."""
    names = vars(model).pop("feature_names_in_", None)
    scores = model.decision_function(X)
    if names is not None:
        model.feature_names_in_ = names
    return scores.reshape(len(scores), -1)
