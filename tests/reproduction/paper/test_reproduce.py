"""``setloss reproduce``: files and report, JSON, bad input before any work, Ctrl-C."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from helpers import command_line
from helpers.waiting import PATIENCE
from setloss.reproduction.paper import artefact
from setloss.reproduction.paper.artefact import ARTEFACTS, Artefact


def run(*arguments, code=0):
    return command_line.run("reproduce", *arguments, code=code)


def complaint(*arguments):
    return command_line.complaint("reproduce", *arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with two figures, and what was said."""
    out = tmp_path_factory.mktemp("made") / "new" / "results"
    return out, run("figure3", "figure1", "--out", out)


@pytest.fixture
def results(made, tmp_path):
    """A copy of that folder."""
    return shutil.copytree(made[0], tmp_path / "results")


def test_figures_tables_and_report_are_written(made):
    out, result = made
    assert {path.name for path in out.iterdir()} == {
        "figure1.json", "figure1.md", "figure1.png", "figure3.json", "figure3.md", "figure3.png", "report.html",
    }  # fmt: skip
    assert result.stdout.index("Figure 1.") < result.stdout.index("Figure 3.") < result.stdout.index("claims")
    assert "does not hold" in result.stdout
    assert "report.html" in result.stdout


def test_the_same_seed_gives_the_same_files(tmp_path):
    for name in ("a", "b"):
        run("figure1", "--out", tmp_path / name, "--seed", 3)
    first, second = (json.loads((tmp_path / name / "figure1.json").read_text()) for name in ("a", "b"))
    assert first["numbers"] == second["numbers"]
    assert (tmp_path / "a" / "figure1.png").read_bytes() == (tmp_path / "b" / "figure1.png").read_bytes()


def test_json_is_all_that_is_printed(tmp_path):
    result = run("figure1", "--out", tmp_path, "--json")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert list(document["documents"]) == ["figure1"]
    assert document["report"] == str(tmp_path / "report.html")
    verdicts = {claim["claim"]: claim["verdict"] for claim in document["claims"]}
    assert verdicts["Dice is neither submodular nor supermodular"] == "holds"


def test_the_report_is_about_all_that_the_folder_holds(results):
    (results / "report.html").unlink()
    run("figure1", "--out", results)
    text = (results / "report.html").read_text()
    assert 'id="figure1"' in text
    assert 'id="figure3"' in text


# ---------------------------------------------------------------- bad input, before any work


@pytest.fixture
def _no_work(monkeypatch):
    def refuse(name):
        raise AssertionError(f"{name} was begun")

    monkeypatch.setattr(artefact, "artefact_named", refuse)


@pytest.mark.usefixtures("_no_work")
class TestBadInput:
    def test_unknown_names(self, tmp_path):
        words = complaint("figure1", "table9", "--out", tmp_path)
        assert "there is no artefact 'table9'" in words
        assert all(name in words for name in ARTEFACTS)

    def test_a_file_where_the_folder_should_be(self, tmp_path):
        path = tmp_path / "file"
        path.write_text("")
        assert f"--out: {path} cannot be made" in complaint("figure1", "--out", path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_that_cannot_be_written_to(self, tmp_path):
        tmp_path.chmod(0o500)
        assert "cannot be written" in complaint("figure1", "--out", tmp_path)

    def test_a_folder_that_refuses_writing(self, tmp_path, monkeypatch):
        known = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK and known(path, mode))
        assert f"--out: {tmp_path} cannot be written to" in complaint("figure1", "--out", tmp_path)

    def test_missing_data(self, tmp_path):
        nowhere = tmp_path / "nowhere"
        assert f"--data: there is no folder {nowhere}" in complaint("table2", "--out", tmp_path, "--data", nowhere)

    def test_matplotlib_is_missing(self, tmp_path, monkeypatch):
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name))
        assert 'pip install "setloss[plot]"' in complaint("figure1", "--out", tmp_path)

    def test_a_negative_seed(self, tmp_path):
        assert "--seed" in complaint("figure1", "--out", tmp_path, "--seed", -1)


def test_broken_data_is_a_sentence(tmp_path, monkeypatch):
    from setloss.datasets import DatasetError

    def make(settings):
        raise DatasetError("buffy.npz has no y; add it")

    monkeypatch.setattr(artefact, "artefact_named", lambda name: Artefact(name, "t", make))
    assert "buffy.npz has no y; add it" in complaint("table2", "--out", tmp_path)


# ---------------------------------------------------------------- Ctrl-C

INTERRUPTED = """
import sys, time
from setloss.cli import main
from setloss.reproduction.paper import artefact
from setloss.reproduction.paper.artefact import Artefact

def wait(settings):
    try:
        print("waiting", flush=True)
        time.sleep(600)
    except KeyboardInterrupt:  # as the solvers do
        print("swallowed", flush=True)

known = artefact.artefact_named
artefact.artefact_named = lambda name: Artefact(name, name, wait) if name == "table3" else known(name)
sys.argv = ["setloss", "reproduce", "figure1", "table3", "--out", sys.argv[1]]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_keeps_what_was_made(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in the background
    )
    try:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "swallowed" not in out
    assert "interrupted after 1 of 2 artefacts" in err
    assert "Traceback" not in err
    assert (tmp_path / "figure1.png").is_file()
    assert 'id="figure1"' in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("content", ["{", "{}", "[]", "", '{"tables": "x"}', '{"tables": [], "figures": "x"}'])
def test_a_broken_result_in_the_folder_is_a_sentence(tmp_path, content):
    (tmp_path / "figure3.json").write_text(content)
    message = complaint("figure1", "--out", tmp_path)
    assert "figure3.json is not what `setloss reproduce` wrote" in message
    assert not (tmp_path / "figure1.json").exists()


def test_a_figure_that_is_gone_is_a_sentence(results):
    (results / "figure3.png").unlink()
    assert "figure3.json is not what" in complaint("figure1", "--out", results)
