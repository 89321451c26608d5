"""``setloss train``: what is trained without options and with them, real tables, bad input, the report."""

import logging
import signal

import numpy as np
import pytest

import setloss
from helpers.command_line import complaint, parsed, run
from helpers.tables import orders
from setloss.cli.train import LinearOptions, TrainingOptions, estimator_for

pd = pytest.importorskip("pandas")


LABELS = ["y_0", "y_1", "y_2"]
SETS = "train sets.csv --labels y_ --model m.skops"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with tables of label sets, of tracks and of orders, and tables that nothing can be learned from."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    X[rng.random(X.shape) < 0.02] = np.nan  # empty cells are imputed
    sets = pd.DataFrame(X, columns=list("abcd")).join(pd.DataFrame(Y, columns=LABELS))
    sets.to_csv("sets.csv", index=False)
    bags = np.arange(60) // 4
    x = rng.normal(size=(60, 2)) + (bags % 2)[:, None]
    frames = pd.DataFrame({"track": bags, "a": x[:, 0], "b": x[:, 1], "label": bags % 2})
    frames.to_csv("tracks.csv", index=False)
    orders().to_csv("orders.csv", index=False)
    pd.DataFrame({"x": range(9), "y_0": 1}).to_csv("all.csv", index=False)
    pd.DataFrame({"x": "same", "y_0": [0, 1, 0]}).to_csv("bare.csv", index=False)
    orders().assign(y_0=None).to_csv("empty.csv", index=False)
    orders().assign(y_0=[0, 1, None] * 40).to_csv("holes.csv", index=False)
    return tmp_path


QUICK = "--method logistic --cv 2 --model m.skops"


def test_without_options_it_is_the_decision_of_the_front_page(folder, monkeypatch):
    from setloss import estimators

    asked = []

    class Noted(estimators.SetDecisionCV):
        def fit(self, *data, **more):
            asked.append((self.estimator, self.loss, self.rule, self.cv, sorted(more)))
            raise ValueError("enough")

    monkeypatch.setattr(estimators, "SetDecisionCV", Noted)
    complaint(SETS)
    complaint("train tracks.csv --group track --model m.skops")
    assert asked == [(None, "f1", "auto", 5, given) for given in (["y"], ["groups", "y"])]


def test_the_report_says_what_became_of_columns_the_classifier_the_rule_and_what_to_do_next(folder):
    said = run(f"train orders.csv --labels y_ {QUICK}").stdout
    assert "order_id  id: different in every row; names the rows of predictions" in said
    assert "customer  id: different in every row; left out" in said
    assert all(f"  {name}" in said for name in orders().columns[:12])
    model, frame = setloss.load("m.skops"), pd.read_csv("orders.csv")
    assert model.score(frame, frame[LABELS].to_numpy()) > 0.7
    lines = {line[:10].strip(): line[12:] for line in said.splitlines()}
    decision = model[-1].decision_
    assert lines["trained on"].startswith("120 sets, ")
    assert "logistic regression, C = 1.0" in lines["classifier"]
    assert lines["rule"].startswith(f"{decision.rule_name_}: ")
    held_out = {rule: f"{1 - loss:.4f}" for rule, (loss, _) in decision.rule_losses_.items()}
    assert lines["held out"].startswith(f"F1 {held_out[decision.rule_name_]} +- ")
    assert lines["held out"].endswith(f"threshold 1/2 {held_out['half']}, the best threshold {held_out['threshold']}")
    assert "setloss evaluate m.skops" in lines["next"]


def test_missing_labels_are_left_out_label_by_label(folder):
    run("train holes.csv --labels y_ --cv 2 --model m.skops")
    frame, model = pd.read_csv("holes.csv"), setloss.load("m.skops")
    assert model[-1].score(model[:-1].transform(frame), frame[["y_0", "y_1", "y_2"]]) > 0.6


def test_a_label_of_one_class_trains_and_is_named(folder):
    orders().assign(y_3=0).to_csv("constant.csv", index=False)
    assert "y_3       label: always 0, and predicted so" in run(f"train constant.csv --labels y_ {QUICK}").stdout
    assert not setloss.load("m.skops").predict(pd.read_csv("constant.csv"))[:, 3].any()


def test_progress_names_classifiers_and_folds_in_plain_words(folder, caplog):
    with caplog.at_level(logging.INFO, "setloss"):
        run(f"train orders.csv --labels y_ {QUICK}")
    scorer = "logistic regression, C = 1.0"
    assert caplog.messages[:3] == [f"{scorer}: fold {k} of 2" for k in (1, 2)] + [
        f"{scorer}: final fit on all 120 sets"
    ]


def test_the_papers_own_model_goes_by_signs(folder):
    document = parsed(f"{SETS} --rule sign --method bd --scale 2 --C 0.1 --tol 1e-2 --json")
    assert (document["status"], document["rule"]) == ("converged", "sign")
    assert document["gap"] <= 1e-2
    model = setloss.load("m.skops")[-1]
    assert (type(model).__name__, model.operator, model.scale, model.C) == ("SetClassifier", "bd", 2.0, 0.1)
    model, table = setloss.load("m.skops"), pd.read_csv("sets.csv")
    judged = parsed("evaluate m.skops sets.csv --json")
    assert judged["rows"]["decided"]["loss"] == pytest.approx(1 - model.score(table, table[LABELS].to_numpy()))
    assert (list(judged["rows"]), judged["expected_score"]) == (["decided"], None)
    run("predict m.skops sets.csv --out found.csv")
    np.testing.assert_array_equal(pd.read_csv("found.csv"), model.predict(table))
    assert "which are no probabilities" in complaint("predict m.skops sets.csv --probabilities")
    assert "--loss is for models that decide" in complaint("evaluate m.skops sets.csv --loss jaccard")
    assert "goes by the signs of its scores" in complaint("evaluate m.skops sets.csv --plot p.png")


def test_linear_models_of_tracks_and_several_costs(folder):
    tracks = "train tracks.csv --group track --cv 2 --tol 1e-2 --model m.skops"
    run(f"{tracks} --rule sign --C 0.1,1")
    assert setloss.load("m.skops")[-1].C_ in (0.1, 1.0)
    run(f"{tracks} --method hinge")
    said = run("predict m.skops tracks.csv").stdout
    assert len(said.splitlines()) == 61
    pd.read_csv("tracks.csv").rename(columns={"track": "bag"}).to_csv("renamed.csv", index=False)
    assert run("predict m.skops renamed.csv --group bag").stdout == said


def test_a_limit_before_the_gap_ends_in_4_with_a_model(folder):
    result = run(f"{SETS} --rule sign --max-iter 1 --tol 1e-9 --C 100", code=4)
    assert "raise --max-iter or --max-time, or lower C" in result.stderr
    assert setloss.load("m.skops")[-1].n_iter_ >= 1


def test_tracks_losses_with_parameters_and_cost_curves(folder):
    run(f"train tracks.csv --group track --knots 0:0,1/2:1,1:1 {QUICK}")
    assert setloss.load("m.skops")[-1].loss == setloss.CostCurve(((0, 0), (0.5, 1), (1, 1)))
    predicted = run("predict m.skops tracks.csv").stdout.splitlines()
    assert predicted[0] == "track,prediction"
    assert len(predicted) == 61
    run(f"{SETS} --loss tversky:0.3:0.7 --average macro --method logistic --cv 2")
    model = setloss.load("m.skops")
    assert (model[-1].loss, model[-1].average) == (setloss.Tversky(0.3, 0.7), "macro")


@pytest.mark.parametrize("method", ["slack", "bd", "hinge", "logistic", "trees"])
@pytest.mark.parametrize("label_sets", [True, False])
def test_methods_give_classifiers_of_their_kind(method, label_sets):
    options = TrainingOptions(method, "half", 3, "macro", 2)
    model = estimator_for(options, LinearOptions(C="0.1,1"), "jaccard", label_sets)
    assert (model.loss, model.rule, model.cv, model.average, model.n_jobs) == ("jaccard", "half", 3, "macro", 2)
    logistic = "LabelwiseClassifier" if label_sets else "LogisticRegression"
    kinds = {"logistic": logistic, "trees": "ExtraTreesClassifier"}
    scorer = model.estimator[-1] if isinstance(model.estimator, list) else model.estimator
    assert type(scorer).__name__ == kinds.get(method, "SetClassifier")
    assert getattr(scorer, "operator", method) == method
    assert getattr(scorer, "C", 1.0) == 1.0
    assert method != "trees" or scorer.n_jobs == 2


BAD = {
    "train sets.csv --labels y_ --model m.npz": "--model writes .skops files",
    "train sets.csv --labels y_ --model none/m.skops": "none/m.skops cannot be written; give",
    "train none.csv --model m.skops": "there is no file none.csv",
    "train none.npz --model m.skops": "numpy.load",
    "train sets.csv --labels y_ --method best --model m.skops": "'best' is not one of 'slack', 'margin'",
    "train sets.csv --labels y_ --method trees --C 2 --model m.skops": "are for --method slack",
    "train sets.csv --labels y_ --method trees --rule sign --model m.skops": "--rule half",
    "train sets.csv --labels y_ --method slack --C x --model m.skops": "--C is a positive number",
    "train sets.csv --labels y_ --method slack --C 0 --model m.skops": "'C' parameter",
    "train sets.csv --labels y_ --rule sign --max-iter 0 --model m.skops": "max_iter",
    "train sets.csv --labels y_ --rule sign --promise 0.8 --model m.skops": "leave out --rule sign",
    f"{SETS} --promise 90": "--promise",
    f"{SETS} --promise 0.8 --confidence 90": "--confidence",
    f"{SETS} --promise 0.8 --average macro": "--average",
    f"{SETS} --promise -0.5 --method logistic --cv 2": "--promise",
    f"{SETS} --confidence 0.8": "--promise",
    f"{SETS} --cv 1": "'--cv'",
    "train sets.csv --labels y_ --rule best --method logistic --cv 2 --model m.skops": "'best'",
    "train sets.csv --labels y_ --loss dise --model m.skops": "there is no loss 'dise'",
    "train orders.csv --model m.skops": "'group'",
    "train orders.csv --labels z_ --model m.skops": "'z_' of --labels;",
    "train tracks.csv --model m.skops": "'group' of --group",
    "train empty.csv --labels y_ --model m.skops": "'y_0' is missing everywhere; fill it, or leave it out",
    "train all.csv --labels y_ --model m.skops": "only one class",
    "train bare.csv --labels y_ --model m.skops": "no column of the table can be a feature",
    "train holes.csv --labels y_ --method trees --model m.skops": "y has missing labels",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_sentence(folder, words):
    assert BAD[words] in complaint(words)


def test_the_data_file_is_not_replaced(folder):
    (folder / "m.skops").symlink_to(folder / "sets.csv")
    assert "would replace" in complaint(SETS)


class Interrupting(logging.Handler):
    """Ends the process at a line of progress, as Ctrl-C does."""

    def emit(self, record):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background has not
        signal.raise_signal(signal.SIGINT)


def test_interrupted_it_leaves_the_model_that_was_there(folder):
    (folder / "m.skops").write_text("older")
    logger, handler = logging.getLogger("setloss"), Interrupting()
    logger.addHandler(handler)
    try:
        run(SETS, code=130)
    finally:
        logger.removeHandler(handler)
    assert (folder / "m.skops").read_text() == "older"
