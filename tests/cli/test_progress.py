"""What long commands say while they work, and what Ctrl-C does to them between the iterations."""

import logging
import signal
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from helpers.command_line import run
from helpers.waiting import until
from setloss.cli.progress import TELLS_OF_WAITS, TrainingProgress, Waiting, WorkProgress
from setloss.estimators import SetClassifier
from setloss.solvers import Record


@pytest.fixture
def ctrl_c_is_heard():
    """The handler of a terminal; in the background of a shell, and so for its children, SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def said_in_the_end(capsys, words):
    """Wait until standard error has the words."""
    shown = []
    until(lambda: shown.append(capsys.readouterr().err) or words in "".join(shown))


def test_without_a_terminal_lines_say_what_is_under_way(capsys):
    with Waiting("reading songs.csv", seconds_between_lines=0.01) as waiting:
        said_in_the_end(capsys, " gone, reading songs.csv\n")
        waiting.doing("predicting")
        said_in_the_end(capsys, " gone, predicting\n")


def test_a_narrow_terminal_has_one_line(capsys):
    watch = TrainingProgress(1e-3)
    watch.doing("learning the decision, fold 2 of 5, and so on, wider than the terminal")
    Console(width=45).print(watch._bar.get_renderable())
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("learning the decision")


def test_the_time_left_is_told_once_it_is_known():
    progress = WorkProgress()
    progress.update(0.02, "table1")
    assert "left" not in progress.sentence()
    progress.update(0.5, "table1")
    assert "50%, 0:00 gone, about 0:00 left, table1" in progress.sentence()


def test_a_training_says_which_iteration_and_which_fold_it_is_at(capsys):
    with TrainingProgress(1e-3, seconds_between_lines=0.01) as watch:
        watch(Record(7, 0.1, 1, 2.0, 1.0))
        said_in_the_end(capsys, " gone, iteration 7, gap 5.0e-01 (asked: 1.0e-03)\n")
        logging.getLogger(TELLS_OF_WAITS).info("learning the decision, fold %d of %d", 2, 5)
        said_in_the_end(capsys, " gone, learning the decision, fold 2 of 5\n")
    assert not logging.getLogger(TELLS_OF_WAITS).handlers


def test_held_out_folds_are_counted(caplog):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with caplog.at_level(logging.INFO, TELLS_OF_WAITS):
        SetClassifier(decision="threshold", tol=0.1).fit(X, (X > 0).astype(int))
    folds = [f"learning the decision, fold {fold} of 3" for fold in range(1, 4)]
    said = [record.getMessage() for record in caplog.records if record.name == TELLS_OF_WAITS]
    assert said == [*folds, "learning the decision"]


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_while_data_are_read_or_a_decision_is_learned_does_not_wait():
    with TrainingProgress(1e-3) as watch:
        watch.between_fits("reading songs.csv")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_while_the_decision_is_learned_writes_the_model_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((60, 2))
    np.savez("sets.npz", X=X, Y=(X > 0).astype(int))

    def interrupt(self, *_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SetClassifier, "_learn", interrupt)
        result = run("train", "sets.npz", "--tol", 0.1, "--model", "m.npz", code=130)
    assert "interrupted while the decision was learned; the model goes by the signs of its scores" in result.stderr
    assert Path("m.npz").exists()
    assert len(run("predict", "m.npz", "sets.npz").stdout.splitlines()) == 61


def test_the_features_are_named_so_that_a_column_too_many_is_seen(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((30, 3))
    table = pandas.DataFrame(X, columns=["width", "height", "id"]).assign(is_wide=(X[:, 0] > 0).astype(int))
    table.to_csv("sets.csv", index=False)
    said = run("train", "sets.csv", "--labels", "is_", "--tol", 0.1, "--model", "m.npz").stdout
    assert "3 features (width, height, id), standardised" in said
