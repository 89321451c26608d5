"""Columns of a real table: what becomes of each, and the same for new rows and from a model file."""

import zipfile
from datetime import time
from decimal import Decimal

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from helpers.tables import orders
from setloss.estimators import SetDecisionCV
from setloss.io import DatasetError, TableEncoder, read, read_table
from setloss.io.encoding import LeftOutWarning
from setloss.io.models import load, save

pd = pytest.importorskip("pandas")
ROWS = 120


ROLES = {
    "order_id": "id",
    "customer": "id",
    "city": "category",
    "price": "number",
    "sold": "date",
    "opened": "date",
    "at": "date",
    "note": "text",
    "vip": "number",
    "rooms": "number",
    "nothing": "left out",
    "country": "left out",
}


@pytest.fixture
def table(tmp_path):
    orders().to_csv(tmp_path / "orders.csv", index=False)
    return read(tmp_path / "orders.csv", labels="y_")


def test_every_column_has_a_role_and_a_reason(table):
    encoder = TableEncoder().fit(table.X)
    assert {column.name: column.role for column in encoder.columns_} == ROLES
    assert all(column.words for column in encoder.columns_)
    assert encoder.id_ == "order_id"
    features, names = encoder.transform(table.X).toarray(), list(encoder.get_feature_names_out())
    assert features.shape == (ROWS, len(names))
    assert np.isfinite(features).all()
    assert {"price", "city_Rome", "sold: weekday", "at: hour", "missingindicator_price", "note: text"} <= set(names)


def test_numbers_are_scaled_and_empty_cells_are_the_median():
    frame = pd.DataFrame({"a": [1.0, 2.0, 9.0, None], "b": [1, 2, 3, 4]})
    features = TableEncoder().fit_transform(frame)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    assert features[3, 0] == features[1, 0]
    np.testing.assert_array_equal(features[:, 2] > 0, [False, False, False, True])


def test_dates_are_read_for_one_row_as_they_were_for_many(table):
    encoder = TableEncoder().fit(table.X)
    every, one = (encoder.transform(rows).toarray() for rows in (table.X, table.X.iloc[[3]]))
    np.testing.assert_allclose(one[0], every[3])
    ambiguous = table.X.assign(opened="03.04.2020")
    place = list(encoder.get_feature_names_out()).index("opened: day of year")
    april = encoder.transform(ambiguous.assign(opened="13.04.2020"))[0, place]
    july = encoder.transform(ambiguous.assign(opened="13.07.2020"))[0, place]
    assert abs(encoder.transform(ambiguous)[0, place] - april) < abs(april - july) / 2
    place = list(encoder.get_feature_names_out()).index("opened: year")
    days = [encoder.transform(table.X.assign(opened=day))[0, place] for day in ("01.02.2020", "30.11.2020")]
    assert days[0] < days[1], "the year goes on from month to month"


def test_dates_that_tell_nothing_of_their_order_begin_with_the_month():
    frame = pd.DataFrame({"day": ["03/04/2020", "05/06/2021", "07/08/2022"], "flag": ["x", None, "x"]})
    encoder = TableEncoder().fit(frame)
    assert [column.role for column in encoder.columns_] == ["date", "category"]  # a mark beside empty cells tells
    assert [column.reading for column in encoder.columns_] == ["", ""]


def test_new_rows_may_have_other_columns_another_order_and_new_categories(table):
    encoder = TableEncoder().fit(table.X)
    rows = table.X.assign(city="Atlantis", more=1)[["more", *reversed(ROLES)]].drop(columns=["country", "order_id"])
    assert np.isfinite(encoder.transform(rows).data).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.drop(columns="price"), "lacks 'price'"),
        (lambda frame: frame.assign(price="dear"), "'price' holds 'dear' where the model knows numbers"),
        (lambda frame: frame.assign(sold="later"), "'sold' holds 'later' where the model knows dates"),
        (lambda frame: frame.assign(price=pd.Timestamp("2020-03-04")), "'price' holds '2020-03-04.* knows numbers"),
        (lambda frame: frame.assign(price=np.inf), "'price' holds 'inf' where the model knows numbers"),
        (lambda frame: frame.assign(price="1e400"), "'price' holds '1e400' where the model knows numbers"),
        (lambda frame: frame.assign(price=1e308), "'price' holds '1e.308' where the model knows numbers"),
        (lambda frame: frame.assign(sold=7), "'sold' holds '7' where the model knows dates"),
        (lambda frame: frame.assign(sold=2.5), "'sold' holds '2.5' where the model knows dates"),
        (lambda frame: frame.assign(opened="20200101"), "'opened' holds '20200101' where the model knows dates"),
        (lambda frame: frame.to_numpy(), "DataFrame.*names; got ndarray"),
        (lambda frame: frame.assign(again=1.0).rename(columns={"again": frame.columns[0]}), "several columns.*drop"),
    ],
)
def test_new_rows_that_do_not_fit_are_told(table, change, words):
    encoder = TableEncoder().fit(table.X)
    with pytest.raises(DatasetError, match=words):
        encoder.transform(change(table.X))


def test_columns_of_another_encoder_keep_their_roles_in_fewer_rows():
    """A fold may lack the one cell that tells what a column holds."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "price": [*map(str, range(39)), "unknown"],
            "day": [*(f"{1 + k % 12:02d}.03.2020" for k in range(39)), "13.03.2020"],
            "code": [*(f"T{k:04d}" for k in range(1, 40)), "T0000"],
            "story": [" ".join(rng.choice(list("abcdef"), 4)) + f" word{k % 5}" for k in range(40)],
        }
    )
    whole = TableEncoder().fit(frame)
    assert [column.role for column in whole.columns_] == ["number", "date", "id", "text"]
    few = TableEncoder(whole.columns_).fit(frame.iloc[:30])
    assert few.columns_ == whole.columns_
    assert np.isfinite(few.transform(frame).data).all()
    last, first = (few.transform(frame.iloc[[row]]).toarray()[0] for row in (39, 0))
    place = list(few.get_feature_names_out()).index("day: day of year")
    assert 0 < last[place] - first[place] < 6  # the 13th of March, not a day of another month
    SetDecisionCV(cv=4).fit(frame, np.arange(40)[:, None] % [2, 3] == 0)


def test_numbers_that_overflow_count_as_empty_and_that_is_said():
    frame = pd.DataFrame({"a": [1.0, 2.0, 1e308, np.inf, 5.0], "b": [1, 2, 3, 4, 6]})
    encoder = TableEncoder().fit(frame)
    assert "2 that are no finite numbers count as empty" in encoder.columns_[0].words
    assert np.isfinite(encoder.transform(frame)).all()


def test_money_and_shares_are_numbers():
    money = ["$1,250.50", "$ 950", "€3", "4 €", "1,000,000", "7"]
    frame = pd.DataFrame(
        {"money": money, "share": ["1%", "2 %", "3%", "50%", "0.5%", None], "b": ["1,25", "2,5"] * 3}
    )
    encoder = TableEncoder().fit(frame)
    assert [column.words for column in encoder.columns_[:2]] == ["number", "number, 1 empty"]
    assert encoder.columns_[2].role != "number", "no decimal commas here"
    order = np.argsort(encoder.transform(frame)[:, 0])
    assert [money[k] for k in order] == ["€3", "4 €", "7", "$ 950", "$1,250.50", "1,000,000"]


def test_categories_of_fewer_than_three_rows_are_not_in_the_model_file(tmp_path):
    frame = pd.DataFrame({"city": ["Rome"] * 9 + ["Oslo"] * 3 + ["Ghent"] * 2 + ["Zadar", None], "x": range(16)})
    model = make_pipeline(TableEncoder(), DecisionTreeClassifier()).fit(frame, np.arange(16) % 2)
    assert {"city_Rome", "city_Oslo", "city_(other)", "x"} == set(model[0].get_feature_names_out())
    save(model, tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"Oslo" in content
    assert b"Ghent" not in content
    assert b"Zadar" not in content
    features = model[0].transform(frame.assign(city="Atlantis"))
    np.testing.assert_array_equal(features, model[0].transform(frame.assign(city="Zadar")))


STORIES = [
    "Oil prices rise",
    "oil prices fall again",
    "wheat harvest is late",
    "the wheat and the oil",
    "wheat prices",
]


def test_words_of_three_rows_are_features_beside_the_other_columns_and_no_others_are_stored(tmp_path):
    frame = pd.DataFrame({"story": [*STORIES, None], "size": range(6)})
    encoder = TableEncoder().fit(frame)
    assert list(encoder.get_feature_names_out()) == ["size", "story: oil", "story: prices", "story: wheat"]
    features = encoder.transform(frame)
    assert features.format == "csr"
    np.testing.assert_allclose(np.linalg.norm(features.toarray()[:, 1:], axis=1), [1, 1, 1, 1, 1, 0])
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame, np.arange(6) % 2)
    save(model, tmp_path / "model.skops")
    found = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(found.predict(frame), model.predict(frame))
    assert found[0].columns_ == encoder.columns_
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        assert b"harvest" not in archive.read("schema.json")


def test_a_table_of_nothing_but_text_and_pairs_of_words(monkeypatch):
    monkeypatch.setattr("setloss.io.encoding.WORDS_FOR_PAIRS", 10)
    frame = pd.DataFrame({"story": [f"{story} today {i}" for i, story in enumerate(STORIES * 3)]})
    encoder = TableEncoder().fit(frame)
    assert {"story: oil", "story: oil prices"} <= set(encoder.get_feature_names_out())
    words = dict(
        zip(encoder.get_feature_names_out(), encoder.transform(frame[:1] + " oil oil oil").toarray()[0], strict=True)
    )
    assert words["story: oil"] < 3 * words["story: prices"], "a word said four times counts 1 + log 4 times"
    monkeypatch.setattr("setloss.io.encoding.MAX_WORDS", 4)
    assert len(TableEncoder().fit(frame).get_feature_names_out()) == 4
    assert encoder.transform(frame.iloc[:2]).shape == (2, len(encoder.get_feature_names_out()))


def test_months_and_codes_are_no_dates_and_what_is_left_out_is_told():
    frame = pd.DataFrame({"month": ["May", "June"] * 5, "code": ["A1", "B2"] * 5, "list": [[1]] * 10})
    frame["said"] = [f"one{k} two{k} three{k}" for k in range(10)]
    with pytest.warns(
        LeftOutWarning, match=r"'list' \(values of type list\); 'said' \(text without a word of 3 rows"
    ):
        encoder = TableEncoder().fit(frame)
    assert [column.role for column in encoder.columns_] == ["category", "category", "left out", "left out"]


def test_the_types_of_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(rng.choice(list("abc"), 60)),
            "decimal": [Decimal(f"{x:.2f}") for x in rng.normal(size=60)],
            "zone": pd.date_range("2020-01-01", periods=60, freq="h", tz="Europe/Berlin"),
            "integer": pd.array(rng.integers(0, 9, 60), dtype="Int64"),
            "truth": pd.array(rng.integers(0, 2, 60).astype(bool), dtype="boolean"),
            "span": pd.to_timedelta(rng.integers(0, 99, 60), unit="s"),
            "inf": np.where(rng.random(60) < 0.1, np.inf, rng.random(60)),
            "zip": [f"{z:05d}" for z in rng.integers(0, 99999, 60)],
            "time": [time(int(hour), 30) for hour in rng.integers(0, 24, 60)],
            "list": [[1]] * 60,
            "bytes": [b"x", b"y"] * 30,
            "userId": np.arange(60),
        }
    )
    for row, name in enumerate(["category", "zone", "integer", "truth"]):
        frame.loc[row, name] = None
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet")
    with pytest.warns(LeftOutWarning, match="'time'.*'list'.*'bytes'"):
        encoder = TableEncoder().fit(table)
    roles = ["category", "number", "date", *["number"] * 5, *["left out"] * 3, "id"]
    assert [column.role for column in encoder.columns_] == roles
    features = encoder.transform(table)
    assert np.isfinite(features).all()
    np.testing.assert_allclose(encoder.transform(table.iloc[:1]), features[:1])
