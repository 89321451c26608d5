"""Columns of real tables as features: numbers, few categories, dates, and the words of free text.

| column | becomes |
|---|---|
| numbers, truth values, $1,250.50 and 12 % | themselves, empty cells the median and a flag, then scaled |
| text with few different values | one 0/1 column a value; values of fewer than 3 rows, which are not stored, share one with new values |
| dates, also as text | year, day of the year, day of the week and hour, treated as numbers |
| other text, sentences above all | tf-idf of the words of at least 3 rows, and of pairs of them where there is enough text |
| an id: short text that is different in every row, or whole numbers that are and are named so | nothing; its values name the rows of predictions |
| everything else: text without a word of 3 rows, empty columns, columns of one value, lists | nothing, with a warning where something is lost |

Features are sparse where one of the columns is text, and come in this order: numbers and dates, categories, text.
"""  # noqa: E501 (a table)

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from setloss.arguments import is_texts
from setloss.io.data import LARGEST, DatasetError, require_names, shown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_CATEGORIES = 50
"""Most different values of a column of categories."""

FEWEST_ROWS = 3
"""Fewest rows with a category or a word for it to be stored: a model file is not to tell what one row said."""

MAX_WORDS = 50_000
"""Most words and pairs of words of a column of text."""

WORDS_FOR_PAIRS = 1_000_000
"""Pairs of words are features of a column that has at least as many words in all; in less they add noise."""

WORDS_OF_AN_ID = 3
"""Text that is different in every row is an id if its cells have fewer words on average."""

SHARE_OF_NUMBERS = 0.9
"""Share of the cells of a column that must be numbers, finite ones, for the others to count as empty."""

_ID = re.compile(r"(?i:^(?:id|uuid|guid|key|index)$|[ _.-](?:id|uuid|guid|key)$)|[a-z](?:Id|ID)$")
_SIGNS = re.compile(r"^\s*[$€£]\s*|\s*[%€£]\s*$|(?<=\d),(?=\d{3}(?!\d))")
"""Signs of money, of per cent and between thousands, which stand in numbers: $1,250.50 and 12 %."""

_DATE = re.compile(r"\d\D+\d.*\d")
"""Two numbers and more: pandas reads T0001 as a time, and it is an id."""


class Column(NamedTuple):
    """Role of a column ("number", "category", "date", "text", "id" or "left out"), and why it has that, in words.

    `reading` is "others empty" where cells that are no numbers count as empty, "day first" for dates as 03.04.2020.
    """

    name: str
    role: str
    words: str
    reading: str = ""


class LeftOutWarning(UserWarning):
    """A column that may tell something is not made into features."""


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn the columns of a DataFrame into features, the same way for new rows; the module's docstring says how.

    Parameters
    ----------
    columns
        The `columns_` of an encoder that has seen more rows, such as those that a fold leaves out; by default roles
        are found in the table.

    Attributes
    ----------
    columns_
        A `Column` for every column of the table, in its order.
    id_
        The first column of ids, which names the rows, or None.
    transformer_
        The fitted `ColumnTransformer` of numbers, dates and categories.
    vectorizers_
        The fitted `TfidfVectorizer` of every column of text.

    Examples
    --------
    >>> import pandas
    >>> from setloss.io import TableEncoder
    >>> table = pandas.DataFrame({"size": [1.0, 2.0, 4.0, 5.0], "colour": ["red", "red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> [column.role for column in encoder.columns_]
    ['number', 'category']
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour_(other)', 'colour_red']
    """

    def __init__(self, columns: Sequence[Column] | None = None) -> None:
        self.columns = columns

    def fit(self, X: DataFrame, y: Any = None) -> TableEncoder:
        """Choose a role for every column, and fit imputation, scaling and categories.

        Texts (n,), in a list, a Series or an array, are a table of one column, "text".
        """
        X = _as_table(X)
        self.vectorizers_: dict[str, Any] = {}
        columns = self.columns or [Column(str(name), *_role(X[name], str(name))) for name in X.columns]
        self.columns_ = tuple(
            self._with_words(column, _texts(X[column.name])) if column.role == "text" else column
            for column in columns
        )
        if self.columns is None:
            _warn_left_out(self.columns_)
        self.id_ = next(iter(self._named("id")), None)
        self.feature_names_in_ = np.array([column.name for column in self.columns_], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        counts = {name: _texts(X[name]).value_counts() for name in self._named("category")}
        self.categories_ = {name: often[often >= FEWEST_ROWS].index.tolist() for name, often in counts.items()}
        values = self._values(X)
        if not values.shape[1] and not self.vectorizers_:
            told = "; ".join(f"{column.name} ({column.words})" for column in self.columns_)
            raise DatasetError(f"no column of the table can be a feature: {told}")
        filled = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        numbers = [name for name in values if name not in self.categories_]
        one_hot = OneHotEncoder(handle_unknown="ignore")
        steps = [("numbers", filled, numbers), ("categories", one_hot, list(self.categories_))]
        self.transformer_ = ColumnTransformer(steps, verbose_feature_names_out=False).fit(values)
        return self

    def transform(self, X: DataFrame) -> Any:
        """The features (n, d) of rows that have the columns of the table, in any order; CSR where some are text."""
        check_is_fitted(self)
        X = _as_table(X)
        values = self.transformer_.transform(self._values(X))
        if not self.vectorizers_:
            return values
        words = [vectorizer.transform(_texts(X[name])) for name, vectorizer in self.vectorizers_.items()]
        return hstack([csr_array(block) for block in (values, *words)], format="csr")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the features: ``price``, ``city_Paris``, ``sold: weekday``, ``story: oil prices``."""
        check_is_fitted(self)
        names = list(self.transformer_.get_feature_names_out())
        for name, vectorizer in self.vectorizers_.items():
            names += [f"{name}: {words}" for words in vectorizer.get_feature_names_out()]
        return np.array(names, dtype=object)

    def _with_words(self, column: Column, texts: Series[Any]) -> Column:
        """A column of text, whose words are learned; left out where there are none."""
        pairs = texts.str.count(r"\w+").sum() >= WORDS_FOR_PAIRS
        vectorizer = TfidfVectorizer(
            ngram_range=(1, 2 if pairs else 1), min_df=FEWEST_ROWS, max_features=MAX_WORDS, sublinear_tf=True
        )
        try:
            self.vectorizers_[column.name] = vectorizer.fit(texts)
        except ValueError:  # fewer rows than FEWEST_ROWS, or no word in as many
            return column._replace(role="left out", words=f"text without a word of {FEWEST_ROWS} rows")
        if self.columns is not None:
            return column
        more = " and pairs of words" if pairs else ""
        return column._replace(words=f"{len(vectorizer.vocabulary_)} words{more}, by tf-idf{column.words}")

    def _named(self, role: str) -> list[str]:
        return [column.name for column in self.columns_ if column.role == role]

    def _values(self, X: DataFrame) -> DataFrame:
        """Numbers, parts of dates, and texts of categories, NaN and "" where a cell is empty."""
        import pandas

        wanted = [column for column in self.columns_ if column.role not in ("id", "left out")]
        names = [column.name for column in wanted]
        require_names("the table", X.columns, names, "the features of the model (a column of empty cells will do)")
        values: dict[str, Any] = {}
        for name, role, _, reading in wanted:
            if role == "number":
                values[name] = _numbers(X[name])
                if reading != "others empty":
                    _refuse_lost(X[name], np.isnan(values[name]), "numbers")
            elif role == "category":
                texts = _texts(X[name])
                values[name] = texts.where(texts.isin(self.categories_[name]), "(other)").to_numpy(dtype=object)
            elif role == "date":
                dates = _dates(X[name], day_first=reading == "day first")
                _refuse_lost(X[name], dates.isna(), "dates")
                day, week, hour = dates.dt.day_of_year, dates.dt.day_of_week, dates.dt.hour
                parts = {"year": dates.dt.year + day / 366, "day of year": day, "weekday": week, "hour": hour}
                for part, column in parts.items():
                    values[f"{name}: {part}"] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pandas.DataFrame(values, index=X.index)


def _as_table(X: Any) -> Any:
    """A table, of one column for texts (n,)."""
    import pandas

    if is_texts(X):
        return pandas.DataFrame({"text": X})
    if not hasattr(X, "iloc"):
        raise DatasetError(f"a table is a DataFrame, whose columns have names; got {type(X).__name__}")
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()].tolist()
        raise DatasetError(f"the table has several columns named {twice[0]!r}; rename them, or drop all but one")
    return X


# ------------------------------------------------------------------ one column


def _role(column: Series[Any], name: str) -> tuple[str, ...]:
    """The role of a column, why in words, and how its cells are read if that needs a word."""
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
    if others <= (1 - SHARE_OF_NUMBERS) * len(present) or (types.is_numeric_dtype(column) and others < len(present)):
        if _ID.search(name) and different == len(column) and types.is_integer_dtype(column):
            return "id", "different in every row"
        lost = f", {others} that are no finite numbers count as empty" if others else ""
        return "number", f"number{empty}{lost}", "others empty" if others else ""
    if not isinstance(present.iloc[0], str):
        return "left out", f"values of type {type(present.iloc[0]).__name__}"
    return _role_of_text(present, different, empty)


def _role_of_text(present: Series[Any], different: int, empty: str) -> tuple[str, ...]:
    if present.str.contains(_DATE).all():
        month_first, day_first = (_dates(present, day_first=day).notna() for day in (False, True))
        reading = "day first" if day_first.sum() > month_first.sum() else ""
        if (day_first if reading else month_first).all():
            return "date", f"year, day of the year, weekday, hour, read from text{empty}", reading
    if different <= min(MAX_CATEGORIES, len(present) / 2):
        return "category", f"{different} {'category' if different == 1 else 'categories'}{empty}"
    words = present.astype(str).str.count(r"\w+").mean()
    if different == len(present) and not empty and words < WORDS_OF_AN_ID:
        return "id", "different in every row"
    return "text", empty


def _warn_left_out(columns: Sequence[Column]) -> None:
    """Name the columns that may tell something and are not used."""
    lost = [column for column in columns if column.role == "left out"]
    told = "; ".join(f"{shown(c.name)} ({c.words})" for c in lost if not c.words.startswith(("empty", "always")))
    if told:
        warnings.warn(
            f"columns of the table that are not used: {told}; make numbers, text or categories of them, or drop them",
            LeftOutWarning,
            stacklevel=3,
        )


def _numbers(column: Series[Any]) -> NDArray[np.float64]:
    """The numbers of a column, NaN where a cell is none, or beyond `LARGEST`."""
    import pandas

    if pandas.api.types.is_datetime64_any_dtype(column):
        return np.full(len(column), np.nan)
    numbers = pandas.to_numeric(column, errors="coerce")
    odd = numbers.isna() & column.map(lambda cell: isinstance(cell, str))
    if odd.any():
        plain = column[odd].astype(str).str.replace(_SIGNS, "", regex=True)
        numbers = numbers.astype(np.float64).where(~odd, pandas.to_numeric(plain, errors="coerce"))
    values: NDArray[np.float64] = numbers.to_numpy(np.float64, na_value=np.nan)
    return np.where(np.abs(values) > LARGEST, np.nan, values)


def _texts(column: Series[Any]) -> Series[Any]:
    """The cells of a column as text, "" where one is empty."""
    return column.astype(object).where(column.notna(), "").astype(str)


def _refuse_lost(column: Series[Any], lost: Any, what: str) -> None:
    """Refuse a cell that is neither empty nor of the kind that the model was trained on."""
    strange = column[column.notna() & lost]
    if len(strange):
        cell = shown(str(strange.iloc[0]))
        raise DatasetError(f"column {shown(str(column.name))} holds {cell} where the model knows {what}; correct it")


def _dates(column: Series[Any], *, day_first: bool) -> Series[Any]:
    """The column as dates without a time zone, missing where a cell is none; a number is no date."""
    import pandas

    if not pandas.api.types.is_datetime64_any_dtype(column):
        column = column.where(np.isnan(_numbers(column)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it cannot tell a format
        return pandas.to_datetime(column, errors="coerce", dayfirst=day_first, utc=True).dt.tz_localize(None)
