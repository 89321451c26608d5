"""``setloss predict`` and ``setloss evaluate``: rows by name, with their ids, for other losses, and mean losses."""

import io

import numpy as np
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

import setloss
from helpers.command_line import complaint, parsed, run
from helpers.tables import orders
from setloss import Jaccard
from setloss.estimators import SetDecisionCV
from setloss.io import read_table

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with tables and models trained on them."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table = orders(240)
        table.iloc[:160].to_csv("train.csv", index=False)
        table.iloc[160:].to_csv("test.csv", index=False)
        run("train train.csv --labels y_ --method logistic --cv 3 --model m.skops")
        orders().to_csv("orders.csv", index=False)
        run("train orders.csv --labels y_ --method logistic --cv 2 --model orders.skops")
        bags = np.arange(200) // 5
        x = np.random.default_rng(0).normal(size=(200, 2)) + (bags % 2)[:, None]
        pd.DataFrame({"group": bags, "a": x[:, 0], "b": x[:, 1], "label": bags % 2}).to_csv("tracks.csv", index=False)
        run("train tracks.csv --method logistic --cv 3 --model tracks.skops")
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


def test_files_that_predict_cannot_use_are_named(folder):
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
    said = run("train cell.csv --labels topics --method logistic --cv 2 --model cell.skops").stdout
    assert f"topics    3 labels, in one cell, with '|' between them; empty cells ({(topics == '').sum()})" in said
    found = frame_of("predict cell.skops cell.csv --names")
    assert list(found.columns) == ["order_id", "labels", "y_0", "y_1", "y_2"]
    chosen = found[["y_0", "y_1", "y_2"]].astype(int)
    np.testing.assert_array_equal(chosen, frame_of("predict orders.skops orders.csv").iloc[:, 1:].astype(int))
    expected = ["|".join(row.index[row == 1]) for _, row in chosen.iterrows()]
    assert found["labels"].fillna("").tolist() == expected
    assert parsed("evaluate cell.skops cell.csv --json") == parsed("evaluate orders.skops orders.csv --json")


def test_tracks_have_no_names_of_labels(folder):
    assert "--names is for label sets" in complaint("predict tracks.skops tracks.csv --names")
    model, frame = setloss.load("tracks.skops"), read_table("tracks.csv", text=["group"])
    chances = model[-1].predict_proba(model[:-1].transform(frame), groups=frame["group"])[:, 1]
    assert chances.std() > 0.1
    found = frame_of("predict tracks.skops tracks.csv --probabilities")["prediction"].astype(float)
    np.testing.assert_allclose(found, chances)


# -------------------------------------------------------------------- evaluate


def test_losses_are_those_of_the_library(folder):
    document = parsed("evaluate m.skops test.csv --loss jaccard --json")
    table = read_table("test.csv")
    model = setloss.load("m.skops")
    model[-1].set_params(loss=Jaccard())  # the sets of `setloss predict --loss jaccard`
    truth, found = table[["y_0", "y_1", "y_2"]].to_numpy(), model.predict(table)
    both, either = (truth & found).sum(axis=1), (truth | found).sum(axis=1)
    expected = np.where(either == 0, 0.0, 1 - both / np.maximum(either, 1))
    assert document["rows"]["decided"]["loss"] == pytest.approx(expected.mean())
    assert document["rows"]["decided"]["error"] == pytest.approx(expected.std(ddof=1) / np.sqrt(80))
    f1 = np.where(either == 0, 1.0, 2 * both / np.maximum(truth.sum(axis=1) + found.sum(axis=1), 1))
    assert document["rows"]["decided"]["f1"] == pytest.approx(f1.mean())
    assert (document["loss"], document["sets"]) == ("jaccard", 80)


def test_the_same_classifier_is_shown_with_two_thresholds(folder):
    document = parsed("evaluate m.skops test.csv --json")
    model, table = setloss.load("m.skops"), read_table("test.csv")
    features, truth = model[:-1].transform(table), table[["y_0", "y_1", "y_2"]].to_numpy()
    chances = np.column_stack([each[:, 1] for each in model[-1].estimator_.predict_proba(features)])
    assert set(document["rows"]) == {"decided", "half", "threshold"}
    for name, threshold in (("half", 0.0), ("threshold", model[-1].decision_.threshold_)):
        losses = setloss.Dice()(
            truth.ravel(), (logit(chances) > threshold).ravel(), groups=np.repeat(np.arange(80), 3)
        )
        assert document["rows"][name]["loss"] == pytest.approx(losses.mean())
    words = run("evaluate m.skops test.csv").stdout
    for part in ("as decided", "threshold 1/2", "at the best threshold", "F1", "means over 80 sets", "+-"):
        assert part in words


def test_missing_labels_do_not_count(folder):
    table = pd.read_csv("test.csv")
    table.assign(y_0=table["y_0"].where(np.arange(80) % 2 == 0)).to_csv("holes.csv", index=False)
    table.assign(**dict.fromkeys(["y_0", "y_1", "y_2"], np.where(np.arange(80) < 50, table["y_1"], np.nan))).to_csv(
        "fewer.csv", index=False
    )
    model = setloss.load("m.skops")
    for name, sets in (("holes.csv", 80), ("fewer.csv", 50)):
        frame, row = read_table(name), parsed(f"evaluate m.skops {name} --json")
        losses = model[-1].losses(model[:-1].transform(frame), frame[["y_0", "y_1", "y_2"]].to_numpy(float))
        assert row["sets"] == len(losses) == sets
        assert row["rows"]["decided"]["loss"] == pytest.approx(losses.mean())


def test_data_without_labels_have_an_expected_score(folder):
    known = parsed("evaluate m.skops test.csv --json")
    pd.read_csv("test.csv").drop(columns=["y_0", "y_1", "y_2"]).to_csv("new.csv", index=False)
    document = parsed("evaluate m.skops new.csv --json")
    assert document["rows"] == {}
    assert document["expected_score"] == known["expected_score"]
    expected = document["expected_score"]
    assert 0 < expected["low"] <= expected["value"] <= expected["high"] < 1
    assert abs(expected["value"] - known["rows"]["decided"]["f1"]) < 0.15
    assert f"F1 that the model expects: {expected['value']:.4f}, with 90 %" in run("evaluate m.skops new.csv").stdout
    assert "none of the columns of labels 'y_0', 'y_1', 'y_2'" in run("evaluate m.skops new.csv").stderr
    assert "leave --loss out" in complaint("evaluate m.skops new.csv --loss jaccard")


def test_tracks(folder):
    document = parsed("evaluate tracks.skops tracks.csv --json")
    frame, model = pd.read_csv("tracks.csv"), setloss.load("tracks.skops")
    losses = model[-1].losses(model[:-1].transform(frame), frame["label"], groups=frame["group"])
    assert document["rows"]["decided"]["loss"] == pytest.approx(losses.mean())
    assert document["sets"] == len(losses) == 40
    assert document["rows"]["decided"]["loss"] <= document["rows"]["half"]["loss"]


def test_data_that_evaluate_cannot_use_are_named(folder):
    assert "tracks" in complaint("evaluate m.skops tracks.csv --group group --label label")
    assert "holds label sets and the model was trained on tracks" in complaint(
        "evaluate tracks.skops tracks.csv --labels label"
    )
    pd.read_csv("tracks.csv").drop(columns="group").to_csv("loose.csv", index=False)
    assert "'group'" in complaint("evaluate tracks.skops loose.csv")
    table = pd.read_csv("test.csv")
    table.assign(y_0=np.nan, y_1=np.nan, y_2=np.nan).to_csv("unknown.csv", index=False)
    assert "no known label" in complaint("evaluate m.skops unknown.csv")
    price = table[["price", "vip"]].fillna(0.0)
    price.to_csv("price.csv", index=False)
    macro = SetDecisionCV(MultiOutputClassifier(LogisticRegression()), cv=2, average="macro")
    setloss.save(macro.fit(price[["price"]], table[["y_0", "y_1"]]), "macro.skops")
    assert "cannot tell what to expect" in complaint("evaluate macro.skops price.csv")
