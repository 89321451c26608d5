"""Full disks, closed pipes, signals, and paths that are no files: what the commands make of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.generators import make_toy
from helpers.children import ENVIRONMENT
from helpers.command_line import complaint, run
from helpers.forked import program
from helpers.waiting import PATIENCE, until
from setloss import load
from setloss.files import replacing

pytest.importorskip("skops")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with label sets and tracks."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(3)
    X = generator.standard_normal((40, 4))
    np.savez("sets.npz", X=X, Y=(X[:, :3] > 0).astype(np.int8))
    toy = make_toy(25, 4, random_state=1)
    np.savez("tracks.npz", X=toy.X, y=toy.y, groups=toy.groups)
    return tmp_path


def test_sigterm_writes_the_best_model_as_ctrl_c_does():
    from setloss.cli.progress import TrainingProgress
    from setloss.solvers import Record

    before = signal.getsignal(signal.SIGTERM)
    with TrainingProgress(1e-3) as watch:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            watch(Record(1, 0.1, 1, 2.0, 1.0))
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_checkpoint_that_cannot_be_written_is_said_and_the_model_is_written(folder, monkeypatch):
    def full(file, **arrays):
        raise OSError(28, "No space left on device")

    options = ("--checkpoint", "c.npz", "--checkpoint-seconds", 0, "--model", "m.skops")
    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        result = run("train", "sets.npz", *options)
    assert result.stderr.count("the checkpoint c.npz cannot be written (No space left on device)") == 1
    assert Path("m.skops").exists()


# ---------------------------------------------------------------- where output goes


def test_predictions_replace_their_file_in_one_step(folder, monkeypatch):
    run("train", "tracks.npz", "--model", "m.skops")
    Path("p.csv").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["setloss.cli.predict"], "no_formula", lambda cell: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            run("predict", "m.skops", "tracks.npz", "--out", "p.csv")
    assert Path("p.csv").read_text() == "old"
    run("predict", "m.skops", "tracks.npz", "--out", "p.csv")
    assert Path("p.csv").read_text().startswith("group,prediction\n")
    assert not list(Path().glob(".setloss-*"))


def test_ids_that_a_spreadsheet_would_run_get_an_apostrophe():
    from setloss.cli.predict import no_formula

    for text in ("=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-x", "\t=1"):
        assert no_formula(text) == f"'{text}"
    for kept in ("a=1", "-5", "+0.5", "-1e3", "", 7, -7, "x"):
        assert no_formula(kept) == kept


CHECK = [sys.executable, "-m", "setloss.cli", "decompose", "--loss", "dice", "--pos", "40", "--neg", "40", "--json"]


def test_standard_output_on_a_full_disk_is_one_sentence_and_code_1():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(CHECK, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 1
    assert done.stderr == "setloss: standard output cannot be written: No space left on device\n"


def test_closed_streams_are_one_sentence_or_none():
    """As by ``>&-`` and ``2>&-`` in a shell."""
    closed = subprocess.run(
        CHECK, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT, preexec_fn=lambda: os.close(1)
    )
    assert closed.returncode == 1
    assert closed.stderr == "setloss: standard output cannot be written: Bad file descriptor\n"
    silent = subprocess.run(
        [*CHECK[:3], "predict", "none.npz", "none.csv"], capture_output=True, check=False, env=ENVIRONMENT,
        preexec_fn=lambda: os.close(2),
    )  # fmt: skip
    assert (silent.returncode, silent.stdout) == (2, b"")


def test_a_model_without_room_at_its_place_is_written_elsewhere(folder, monkeypatch):
    def full(path):
        if Path(path).resolve().parent == folder.resolve():
            raise OSError(28, "No space left on device")
        return replacing(path)

    monkeypatch.setattr("setloss.io.models.replacing", full)
    monkeypatch.setattr("tempfile.tempdir", str(folder / "elsewhere"))
    (folder / "elsewhere").mkdir()
    said = complaint("train", "sets.npz", "--decision", "sign", "--model", "m.npz")
    assert said.startswith(
        "setloss: --model: m.npz cannot be written: No space left on device; the model was written"
    )
    assert len(load(said.split(" written to ")[1].split(" instead")[0]).coef_) == 3
    (folder / "elsewhere").rename(folder / "gone")
    said = complaint("train", "sets.npz", "--decision", "sign", "--model", "m.npz")
    assert said.endswith("cannot be written: No space left on device\n")


def test_arrays_on_a_full_disk_have_words(folder, monkeypatch):
    """NumPy counts what it has written, and has no word for what happened."""
    run("train", "sets.npz", "--decision", "sign", "--model", "m.npz")

    def full(file, values, **options):
        raise OSError("320 requested and 128 written")

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", full)
        said = complaint("predict", "m.npz", "sets.npz", "--out", "p.npy")
    assert "p.npy cannot be written: 320 requested and 128 written; the disk may be full" in said
    assert not Path("p.npy").exists()


def test_a_reader_that_has_seen_enough_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(CHECK, stdout=write, stderr=subprocess.PIPE, text=True, check=False, env=ENVIRONMENT)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("option", "name"), [("--out", "p.csv"), ("--model", "n.skops")])
def test_a_pipe_is_no_place_for_output(folder, option, name):
    run("train", "sets.npz", "--model", "m.skops")
    os.mkfifo(name)
    command = ("predict", "m.skops", "sets.npz") if option == "--out" else ("train", "sets.npz")
    assert f"{option}: {name} is a pipe; give the name of a file" in complaint(*command, option, name)


SIGN = ("--decision", "sign", "--max-time", 30)


def test_no_output_takes_the_place_of_what_is_read(folder):
    """Also by another name for the same file."""
    assert "--model: sets.npz would replace sets.npz" in complaint("train", "sets.npz", "--model", "sets.npz")
    twice = ("--checkpoint", "c.npz", "--model", "./c.npz")
    assert "--model: c.npz would replace c.npz" in complaint("train", "sets.npz", *twice)
    run("train", "tracks.npz", "--model", "m.npz", *SIGN)
    rows = "\n".join(f"{a},{b}" for a, b in np.load("tracks.npz")["X"].tolist())
    Path("rows.csv").write_text(f"x,y\n{rows}\n")
    Path("link.csv").symlink_to("rows.csv")
    for name in ("rows.csv", "link.csv"):
        assert f"--out: {name} would replace rows.csv" in complaint("predict", "m.npz", "rows.csv", "--out", name)


@pytest.mark.parametrize("command", ["train", "predict", "model"])
def test_pipes_and_long_names_as_input_are_refused_at_once(folder, command):
    os.mkfifo("pipe.npz")
    os.mkfifo("pipe.skops")
    long = "x" * 300
    if command == "train":
        assert "pipe.npz is a pipe" in complaint("train", "pipe.npz", "--model", "m.skops")
        assert "File name too long" in complaint("train", f"{long}.npz", "--model", "m.skops")
        assert "File name too long" in complaint("train", "sets.npz", "--model", f"{long}.skops")
        assert "File name too long" in complaint(
            "train", "sets.npz", "--checkpoint", f"{long}.npz", "--model", "m.skops"
        )
    elif command == "predict":
        run("train", "sets.npz", "--model", "m.skops")
        assert "pipe.npz is a pipe" in complaint("predict", "m.skops", "pipe.npz")
    else:
        assert "pipe.skops is a pipe" in complaint("predict", "pipe.skops", "sets.npz")
        assert "File name too long" in complaint("predict", f"{long}.skops", "sets.npz")


def test_pipes_and_devices_for_tables_are_refused_at_once(folder):
    os.mkfifo("t.csv")
    Path("t.npy").symlink_to("/dev/zero")
    for command in ("decompose", "check"):
        assert "t.csv is a pipe; a table is a file" in complaint(command, "--table", "t.csv")
        assert "t.npy is a device; a table is a file" in complaint(command, "--table", "t.npy")


def test_two_commands_on_one_checkpoint(folder):
    """The second is refused while the first has the file, and the first is not disturbed."""
    train = ("train", "sets.npz", "--decision", "sign", "--checkpoint", "c.npz", "--model")
    endless = (*train, "first.npz", "--tol", 0, "--max-iter", 10**8)
    with Path(os.devnull).open("w") as file, program("setloss.cli", *endless, out=file, err=file) as first:
        until(lambda: Path("c.npz.lock").exists() or not first.is_alive())
        said = complaint(*train, "second.npz")
        os.kill(first.pid, signal.SIGINT)
        first.join(PATIENCE)
    assert "another run is writing the checkpoint c.npz" in said
    assert first.exitcode == 130  # interrupted, not disturbed
    assert Path("first.npz").exists()
    assert not Path("second.npz").exists()
