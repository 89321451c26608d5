"""Training parts of data sets in a folder: what defaults are settled on and times are measured on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.loaders import DataSet, find_data_sets, read_data_set


def training_parts(folder: Path, names: Sequence[str] = ()) -> Iterator[DataSet]:
    """The training parts of all data sets of a folder, or of those named."""
    for name, files in find_data_sets(folder, names or None).items():
        yield training_part(read_data_set(name, files))


def training_part(data: DataSet) -> DataSet:
    """A data set without its test part; one that came as a single file stays as it is."""
    return replace(data, X=data.X[: data.n_train], Y=data.Y[: data.n_train], n_train=None)
