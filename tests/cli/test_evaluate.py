"""``setloss evaluate``: the loss and F1 of a model beside plain cuts of the same scores, and what it expects."""

import numpy as np
import pytest

import setloss
from helpers.command_line import complaint, parsed, run
from helpers.tables import orders
from setloss import Jaccard
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
        bags = np.arange(200) // 5
        x = np.random.default_rng(0).normal(size=(200, 2)) + (bags % 2)[:, None]
        pd.DataFrame({"group": bags, "a": x[:, 0], "b": x[:, 1], "label": bags % 2}).to_csv("tracks.csv", index=False)
        run("train tracks.csv --method logistic --cv 3 --model tracks.skops")
        run("train tracks.csv --rule sign --tol 1e-2 --model sign.skops")
    return folder


@pytest.fixture
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained)
    return trained


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
    assert (document["loss"], document["trained_for"], document["sets"]) == ("jaccard", "f1", 80)
    assert Jaccard().value(0, 0, 1, 1) == 0


def test_the_same_classifier_is_shown_cut_at_half_and_at_one_threshold(folder):
    document = parsed("evaluate m.skops test.csv --json")
    model, table = setloss.load("m.skops"), read_table("test.csv")
    plain = model[-1].estimator_.predict(model[:-1].transform(table))
    truth = table[["y_0", "y_1", "y_2"]].to_numpy()
    losses = setloss.Dice()(truth.ravel(), plain.ravel(), groups=np.repeat(np.arange(80), 3))
    assert document["rows"]["half"]["loss"] == pytest.approx(losses.mean())
    assert set(document["rows"]) == {"decided", "half", "threshold"}
    words = run("evaluate m.skops test.csv").stdout
    for part in ("as decided", "cut at 1/2", "at one threshold", "F1", "means over 80 sets", "+-"):
        assert part in words


def test_data_without_labels_have_an_expected_score(folder):
    known = parsed("evaluate m.skops test.csv --json")
    pd.read_csv("test.csv").drop(columns=["y_0", "y_1", "y_2"]).to_csv("new.csv", index=False)
    document = parsed("evaluate m.skops new.csv --json")
    assert document["rows"] == {}
    assert document["expected_score"] == known["expected_score"]
    expected = document["expected_score"]
    assert 0 < expected["low"] <= expected["value"] <= expected["high"] < 1
    assert abs(expected["value"] - known["rows"]["decided"]["f1"]) < 0.15
    refused = run("evaluate m.skops new.csv --loss jaccard", code=2)
    assert "leave --loss out" in refused.stderr


def test_tracks(folder):
    document = parsed("evaluate tracks.skops tracks.csv --json")
    assert document["sets"] == 40
    assert document["rows"]["decided"]["loss"] <= document["rows"]["half"]["loss"]
    signs = parsed("evaluate sign.skops tracks.csv --json")
    assert set(signs["rows"]) == {"half"}
    assert signs["expected_score"] is None


def test_bad_input_is_one_sentence(folder):
    assert "tracks" in complaint("evaluate m.skops tracks.csv --group group --label label")
    pd.read_csv("tracks.csv").drop(columns="label").to_csv("bare.csv", index=False)
    assert "has no labels" in complaint("evaluate sign.skops bare.csv")
    pd.read_csv("tracks.csv").drop(columns="group").to_csv("loose.csv", index=False)
    assert "'group'" in complaint("evaluate tracks.skops loose.csv")
