"""The commands on data in partitions: numbers against the library, limits, workers, a sentence per bad input."""

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import complaint, interrupted, parsed, run
from helpers.forked import fork_server
from helpers.partitioned import frames, label_sets
from setloss.dask.memory_limit import INTERPRETER, in_bytes
from setloss.estimators import BagClassifier, FeatureScaleWarning, SetClassifier
from setloss.estimators import load as load_model

QUICK = ("--C", "0.1", "--tol", "1e-3", "--no-standardize")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("partitions")
    X, y, groups = frames(bags=60, seed=4)
    X = X * np.array([1, 10, 0.1, 1, 100])
    frame = pd.DataFrame(X, columns=list("abcde")).assign(face=y, bag=groups)
    (folder / "tracks").mkdir()
    frame.iloc[:70].to_parquet(folder / "tracks" / "0.parquet", row_group_size=20)
    frame.iloc[70:].to_parquet(folder / "tracks" / "1.parquet")
    (folder / "arrays").mkdir()
    for name, array in {"X": X, "y": y, "groups": groups}.items():
        np.save(folder / "arrays" / f"{name}.npy", array)
    Z, Y = label_sets()
    (folder / "sets").mkdir()
    np.save(folder / "sets" / "X.npy", Z)
    np.save(folder / "sets" / "y.npy", Y)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(*arguments):
    return parsed(*arguments, "--json")


def test_tracks_within_memory(data, here):
    columns = ("--group", "bag", "--label", "face")
    found = document("train", data / "tracks", *columns, "--memory", "1GB", *QUICK, "--model", "m.skops")
    X, y, groups = (np.load(data / "arrays" / f"{name}.npy") for name in ("X", "y", "groups"))
    with pytest.warns(FeatureScaleWarning):
        local = BagClassifier(C=0.1, tol=1e-3).fit(X, y, groups)
    assert found["status"] == "converged"
    assert found["primal"] == pytest.approx(local.solution_.primal, rel=2e-3)
    assert found["passes"] > 0
    model = load_model("m.skops")
    assert isinstance(model, BagClassifier)
    assert list(model.feature_names_in_) == list("abcde")
    losses = model.losses(pd.DataFrame(X, columns=list("abcde")), y, groups)
    assert found["training_loss"] == pytest.approx(losses.mean())
    evaluated = document("evaluate", "m.skops", data / "tracks", *columns, "--memory", "1GB")
    assert evaluated["losses"]["dice"]["mean"] == pytest.approx(losses.mean())
    assert evaluated["sets"] == len(np.unique(groups))
    run("predict", "m.skops", data / "tracks", *columns, "--memory", "1GB", "--out", "p.csv")
    predicted = pd.read_csv("p.csv")
    assert np.array_equal(predicted["group"], groups)
    assert np.array_equal(predicted["prediction"], model.predict(pd.DataFrame(X, columns=list("abcde"))))


@pytest.mark.parametrize("kind", ["arrays", "sets"])
def test_models_that_decide_for_the_set_are_evaluated_in_partitions_too(data, here, kind):
    if kind == "sets":
        np.savez("whole.npz", X=np.load(data / "sets" / "X.npy"), Y=np.load(data / "sets" / "y.npy"))
    else:
        X, y, groups = (np.load(data / "arrays" / f"{name}.npy") for name in ("X", "y", "groups"))
        np.savez("whole.npz", X=X, y=y, groups=groups)
    document("train", "whole.npz", "--decision", "counts", "--C", "0.1", "--model", "m.npz")
    whole = document("evaluate", "m.npz", "whole.npz")
    parts = document("evaluate", "m.npz", data / kind, "--memory", "1GB")
    for name, row in parts["losses"].items():
        assert row["mean"] == pytest.approx(whole["losses"][name]["mean"])


def test_label_sets_and_scores(data, here):
    found = document("train", data / "sets", "--memory", "1GB", *QUICK, "--model", "m.skops")
    assert found["status"] == "converged"
    model = load_model("m.skops")
    assert isinstance(model, SetClassifier)
    run("predict", "m.skops", data / "sets", "--memory", "1GB", "--scores", "--out", "s.npy")
    assert np.allclose(np.load("s.npy"), model.decision_function(np.load(data / "sets" / "X.npy")))


def test_standardised_features_are_folded_in(data, here):
    from sklearn.preprocessing import StandardScaler

    X, y, groups = (np.load(data / "arrays" / f"{name}.npy") for name in ("X", "y", "groups"))
    local = BagClassifier(C=0.1, tol=1e-6).fit(StandardScaler().fit_transform(X), y, groups)
    options = ("--memory", "1GB", "--standardize", "--C", "0.1", "--tol", "1e-6", "--model", "m.skops")
    columns = ("--group", "bag", "--label", "face")
    for arguments in ((data / "arrays",), (data / "tracks", *columns)):
        found = document("train", *arguments, *options)
        assert found["primal"] == pytest.approx(local.solution_.primal, rel=1e-5)
        names = list("abcde") if columns[0] in arguments else None
        frame = X if names is None else pd.DataFrame(X, columns=names)
        assert found["training_loss"] == pytest.approx(load_model("m.skops").losses(frame, y, groups).mean())


def test_workers_of_this_machine(data, here):
    """A real cluster, started and stopped by each command."""
    fork_server()
    alone = document("train", data / "arrays", "--memory", "1GB", *QUICK, "--model", "alone.skops")
    words = ("--memory", "4GB", "--workers")
    found = document("train", data / "arrays", *words, "2", *QUICK, "--model", "two.skops")
    assert found["primal"] == alone["primal"]
    assert np.array_equal(load_model("two.skops").coef_, load_model("alone.skops").coef_)
    evaluated = document("evaluate", "two.skops", data / "arrays", *words, "1")
    assert evaluated["losses"]["dice"]["mean"] == pytest.approx(found["training_loss"])


def test_ctrl_c_in_a_terminal_does_not_kill_the_workers(data, here):
    endless = ("--C", 1000, "--tol", 0, "--max-iter", 10**8)
    words = ("train", data / "arrays", "--workers", 1, *endless, "--model", "m.npz")
    _, shown = interrupted("iteration 3", *words, everyone=True)
    assert "interrupted after" in shown
    assert load_model("m.npz").coef_.shape == (1, 5)


def test_what_does_not_go_together(data, here):
    train = ("train", data / "arrays", "--model", "m.skops")
    assert "not both" in complaint(*train, "--dask", "tcp://127.0.0.1:1", "--workers", "2")
    assert "their own limits" in complaint(*train, "--dask", "tcp://127.0.0.1:1", "--memory", "1GB")
    assert "--memory" in complaint(*train, "--memory", "much")
    assert "is too little" in complaint(*train, "--memory", "100MB")
    assert "each takes at least 700 MB" in complaint(*train, "--memory", "1GB", "--workers", "2")
    assert "--cv" in complaint(*train, "--memory", "1GB", "--cv", "3")
    assert "svmlight" in complaint(*train, "--memory", "1GB", "--features", "3")
    assert "no solver 'n_slack'" in complaint(*train, "--memory", "1GB", "--solver", "n_slack")
    assert "is a folder; folders are read in partitions, with --memory" in complaint(*train)
    assert "there is no file or folder" in complaint("train", "gone", "--memory", "1GB", "--model", "m.skops")
    assert "--group" in complaint("train", data / "tracks", "--memory", "1GB", "--model", "m.skops")
    run("train", data / "sets", "--memory", "1GB", *QUICK, "--model", "sets.skops")
    for name in ("predict", "evaluate"):
        assert "label sets" in complaint(name, "sets.skops", data / "arrays", "--memory", "1GB")


def test_no_scheduler_answers(data, here, monkeypatch):
    monkeypatch.setattr("setloss.cli.cluster_options.CONNECT_SECONDS", 1)
    said = complaint("train", data / "arrays", "--dask", "tcp://127.0.0.1:9", "--model", "m.skops")
    assert "no scheduler answers at tcp://127.0.0.1:9" in said


def test_bad_values_are_named(data, here):
    (here / "bad").mkdir()
    for name in ("X", "y", "groups"):
        array = np.load(data / "arrays" / f"{name}.npy")
        if name == "X":
            array[3, 2] = np.nan
        np.save(here / "bad" / f"{name}.npy", array)
    said = complaint("train", "bad", "--memory", "1GB", "--model", "m.skops")
    assert "partition 0, row 3: feature 2 is NaN" in said


@pytest.mark.parametrize(("given", "meant"), [("2GB", 2 * 10**9), ("1GiB", 2**30), (5, 5), (2e9, 2 * 10**9)])
def test_amounts_of_memory(given, meant):
    assert in_bytes(given) == meant


@pytest.mark.parametrize("given", ["", "many", 0, -1, None])
def test_amounts_that_are_none(given):
    with pytest.raises(ValueError, match="number of bytes"):
        in_bytes(given)


def test_the_bound_counts_partitions_and_elements():
    from setloss.dask.memory_limit import check_memory
    from setloss.dask.reports import Summary

    found = Summary(1000, None, np.array([0, 1]), 10, 10**6, 1.0, 10**7, ("",))
    assert check_memory(2 * 10**9, (1, 1001), found, steps=True, asked=False)
    assert not check_memory(INTERPRETER + 2 * 10**8, (1, 1001), found, steps=True, asked=False)
    with pytest.raises(ValueError, match='solver="cutting_plane"'):
        check_memory(INTERPRETER + 2 * 10**8, (1, 1001), found, steps=True, asked=True)
    with pytest.raises(ValueError, match="is too little"):
        check_memory(INTERPRETER, (1, 1001), found, steps=False, asked=False)
