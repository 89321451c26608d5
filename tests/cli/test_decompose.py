"""``setloss decompose`` and ``setloss check``: JSON against the library, words for people."""

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
    "--loss curve4 --size 9": PAPER_CURVES["curve4"].on_counts(9, 0),
    "--knots 0:0,0.25:1,1:1 --size 12": CostCurve(((0, 0), (0.25, 1), (1, 1))).on_counts(12, 0),
    "--knots 0:0,1/3:1/2,1:1 --size 6": CostCurve(((0, 0), (1 / 3, 0.5), (1, 1))).on_counts(6, 0),
}


# ------------------------------------------------------------------ JSON


@pytest.mark.parametrize("source", SOURCES)
def test_json_is_what_the_library_says(source):
    answer = setloss.decompose(SOURCES[source])
    document = parsed(f"decompose {source} --json")
    assert list(document) == ["loss", "submodular", "supermodular", "certificate"]
    for part in ("loss", "submodular", "supermodular"):
        np.testing.assert_array_equal(document[part], getattr(answer, part).table)
    assert document["certificate"] == asdict(answer.certificate) | {"gap": answer.certificate.gap, "holds": True}
    found = parsed(f"check {source} --json")["verdicts"]
    expected = {law: asdict(verdict) for law, verdict in verdicts(SOURCES[source]).items()}
    assert found == json.loads(json.dumps(expected, default=lambda value: value.item()))


# ------------------------------------------------------------------ files

CURVE = np.array([0.0, 0.0, 0.5, 0.5, 2.0])
GRID = np.array([[0.0, 0.2, 0.3], [0.5, 0.6, 0.7]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "npy"])
@pytest.mark.parametrize(
    ("values", "function"), [(CURVE, SetFunction.symmetric(CURVE)), (GRID, SetFunction.from_table(GRID))]
)
def test_tables_keep_the_shape_of_their_file(folder, suffix, values, function):
    if suffix == "csv":
        np.savetxt("t.csv", np.atleast_2d(values), delimiter=",", fmt="%.17g")
    else:
        np.save("t.npy", values)
    document = parsed(f"decompose --table t.{suffix} --json")
    answer = setloss.decompose(function)
    np.testing.assert_array_equal(document["loss"], values)
    np.testing.assert_array_equal(document["supermodular"], answer.supermodular.table.reshape(values.shape))
    found = parsed(f"check --table t.{suffix} --json")["verdicts"]
    assert {law: v["holds"] for law, v in found.items()} == {k: bool(v) for k, v in verdicts(function).items()}


def test_one_column_and_byte_order_marks_and_blank_lines_and_spaces(folder):
    Path("t.csv").write_text("\ufeff0\n 0\n\n0.5 \n0.5\n2\n\n", encoding="utf-8")
    assert parsed("decompose --table t.csv --json")["loss"] == CURVE.tolist()


# ------------------------------------------------------------------ for people


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("decompose --loss curve4 --size 10", ["7 0.725 -0.100 0.825", "certified by symmetric closed form"]),
        ("decompose --loss dice --pos 5 --neg 7", ["loss l", "submodular f", "supermodular g", "5 FN 1.000"]),
        ("decompose --table t.npy", ["t.npy, 4 elements"]),
        ("check --loss dice --pos 5 --neg 7", ["submodular no by 0.0952: adding 4 to {0, 1, 2} gains", "yes proved"]),
    ],
)
def test_people_read_values_certificates_and_witnesses(folder, command, words):
    np.save("t.npy", CURVE)
    output = " ".join(run(command).stdout.split())
    assert all(part in output for part in words)


@pytest.mark.parametrize("source", ["--loss dice --pos 400000 --neg 3000", "--loss curve2 --size 1000000"])
def test_long_tables_are_abridged_to_a_screen(source):
    output = run(f"decompose {source}").stdout
    assert "(abridged)" in output
    assert len(output.splitlines()) < 50
    assert max(map(len, output.splitlines())) <= 80


# ------------------------------------------------------------------ limits and failures


def test_json_has_a_limit_and_says_it():
    sentence = complaint("decompose", "--loss", "dice", "--pos", 500_000, "--neg", 500_000, "--json")
    assert "--json prints at most 1048576 cells, not 250001000001" in sentence
    assert "leave --json out" in sentence


def test_a_table_out_of_range_is_refused_with_the_unit_to_round_to(folder):
    np.save("t.npy", [[0, 1e-10, 0], [0, 0, 3], [1, 0, 9]])
    assert "span at most 1e+08" in complaint("decompose", "--table", "t.npy")
    assert "round its values to multiples of 1e-06" in complaint("decompose", "--table", "t.npy")


def test_unexpected_errors_are_not_swallowed(monkeypatch):
    def fail(function):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(setloss, "decompose", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run("decompose --loss curve1 --size 4")


# ------------------------------------------------------------------ plots


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_writes_a_figure_beside_the_json(folder, suffix):
    pytest.importorskip("matplotlib")
    arguments = ["decompose", "--loss", "curve2", "--size", "10", "--plot", f"out.{suffix}"]
    assert parsed(*arguments, "--json")["loss"][0] == 0
    magic = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert Path(f"out.{suffix}").read_bytes().startswith(magic)
    assert f"figure written to out.{suffix}" in run(*arguments).stdout


def test_bad_plot_paths(folder):
    dice = ("decompose", "--loss", "dice", "--pos", 2, "--neg", 2, "--plot")
    assert "--plot: there is no directory none" in complaint(*dice, "none/out.png")
    assert "--plot writes .png, .pdf, .svg files; got out.bmp" in complaint(*dice, "out.bmp")
    assert "--plot writes .png, .pdf, .svg files; got out" in complaint(*dice, "out")
    Path("dir.png").mkdir()
    assert "--plot: dir.png cannot be written" in complaint(*dice, "dir.png")


def test_plots_need_matplotlib_and_say_so(folder, monkeypatch):
    monkeypatch.setattr("setloss.plots.find_spec", lambda name: None)
    assert "install" in complaint("decompose", "--loss", "curve1", "--size", 4, "--plot", "out.png")
