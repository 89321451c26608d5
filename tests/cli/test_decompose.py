"""``setloss decompose`` and ``setloss check``: what they print against the library, limits, figures, bad input."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import setloss
from helpers.command_line import complaint, parsed, run
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, verdicts
from setloss.losses import PAPER_CURVES

SOURCES = {
    "--loss dice --pos 5 --neg 7": Dice().on_counts(5, 7),
    "--loss f1 --pos 2 --neg 1": Dice().on_counts(2, 1),
    "--loss Jaccard --pos 3 --neg 4": Jaccard().on_counts(3, 4),
    "--loss hamming --pos 0 --neg 3": Hamming().on_counts(0, 3),
    "--loss tversky:0.3:0.7 --pos 4 --neg 2": Tversky(0.3, 0.7).on_counts(4, 2),
    "--loss fbeta:2 --pos 4 --neg 2": FBeta(2).on_counts(4, 2),
    "--loss curve1 --size 10": PAPER_CURVES["curve1"].on_counts(10, 0),
    "--loss curve4 --size 40": PAPER_CURVES["curve4"].on_counts(40, 0),
    "--knots 0:0,0.25:1,1:1 --size 12": CostCurve(((0, 0), (0.25, 1), (1, 1))).on_counts(12, 0),
    "--knots 0:0,1/3:1/2,1:1 --size 6": CostCurve(((0, 0), (1 / 3, 0.5), (1, 1))).on_counts(6, 0),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_printed_is_what_the_library_says(source):
    function = SOURCES[source]
    answer, lines = setloss.decompose(function), run(f"decompose {source}").stdout.splitlines()
    assert lines[-1] == str(answer.certificate)
    groups, rows = len(function.sizes), [line.split() for line in lines[3:-2]]
    assert [int(count) for count in rows[0][:groups]] == [0] * groups
    assert [int(count) for count in rows[-1][:groups]] == list(function.sizes)
    for row in rows:
        parts = (answer.loss, answer.submodular, answer.supermodular)
        expected = [float(part.at(*map(int, row[:groups]))) for part in parts]
        assert [float(cell) for cell in row[groups:]] == pytest.approx(expected, rel=1e-3, abs=1e-12)
    assert run(f"check {source}").stdout.splitlines()[1:] == [str(verdict) for verdict in verdicts(function).values()]


@pytest.mark.parametrize("source", SOURCES)
def test_json_is_what_the_library_says(source):
    answer, document = setloss.decompose(SOURCES[source]), parsed(f"decompose {source} --json")
    for part in ("loss", "submodular", "supermodular"):
        np.testing.assert_array_equal(document[part], getattr(answer, part).table)
    assert document["certificate"] == asdict(answer.certificate) | {"gap": answer.certificate.gap, "holds": True}
    expected = {law: asdict(verdict) for law, verdict in verdicts(SOURCES[source]).items()}
    found = parsed(f"check {source} --json")["verdicts"]
    assert found == json.loads(json.dumps(expected, default=lambda value: value.item()))


@pytest.mark.parametrize("values", [np.array([0, 0, 0.5, 0.5, 2]), np.array([[0.0, 0.2, 0.3], [0.5, 0.6, 0.7]])])
def test_tables_come_from_files(tmp_path, monkeypatch, values):
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", np.atleast_2d(values), delimiter=",", fmt="%.17g")
    document, answer = parsed("decompose --table t.csv --json"), setloss.decompose(SetFunction.from_table(values))
    np.testing.assert_array_equal(document["loss"], values)
    np.testing.assert_array_equal(document["supermodular"], answer.supermodular.table)
    assert run("decompose --table t.csv").stdout.startswith("l = f + g for t.csv")


def test_json_has_a_limit_and_says_it():
    said = complaint("decompose --loss dice --pos 500000 --neg 500000 --json")
    assert "--json prints at most 1048576 values, not 250001000001" in said


@pytest.mark.parametrize("source", ["--loss dice --pos 400000 --neg 3000", "--loss curve2 --size 1000000"])
def test_long_tables_are_abridged_to_a_screen(source):
    lines = run(f"decompose {source}").stdout.splitlines()
    assert lines[0].endswith("(abridged)")
    assert len(lines) < 50
    assert max(map(len, lines[:-1])) <= 80
    assert "(abridged)" not in run("decompose --loss curve2 --size 19").stdout


def test_what_takes_too_much_is_one_sentence():
    assert "Use fewer elements" in complaint("decompose --loss tversky:1:0.1 --pos 54 --neg 54")


def test_unexpected_errors_are_not_swallowed(monkeypatch):
    def fail(function):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(setloss, "decompose", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("decompose --loss curve1 --size 4")


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_writes_a_figure(tmp_path, monkeypatch, suffix):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    said = run(f"decompose --loss curve2 --size 10 --plot out.{suffix}").stdout
    magic = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert Path(f"out.{suffix}").read_bytes().startswith(magic)
    assert f"figure written to out.{suffix}" in said


def test_figures_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dice = "decompose --loss dice --pos 2 --neg 2 --plot"
    assert "--plot: none/out.png cannot be written; give" in complaint(f"{dice} none/out.png")
    for name in ("out.bmp", "out"):
        assert f"--plot writes .png, .pdf, .svg files; got {name}" in complaint(f"{dice} {name}")
    Path("dir.png").mkdir()
    assert "--plot: dir.png cannot be written" in complaint(f"{dice} dir.png")
    monkeypatch.setattr("setloss.plots.find_spec", lambda name: None)
    assert "install" in complaint("decompose", "--loss", "curve1", "--size", 4, "--plot", "out.png")


BAD_OPTIONS = {
    "": "give one of --loss, --knots and --table",
    "--loss dice --knots 0:0,1:1": "give one of --loss, --knots and --table",
    "--loss dise --pos 1 --neg 1": "there is no loss 'dise'; the names are dice, f1, jaccard",
    "--loss dice": "dice needs these numbers of elements: --pos and --neg; got none",
    "--loss dice --pos 5 --neg 7 --size 12": "--pos and --neg; got --pos and --neg and --size",
    "--loss dice --pos 5 --neg -7": "--neg",
    "--loss dice --pos 0 --neg 0": "at least one element",
    "--loss dice --pos 1.5 --neg 7": "--pos",
    "--loss dice --pos 999999999999 --neg 1": "10000000",
    "--loss tversky:1 --pos 5 --neg 7": "tversky:FP:FN",
    "--loss tversky:-1:1 --pos 5 --neg 7": "false positive must be a number >= 0; got -1",
    "--loss tversky:1:x --pos 5 --neg 7": "'x'",
    "--loss fbeta:-2 --pos 5 --neg 7": "from 0 to 1e6; got -2",
    "--loss dice:1 --pos 5 --neg 7": "there is no loss 'dice:1'",
    "--loss curve1 --size 10 --pos 5": "--size; got --pos and --size",
    "--loss curve1 --size 0": "--size",
    "--knots 0:0,1:1": "--knots needs these numbers of elements: --size",
    "--knots 0:0,1:1 --size 4 --neg 3": "--size; got --neg and --size",
    "--knots 0:0,1 --size 4": "--knots: '1' is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1",
    "--knots 0:0,x:1,1:1 --size 4": "'x:1' is not share:cost",
    "--knots 0:0,1/0:1,1:1 --size 4": "'1/0:1' is not share:cost",
    "--knots 0:0,1:inf --size 4": "'1:inf' is not share:cost",
    "--knots 0:0,0.5:1 --size 4": "--knots: the shares of the knots must climb from 0 to 1",
    "--knots 0:1,1:1 --size 4": "--knots: l(empty) must be 0",
    "--knots 0:0,1:-1 --size 4": "costs are finite and non-negative",
    "--nonsense": "--nonsense",
}


@pytest.mark.parametrize("command", ["decompose", "check"])
@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_impossible_options(command, options):
    assert BAD_OPTIONS[options] in complaint(command, *options.split())


BAD_CSV = {
    "0,1,2\n1,two,3\n": "'two' to float64 at row 1, column 2",
    "0,1,2\n1,2\n": "columns changed from 3 to 2 at row 2",
    "0,nan,2\n": "the table must be finite; entry (1,) is nan",
    "mistakes,cost\n0,0\n": "cells are numbers, without a header",
    "1,2,3\n": "l(empty) must be 0, this function has l(empty) = 1",
    "0\n": "at least one element",
    b"\x93NUMPY": "no table of costs",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_bad_tables(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    said = complaint("decompose --table t.csv --json")
    assert "t.csv" in said
    assert BAD_CSV[content] in said
    assert "none.csv" in complaint("check --table none.csv")
