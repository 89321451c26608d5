"""Reading a damaged file: data, or the reader's own error in one short sentence; anything else is a bug."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from helpers.broken import checkpoints
from helpers.broken.arff import XML
from setloss.cli.cost_tables import read_table
from setloss.cli.errors import InputError
from setloss.cli.set_function_options import SetFunctionOptions, curve_through
from setloss.datasets import DatasetError, LabelSets, load
from setloss.datasets.label_xml import read_label_names


def outcome(suffix: str, path: Path) -> Any:
    """What a reader makes of a file of this kind, or its error; fails where the error or its message is not fit."""
    try:
        return READERS[suffix](path)
    except errors() as error:
        found = error
    assert 0 < len(str(found)) < 1000, found
    assert "\n" not in str(found), found
    return found


@cache
def errors() -> tuple[type[Exception], ...]:
    """The errors that readers may raise."""
    from setloss.estimators import ModelFileError
    from setloss.solvers import CheckpointError

    return DatasetError, InputError, ModelFileError, CheckpointError


def _data(path: Path) -> Any:
    found = load(path)
    rows = len(found.Y) if isinstance(found, LabelSets) else len(found.y)
    assert found.X.shape[0] == rows > 0
    assert found.feature_names is None or len(found.feature_names) == found.X.shape[1]
    return found


def _arff(path: Path) -> Any:
    path.with_suffix(".xml").write_text(XML)
    return _data(path)


def _model(path: Path) -> Any:
    import numpy as np

    from setloss.estimators import load as load_model

    model = load_model(path)
    assert model.predict(np.zeros((2, model.n_features_in_))).shape[0] == 2
    return model


def _checkpoint(path: Path) -> Any:
    from setloss.solvers import Limits, solve

    return solve(checkpoints.problem(), "cutting_plane", Limits(1e-3, 20, checkpoint=path))


def _knots(path: Path) -> Any:
    return curve_through(path.read_bytes().decode("utf-8", "replace")).on_counts(5, 0)


READERS: dict[str, Callable[[Path], Any]] = {
    "svm": _data,
    "arff": _arff,
    "xml": read_label_names,
    "npz": _data,
    "csv": _data,
    "parquet": _data,
    "table.csv": lambda path: SetFunctionOptions(table=path).read() and read_table(path),
    "table.npy": lambda path: SetFunctionOptions(table=path, general=True).read(),
    "knots": _knots,
    "skops": _model,
    "checkpoint.npz": _checkpoint,
}
