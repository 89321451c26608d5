"""Data files in, model files in and out: `read` picks the reader by the suffix of the file.

A file that cannot be used ends in a `DatasetError` or a `ModelFileError` that names the file and says what to do, in
one sentence; no code from any file is run.
"""

import os
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setloss.io.arff import read_arff
from setloss.io.data import DatasetError, LabelSets, Tracks, existing_file, refuse_huge
from setloss.io.matrices import read_npz, read_svmlight
from setloss.io.tables import SUFFIXES as TABLES
from setloss.io.tables import read_columns, read_table
from setloss.lazy import imported_name

if TYPE_CHECKING:
    from setloss.io.encoding import TableEncoder
    from setloss.io.models import ModelFileError

__all__ = ["DatasetError", "LabelSets", "ModelFileError", "TableEncoder", "Tracks", "read", "read_table"]

_LATER = {"ModelFileError": ".models", "TableEncoder": ".encoding"}
"""Names that bring scikit-learn with them: imported when they are first asked for."""

SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
READERS: dict[str, Callable[..., LabelSets | Tracks]] = {
    ".arff": read_arff,
    ".npz": read_npz,
    **dict.fromkeys(TABLES, read_columns),
    **dict.fromkeys(SVMLIGHT, read_svmlight),
}
"""The reader of each kind of file; its keyword arguments are the options that the kind has a use for."""


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for."""
    return imported_name(__name__, _LATER, name)


def read(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] | None = None,
    features: int | None = None,
    separator: str | None = None,
) -> LabelSets | Tracks:
    """Label sets or tracks from a file: .arff, .svm (.svmlight, .libsvm, .txt), .npz, .csv, .tsv or .parquet.

    X of a table is a DataFrame of all columns that are neither labels nor bags; `TableEncoder` makes features of
    categories, dates and empty cells. Y is an array: for a model that keeps the names of the labels, fit it with
    ``pandas.DataFrame(data.Y, columns=data.label_names)``. An option that the kind of file has no use for is refused.

    Parameters
    ----------
    path : path
        The data file; the suffix says what it is.
    labels : path, int, str or sequence of str, optional
        ARFF: the XML file that names the labels (by default that of the same stem, or of the stem without -train or
        -test), or their number if they are the last attributes, 0 for a file without any. svmlight: their ids, by
        default those in the file. CSV and Parquet: the prefix or the list of the label columns, or the
        one column with all labels of a row in a cell, for label sets, not tracks.
    group, label : str, optional
        CSV and Parquet: the columns with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        CSV and Parquet: columns that are left out.
    features : int, optional
        svmlight: the number of columns of X, by default the largest feature index + 1.
    separator : str, optional
        CSV and Parquet: the sign between labels in one cell, by default that of ``;``, ``|`` and ``,`` which is used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from setloss.io import read
    >>> with TemporaryDirectory() as folder:
    ...     table = Path(folder) / "stories.csv"
    ...     _ = table.write_text(chr(10).join(["words,topics", "90,oil;gas", "120,gas", "45,"]))
    ...     data = read(table, labels="topics")
    >>> data.label_names
    ('gas', 'oil')
    >>> data.Y.tolist()
    [[1, 1], [1, 0], [0, 0]]
    """
    given = {"labels": labels, "group": group, "label": label, "ignore": ignore, "features": features}
    given["separator"] = separator
    options = {name: value for name, value in given.items() if value is not None}
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in READERS:
        known = ", ".join(READERS)
        raise DatasetError(
            f"{file} has the suffix {suffix!r}; data files are {known}. Unpack it; save a spreadsheet as CSV in UTF-8"
        )
    existing_file(file)
    for name in options.keys() - signature(READERS[suffix]).parameters.keys():
        raise DatasetError(f"{name}= has no meaning for a {suffix} file ({file}); leave it out")
    found = READERS[suffix](file, **options)
    if suffix not in TABLES:
        refuse_huge(file, found.X, found.feature_names)
    return found
