"""``python -m experiments reproduce``: files and report, bad input before any work, Ctrl-C."""

import signal
import sys
from contextlib import suppress

import pytest

from experiments.__main__ import main
from experiments.paper import artefact
from experiments.paper.claims import findings
from helpers.experiment_commands import complaint, run


def test_figures_tables_and_report_are_written(tmp_path):
    out = tmp_path / "new" / "results"
    run("reproduce", "--only", "figure3", "--out", out)
    result = run("reproduce", "--only", "figure1", "--seed", 7, "--out", out)
    files = {f"{figure}.{ending}" for figure in ("figure1", "figure3") for ending in ("json", "md", "png")}
    assert {path.name for path in out.iterdir()} == files | {"report.md"}
    assert "does not hold" in result.stdout
    text = (out / "report.md").read_text()  # about all that the folder holds
    assert "## Figure 1. Dice is neither submodular nor supermodular\n\n![Loss that" in text
    assert "Made by `python -m experiments reproduce --only figure1 --seed 7` in" in text
    assert "## Figure 3. Losses 1 to 4" in text
    numbers = {name: entry["numbers"] for name, entry in artefact.read(out).items()}
    assert all(one.claim in text and one.evidence in text for one in findings(numbers))
    (out / "figure3.md").unlink()
    assert "figure3.json is not what" in complaint("reproduce", "--only", "figure1", "--out", out)


def test_bad_input_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(artefact, "maker", lambda name: pytest.fail(f"{name} was begun"))
    assert "there is no artefact 'table9'" in complaint("reproduce", "--only", "figure1,table9", "--out", tmp_path)
    assert "there is no folder" in complaint("reproduce", "--out", tmp_path, "--data", tmp_path / "nowhere")
    (tmp_path / "figure3.json").write_text("{}")
    assert "figure3.json is not what" in complaint("reproduce", "--only", "figure1", "--out", tmp_path)


def test_ctrl_c_keeps_what_was_made(tmp_path, monkeypatch):
    known = artefact.maker

    def interrupted(settings):
        with suppress(KeyboardInterrupt):  # as solvers do
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("swallowed")

    monkeypatch.setattr(artefact, "maker", lambda name: known(name) if name == "figure1" else interrupted)
    monkeypatch.setattr(sys, "argv", ["", "reproduce", "--only", "figure1,figure3", "--out", str(tmp_path)])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130
    assert "## Figure 1. Dice is neither" in (tmp_path / "report.md").read_text()
