"""``python -m experiments reproduce``: files and report, bad input before any work, Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.paper import artefact
from experiments.paper.artefact import ARTEFACTS
from helpers.experiment_commands import complaint, run
from helpers.waiting import PATIENCE

ROOT = Path(__file__).parents[3]


def test_figures_tables_and_report_are_written(tmp_path):
    out = tmp_path / "new" / "results"
    result = run("reproduce", "--only", "figure3", "--out", out)
    run("reproduce", "--only", "figure1", "--out", out)
    assert {path.name for path in out.iterdir()} == {
        "figure1.json", "figure1.md", "figure1.png", "figure3.json", "figure3.md", "figure3.png", "report.md",
    }  # fmt: skip
    assert "does not hold" in result.stdout
    text = (out / "report.md").read_text()  # about all that the folder holds
    assert "## Figure 1. Dice is neither" in text
    assert "## Figure 3. Losses 1 to 4" in text
    (out / "figure3.md").unlink()
    assert "figure3.json is not what" in complaint("reproduce", "--only", "figure1", "--out", out)


def test_bad_input_is_refused_before_any_work(tmp_path, monkeypatch):
    def refuse(name):
        raise AssertionError(f"{name} was begun")

    monkeypatch.setattr(artefact, "maker", refuse)
    words = complaint("reproduce", "--only", "figure1,table9", "--out", tmp_path)
    assert "there is no artefact 'table9'" in words
    assert all(name in words for name in ARTEFACTS)
    assert "there is no folder" in complaint("reproduce", "--out", tmp_path, "--data", tmp_path / "nowhere")
    assert "--seed" in complaint("reproduce", "--out", tmp_path, "--seed", -1)


@pytest.mark.parametrize("content", ["{", "{}", "[]"])
def test_a_broken_result_in_the_folder_is_a_sentence(tmp_path, content):
    (tmp_path / "figure3.json").write_text(content)
    assert "figure3.json is not what" in complaint("reproduce", "--only", "figure1", "--out", tmp_path)
    assert not (tmp_path / "figure1.json").exists()


INTERRUPTED = """
import sys, time
from experiments import __main__
from experiments.paper import artefact

def wait(settings):
    print("waiting", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:  # as solvers do
        print("swallowed", flush=True)

known = artefact.maker
artefact.maker = lambda name: known(name) if name == "figure1" else wait
sys.argv = ["experiments", "reproduce", "--only", "figure1,figure3", "--out", sys.argv[1]]
__main__.main()
"""


def child(*arguments):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )


def test_ctrl_c_keeps_what_was_made(tmp_path):
    process = child("-c", INTERRUPTED, tmp_path)
    try:
        while process.stdout.readline() not in ("waiting\n", ""):
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "swallowed" not in out
    assert "Traceback" not in err
    assert "## Figure 1. Dice is neither" in (tmp_path / "report.md").read_text()
