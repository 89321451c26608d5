"""``setloss predict``: rows by name, with their ids, from all kinds of files, for other losses."""

import io

import numpy as np
import pytest

import setloss
from helpers.command_line import complaint, parsed, run
from helpers.tables import orders
from setloss.io import read_table

pd = pytest.importorskip("pandas")
QUICK = "--method logistic --cv 2 --model m.skops"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables and models trained on them."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        orders().to_csv("orders.csv", index=False)
        run(f"train orders.csv --labels y_ {QUICK.replace('m.skops', 'orders.skops')}")
    return folder


@pytest.fixture
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


def frame_of(*words):
    return pd.read_csv(io.StringIO(run(*words).stdout), dtype=str)


def test_ids_come_first_as_they_are_written(folder):
    found = frame_of("predict orders.skops orders.csv")
    assert list(found.columns) == ["order_id", "y_0", "y_1", "y_2"]
    assert found["order_id"].tolist() == [f"{i:05d}" for i in range(120)]
    expected = setloss.load("orders.skops").predict(read_table("orders.csv"))
    np.testing.assert_array_equal(found[["y_0", "y_1", "y_2"]].astype(int), expected)
    run("predict orders.skops orders.csv --out found.csv")
    assert (folder / "found.csv").read_text() == run("predict orders.skops orders.csv").stdout


def test_new_rows_need_no_labels_and_no_order_of_columns(folder):
    new = orders().drop(columns=["y_0", "y_1", "y_2", "country"]).iloc[:7, ::-1]
    new.assign(city="Atlantis", more="x").to_csv("new.csv", index=False)
    assert len(frame_of("predict orders.skops new.csv")) == 7
    new.drop(columns="order_id").to_csv("nameless.csv", index=False)
    found = frame_of("predict orders.skops nameless.csv --names").fillna("")
    assert list(found.columns) == ["labels", "y_0", "y_1", "y_2"]
    chosen = (found[["y_0", "y_1", "y_2"]] == "1").apply(lambda row: ";".join(row.index[row]), axis=1)
    assert found["labels"].tolist() == chosen.tolist()
    assert chosen.str.contains(";").any()
    new.drop(columns="price").to_csv("less.csv", index=False)
    assert "lacks 'price' of the features of the model" in complaint("predict orders.skops less.csv")
    new.assign(price="dear").to_csv("odd.csv", index=False)
    assert "'price' holds 'dear' where the model knows numbers" in complaint("predict orders.skops odd.csv")


def test_probabilities_and_other_losses(folder):
    chances = frame_of("predict orders.skops orders.csv --probabilities")[["y_0", "y_1", "y_2"]].astype(float)
    model, table = setloss.load("orders.skops"), read_table("orders.csv")
    np.testing.assert_allclose(chances, model.predict_proba(table))
    few = frame_of("predict orders.skops orders.csv --loss tversky:9:0.1").iloc[:, 1:].astype(int)
    many = frame_of("predict orders.skops orders.csv --loss tversky:0.1:9").iloc[:, 1:].astype(int)
    assert few.to_numpy().sum() < many.to_numpy().sum()


def test_bad_input_is_one_sentence(folder):
    assert "is no file" in complaint("predict none.skops orders.csv")
    assert "end in .skops" in complaint("predict orders.csv orders.csv")
    assert "there is no file none.csv" in complaint("predict orders.skops none.csv")
    assert "fit SetDecisionCV()" in complaint("predict orders.skops orders.npz")
    assert "--out writes .csv files" in complaint("predict orders.skops orders.csv --out a.txt")
    assert "would replace" in complaint("predict orders.skops orders.csv --out orders.csv")
    assert "not two" in complaint("predict orders.skops orders.csv --names --probabilities")
    (folder / "broken.skops").write_bytes(b"PK\x03\x04")
    assert "cannot be read as a model" in complaint("predict broken.skops orders.csv")


def test_labels_in_one_cell_from_training_to_names(folder):
    frame = orders().drop(columns=["y_0", "y_1", "y_2"])
    topics = orders()[["y_0", "y_1", "y_2"]].apply(lambda row: "|".join(row.index[row == 1]), axis=1)
    frame.assign(topics=topics).to_csv("cell.csv", index=False)
    said = run(f"train cell.csv --labels topics {QUICK.replace('m.skops', 'cell.skops')}").stdout
    assert f"topics    3 labels, in one cell, with '|' between them; empty cells ({(topics == '').sum()})" in said
    found = frame_of("predict cell.skops cell.csv --names")
    assert list(found.columns) == ["order_id", "labels", "y_0", "y_1", "y_2"]
    chosen = found[["y_0", "y_1", "y_2"]].astype(int)
    np.testing.assert_array_equal(chosen, frame_of("predict orders.skops orders.csv").iloc[:, 1:].astype(int))
    expected = ["|".join(row.index[row == 1]) for _, row in chosen.iterrows()]
    assert found["labels"].fillna("").tolist() == expected
    assert parsed("evaluate cell.skops cell.csv --json") == parsed("evaluate orders.skops orders.csv --json")


def test_tracks_have_no_names_of_labels(folder):
    bags = np.arange(40) // 4
    pd.DataFrame({"group": bags, "a": bags % 2 + 0.1 * np.arange(40) % 1, "label": bags % 2}).to_csv("t.csv")
    run("train t.csv --method logistic --cv 2 --model t.skops")
    assert "--names is for label sets" in complaint("predict t.skops t.csv --names")
    model, frame = setloss.load("t.skops"), read_table("t.csv", text=["group"])
    chances = model[-1].predict_proba(model[:-1].transform(frame), groups=frame["group"])[:, 1]
    assert chances.std() > 0.1
    found = frame_of("predict t.skops t.csv --probabilities")["prediction"].astype(float)
    np.testing.assert_allclose(found, chances)
