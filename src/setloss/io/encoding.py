"""Columns of real tables as features: numbers, few categories, dates; ids and free text are left out.

| column | becomes |
|---|---|
| numbers, truth values | themselves, empty cells the median and a flag, then scaled |
| text with few different values | one 0/1 column a value; values that are rare or new share one |
| dates, also as text | year, day of the year, day of the week and hour, treated as numbers |
| an id: text that is different in every row, or whole numbers that are and are named so | nothing; its values name the rows of predictions |
| everything else: free text, empty columns, columns of one value | nothing |
"""  # noqa: E501 (a table)

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from setloss.io.data import DatasetError, require_names, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_CATEGORIES = 50
"""Most different values of a column of categories."""

SHARE_OF_NUMBERS = 0.9
"""Share of the cells of a column of text that must be numbers for the others to count as empty."""

_ID = re.compile(r"(?i:^(?:id|uuid|guid|key|index)$|[ _.-](?:id|uuid|guid|key)$)|[a-z](?:Id|ID)$")


class Column(NamedTuple):
    """What becomes of a column: its role ("number", "category", "date", "id" or "left out"), and why, in words."""

    name: str
    role: str
    words: str


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn the columns of a DataFrame into features, the same way for new rows; the module's docstring says how.

    Attributes
    ----------
    columns_
        A `Column` for every column of the table, in its order.
    id_
        The first column of ids, which names the rows, or None.
    transformer_
        The fitted `ColumnTransformer` behind it.
    """

    def fit(self, X: DataFrame, y: Any = None) -> TableEncoder:
        """Choose a role for every column, and fit imputation, scaling and categories."""
        self.columns_ = tuple(Column(str(name), *_role(X[name], str(name))) for name in X.columns)
        self.id_ = next(iter(self._named("id")), None)
        self.feature_names_in_ = np.array([column.name for column in self.columns_], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        texts = [name for name in X if X[name].map(type).eq(str).any()]
        self.text_numbers_ = [name for name in self._named("number") if name in texts]
        self.day_first_ = [name for name in self._named("date") if name in texts and _is_day_first(X[name])]
        values = self._values(X)
        if not values.shape[1]:
            told = "; ".join(f"{column.name} ({column.words})" for column in self.columns_)
            raise DatasetError(f"no column of the table can be a feature: {told}")
        categories = self._named("category")
        filled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        rare = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=MAX_CATEGORIES)
        numbers = [name for name in values if name not in categories]
        steps = [("numbers", filled, numbers), ("categories", rare, categories)]
        self.transformer_ = ColumnTransformer(steps, verbose_feature_names_out=False).fit(values)
        return self

    def transform(self, X: DataFrame) -> Any:
        """The features (n, d) of rows that have the columns of the table, in any order."""
        check_is_fitted(self)
        return self.transformer_.transform(self._values(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features: ``price``, ``city_Paris``, ``sold: weekday``."""
        check_is_fitted(self)
        names: NDArray[Any] = self.transformer_.get_feature_names_out()
        return names

    def _named(self, role: str) -> list[str]:
        return [column.name for column in self.columns_ if column.role == role]

    def _values(self, X: DataFrame) -> DataFrame:
        """Numbers, parts of dates, and texts of categories, NaN and "" where a cell is empty."""
        import pandas

        wanted = [column for column in self.columns_ if column.role not in ("id", "left out")]
        require_names("the table", X.columns, [column.name for column in wanted], "the features of the model")
        values: dict[str, Any] = {}
        for name, role, _ in wanted:
            if role == "number":
                numbers = _numbers(X[name])
                if name not in self.text_numbers_:
                    _refuse_lost(X[name], np.isnan(numbers), "numbers")
                values[name] = np.where(np.isinf(numbers), np.nan, numbers)
            elif role == "category":
                values[name] = X[name].astype(object).where(X[name].notna(), "").astype(str).to_numpy(dtype=object)
            else:
                dates = _dates(X[name], day_first=name in self.day_first_)
                _refuse_lost(X[name], dates.isna(), "dates")
                day, week, hour = dates.dt.day_of_year, dates.dt.day_of_week, dates.dt.hour
                parts = {"year": dates.dt.year + day / 366, "day of year": day, "weekday": week, "hour": hour}
                for part, found in parts.items():
                    values[f"{name}: {part}"] = found.to_numpy(dtype=np.float64, na_value=np.nan)
        return pandas.DataFrame(values)


# ------------------------------------------------------------------ one column


def _role(column: Series[Any], name: str) -> tuple[str, str]:
    """The role of a column and why, in words."""
    from pandas.api import types

    present = column.dropna()
    empty = f", {len(column) - len(present)} empty" if len(present) < len(column) else ""
    if len(present) == 0:
        return "left out", "empty"
    try:
        different, others = present.nunique(), int(np.isnan(_numbers(present)).sum())
    except TypeError:  # lists and other values that cannot be compared
        return "left out", f"values of type {type(present.iloc[0]).__name__}"
    if different == 1 and not empty:
        return "left out", f"always {shown(str(present.iloc[0]))}"
    if types.is_datetime64_any_dtype(column):
        return "date", f"year, day of the year, weekday, hour{empty}"
    if others <= (1 - SHARE_OF_NUMBERS) * len(present):
        if _ID.search(name) and different == len(column) and types.is_integer_dtype(column):
            return "id", "different in every row"
        return "number", f"number{empty}" + (f", {others} that are no numbers count as empty" if others else "")
    if not isinstance(present.iloc[0], str):
        return "left out", f"values of type {type(present.iloc[0]).__name__}"
    return _role_of_text(present, different, empty)


def _role_of_text(present: Series[Any], different: int, empty: str) -> tuple[str, str]:
    if present.str.contains(r"\d.*\d.*\d").all() and _dates(present, day_first=_is_day_first(present)).notna().all():
        return "date", f"year, day of the year, weekday, hour, read from text{empty}"
    if different <= min(MAX_CATEGORIES, len(present) / 2):
        return "category", f"{different} categories{empty}"
    if different == len(present) and not empty:
        return "id", "different in every row"
    return "left out", f"text with {different} different values"


def _numbers(column: Series[Any]) -> NDArray[np.float64]:
    """The numbers of a column, NaN where a cell is none."""
    import pandas

    found: NDArray[np.float64] = pandas.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return found


def _refuse_lost(column: Series[Any], lost: Any, what: str) -> None:
    """Refuse a cell that is neither empty nor of the kind that the model was trained on."""
    strange = column[lost & column.notna()]
    if len(strange):
        cell = shown(str(strange.iloc[0]))
        raise DatasetError(f"column {shown(str(column.name))} holds {cell} where the model knows {what}; correct it")


def _is_day_first(column: Series[Any]) -> bool:
    """Whether more texts are dates if 03.04.2020 is the third of April."""
    first, other = (_dates(column, day_first=day).notna().sum() for day in (True, False))
    return bool(first > other)


def _dates(column: Series[Any], *, day_first: bool) -> Series[Any]:
    """The column as dates without a time zone, missing where a cell is none."""
    import pandas

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it cannot tell a format
        return pandas.to_datetime(column, errors="coerce", dayfirst=day_first, utc=True).dt.tz_localize(None)
