"""Features as users give them: checked, with words for a column of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def checked_features(model: Any, X: Any, *, reset: bool) -> Any:
    """X as numbers, dense or CSR; a column of text is named in the error."""
    try:
        return validate_data(model, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
    except ValueError as error:
        refuse_text(X, error)
        raise


def refuse_text(X: Any, error: Exception) -> None:
    """Raise for a column of text, if that is what a failure to make numbers of X came from."""
    if "could not convert" not in str(error):
        return
    for name, cells in _columns(X):
        text = next((cell for cell in cells if isinstance(cell, str)), None)
        if text is not None:
            raise ValueError(
                f"could not convert column {name} of X to numbers: it holds text ({text!r}). Leave it out, or encode "
                "it: pandas.get_dummies(X), or sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
            ) from error


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    """Names and cells of the columns that may hold text."""
    if hasattr(X, "columns"):
        named = ((repr(name), np.asarray(X[name])) for name in X.columns)
    else:
        named = ((str(j), cells) for j, cells in enumerate(np.asarray(X, dtype=object).T))
    yield from ((name, cells) for name, cells in named if cells.dtype.kind in "OUST")
