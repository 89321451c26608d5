"""Models of the commands: their files, and the columns that they know (features, labels and bags) against those of a
data file.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setloss.cli.errors import InputError
from setloss.cli.output_files import check_writable
from setloss.cli.progress import say
from setloss.files import not_a_file

if TYPE_CHECKING:
    from setloss.io import Features, LabelSets, Tracks

SUFFIXES = (".skops",)
SHOWN_NAMES = 5


def check_model_path(path: Path, *others: Path | None) -> None:
    """Refuse a path that a model cannot be written to, and one of the `others` that are used."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--model writes a {' or '.join(SUFFIXES)} file; got {path}")
    check_writable("--model", path, *others)


def write_model(model: Any, path: Path) -> None:
    """Save a fitted estimator."""
    from setloss.io.models import ModelFileError, save

    try:
        save(model, path)
    except ModelFileError as error:
        raise InputError(str(error)) from None


def read_model(path: Path) -> Any:
    """The estimator in a file, or an `InputError`."""
    if not_a_file(path) is None and not path.exists():
        raise InputError(f"there is no model file {path}")
    from setloss.io.models import ModelFileError, load

    try:
        return load(path)
    except ModelFileError as error:
        raise InputError(str(error)) from None


def check_kind(examples: Any, path: Path, model: Any, model_path: Path) -> bool:
    """Refuse tracks for a model of label sets, and the other way round; returns whether they are label sets."""
    sets = getattr(examples, "groups", None) is None
    if sets != is_of_label_sets(model):
        kinds = ("tracks", "label sets")
        raise InputError(f"{path} holds {kinds[sets]} and the model {model_path} was trained on {kinds[not sets]}")
    return sets


def scores_of(model: Any, X: Any) -> Any:
    """Scores (n, p)."""
    with for_arrays(model) as judge:
        scores = judge.decision_function(X) if hasattr(judge, "decision_function") else judge._scores(X)
    return scores.reshape(len(scores), -1)


@contextmanager
def for_arrays(model: Any) -> Iterator[Any]:
    """A copy for X without names; names of features have been compared already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield copy.copy(model)


@dataclass(frozen=True)
class ModelColumns:
    """Names from the file that a model was trained on; None where that file had no names, or the model is older."""

    features: tuple[str, ...] | None
    labels: tuple[str, ...] | None
    group: str | None
    label: str | None
    of_label_sets: bool

    @classmethod
    def of(cls, model: Any) -> ModelColumns:
        features, labels = (vars(model).get(name) for name in ("feature_names_in_", "label_names_"))
        group, label = vars(model).get("target_columns_", (None, None))
        return cls(
            None if features is None else tuple(map(str, features)),
            None if labels is None else tuple(map(str, labels)),
            group,
            label,
            is_of_label_sets(model),
        )

    @property
    def kind(self) -> str:
        return "label sets" if self.of_label_sets else "tracks"

    def is_feature(self, column: str) -> bool:
        """Whether a column may be a feature; without names any may."""
        return self.features is None or column in self.features

    def check_table(self, path: Path, columns: Sequence[str], named: bool) -> None:
        """Refuse a table that is not of the model's kind; `named`: the user has named its columns."""
        group, label = self.group or "group", self.label or "label"
        if named:
            return
        if not self.of_label_sets and not {group, label} <= set(columns):
            missing = group if group not in columns else label
            raise InputError(
                f"the model was trained on tracks, and {path} has no column {missing!r}; name the columns of the bag "
                "and of the label with --group and --label"
            )
        if self.of_label_sets and not set(self.labels or ("",)) <= set(columns):
            looks = f"{path} looks like tracks, and the" if {group, label} <= set(columns) else "the"
            lacks = f", and {path} does not have its labels {some_names(self.labels)}" if self.labels else ""
            raise InputError(f"{looks} model was trained on label sets{lacks}; name the label columns with --labels")


def is_of_label_sets(model: Any) -> bool:
    """Whether a model predicts label sets, and not the frames of tracks."""
    from sklearn.utils import get_tags

    return bool(get_tags(model).target_tags.multi_output)


def label_count(model: Any) -> int:
    """The number of labels of a model; 1 for tracks."""
    return len(model.coef_ if hasattr(model, "coef_") else model.scorer_.constants)


def note_columns(model: Any, examples: Any, group: str | None, label: str | None) -> None:
    """Let a fitted model know the names of the columns that it was trained on."""
    import numpy as np

    if examples.feature_names is not None:
        model.feature_names_in_ = np.array(examples.feature_names, dtype=object)
    labels = getattr(examples, "label_names", None)
    if getattr(examples, "groups", None) is None and labels:
        model.label_names_ = np.array(labels, dtype=object)
    elif examples.feature_names is not None:
        model.target_columns_ = np.array([group or "group", label or "label"], dtype=object)


def with_features_of(model: Any, model_path: Path, examples: LabelSets | Tracks, path: Path) -> LabelSets | Tracks:
    """Examples with the columns that a model knows, in its order."""
    from setloss.io import DatasetError, Features, matched

    found = Features(examples.X, None, examples.feature_names)
    try:
        found = matched(path, found, ModelColumns.of(model).features)
    except DatasetError as error:
        raise InputError(str(error)) from None
    check_feature_count(found, path, model, model_path)
    say_what_differs(found, path)
    return replace(examples, X=found.X, feature_names=found.feature_names)


def check_feature_count(data: Any, path: Path, model: Any, model_path: Path) -> None:
    """Refuse data with another number of features than the model was trained on."""
    found = data.X.shape[1] if data.feature_names is None else len(data.feature_names)
    if found != model.n_features_in_:
        raise InputError(
            f"{path} has {found} features and the model {model_path} was trained on {model.n_features_in_}"
        )


def say_what_differs(found: Features, path: Path) -> None:
    """One sentence about columns that are not used, and one about their order."""
    if found.unused:
        say(f"{path} has columns that the model does not use: {some_names(found.unused)}")
    if found.reordered:
        say(f"the features of {path} stand in another order than in training; they are matched by name")


def some_names(names: Sequence[str] | None) -> str:
    """The first of some names, and how many more there are."""
    known = list(names or ())
    return ", ".join(known[:SHOWN_NAMES]) + (
        f" and {len(known) - SHOWN_NAMES} more" if len(known) > SHOWN_NAMES else ""
    )
