"""Data files in, model files in and out: `read` picks the reader by the suffix of the file.

A file that cannot be used ends in a `DatasetError` or a `ModelFileError` that names the file and says what to do, in
one sentence; no code from any file is run.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setloss.io.arff import read_arff
from setloss.io.data import DatasetError, LabelSets, Tracks, existing_file
from setloss.io.models import ModelFileError
from setloss.io.tables import TABLES, read_columns, read_table

if TYPE_CHECKING:
    from setloss.io.encoding import TableEncoder

__all__ = ["DatasetError", "LabelSets", "ModelFileError", "TableEncoder", "Tracks", "read", "read_table"]


def __getattr__(name: str) -> Any:
    """`TableEncoder` brings scikit-learn with it: it is imported when it is first asked for."""
    if name == "TableEncoder":
        return import_module(".encoding", __name__).TableEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def read(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | int | Sequence[str] | None = None,
    group: str | None = None,
    label: str | None = None,
    ignore: Sequence[str] | None = None,
    separator: str | None = None,
) -> LabelSets | Tracks:
    """Label sets or tracks from a table (.csv, .tsv, .parquet), or label sets from Mulan's ARFF.

    X of a table is a DataFrame of all columns that are neither labels nor bags; `TableEncoder` makes features of
    categories, dates and empty cells. Y is an array: for a model that keeps the names of the labels, fit it with
    ``pandas.DataFrame(data.Y, columns=data.label_names)``. An option that the kind of file has no use for is refused.

    Parameters
    ----------
    path : path
        The data file; the suffix says what it is.
    labels : path, int, str or sequence of str, optional
        ARFF: the XML file that names the labels (by default that of the same stem, or of the stem without -train or
        -test), or their number if they are the last attributes, 0 for a file without any. CSV and Parquet: the prefix
        or the list of the label columns, or the one column with all labels of a row in a cell, for label sets, not
        tracks.
    group, label : str, optional
        CSV and Parquet: the columns with the bag and the label of a frame, by default "group" and "label".
    ignore : sequence of str, optional
        CSV and Parquet: columns that are left out.
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
    file = Path(path)
    columns: dict[str, Any] = {"group": group, "label": label, "ignore": ignore, "separator": separator}
    if is_table_file(file):
        return read_columns(file, labels, **columns)
    for name, value in columns.items():
        if value is not None:
            raise DatasetError(f"{name}= is for tables and has no meaning for {file}; leave it out")
    return read_arff(existing_file(file), labels)


def is_table_file(file: Path) -> bool:
    """Whether a data file is a table and not ARFF, by its suffix; others are refused."""
    suffix = file.suffix.lower()
    if suffix not in (*TABLES, ".arff"):
        raise DatasetError(
            f"{file} has the suffix {suffix!r}; data files are {', '.join(TABLES)} and .arff; unpack it, save a "
            "spreadsheet as CSV in UTF-8, or read arrays in Python (numpy.load, sklearn.datasets.load_svmlight_file) "
            "and fit SetDecisionCV() to them"
        )
    return suffix != ".arff"
