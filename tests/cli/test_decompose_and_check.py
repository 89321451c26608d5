"""The command line: JSON against the library, words for people, and a sentence for every kind of bad input."""

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import setloss
from helpers.children import printed
from helpers.command_line import complaint, parsed, run
from setloss import CostCurve, Dice, FBeta, Hamming, Jaccard, SetFunction, Tversky, verdicts
from setloss.losses import PAPER_CURVES

HEAVY = ("numba", "torch", "dask", "matplotlib", "sklearn", "scipy.optimize")

SOURCES = {
    "--loss dice --pos 5 --neg 7": Dice().on_counts(5, 7),
    "--loss f1 --pos 2 --neg 1": Dice().on_counts(2, 1),
    "--loss Jaccard --pos 3 --neg 4": Jaccard().on_counts(3, 4),
    "--loss hamming --pos 0 --neg 3": Hamming().on_counts(0, 3),
    "--loss tversky --alpha 0.3 --beta 0.7 --pos 4 --neg 2": Tversky(0.3, 0.7).on_counts(4, 2),
    "--loss fbeta --beta 2 --pos 4 --neg 2": FBeta(2).on_counts(4, 2),
    "--loss curve1 --size 10": PAPER_CURVES["curve1"].on_counts(10, 0),
    "--loss curve4 --size 9": PAPER_CURVES["curve4"].on_counts(9, 0),
    "--knots 0:0,0.25:1,1:1 --size 12": CostCurve(((0, 0), (0.25, 1), (1, 1))).on_counts(12, 0),
    "--knots 0:0,1/3:1/2,1:1 --size 6": CostCurve(((0, 0), (1 / 3, 0.5), (1, 1))).on_counts(6, 0),
}


# ------------------------------------------------------------------ JSON


@pytest.mark.parametrize("source", SOURCES)
def test_decompose_json_is_what_the_library_says(source):
    answer = setloss.decompose(SOURCES[source])
    document = parsed(f"decompose {source} --json")
    assert list(document) == ["loss", "submodular", "supermodular", "certificate"]
    np.testing.assert_array_equal(document["loss"], SOURCES[source].table)
    np.testing.assert_array_equal(document["submodular"], answer.submodular.table)
    np.testing.assert_array_equal(document["supermodular"], answer.supermodular.table)
    certificate = document["certificate"]
    for key in ("rule", "reason", "feasibility", "column_residual", "primal", "dual", "gap", "checked"):
        assert certificate[key] == getattr(answer.certificate, key)
    assert certificate["unique"] is True
    assert certificate["tie_broken"] is False
    assert certificate["holds"] is True


@pytest.mark.parametrize("source", SOURCES)
def test_check_json_is_what_the_library_says(source):
    document = parsed(f"check {source} --json")
    assert list(document) == ["verdicts"]
    expected = verdicts(SOURCES[source])
    assert list(document["verdicts"]) == list(expected)
    for law, verdict in expected.items():
        found = document["verdicts"][law]
        assert set(found) == {"holds", "proved", "excess", "tolerance", "witness"}
        assert found["holds"] is bool(verdict)
        assert (found["excess"], found["tolerance"]) == (verdict.excess, verdict.tolerance)
        assert (found["witness"] is None) == verdict.holds
        if not verdict.holds:
            assert set(found["witness"]) == {"A", "i", "j", "words"}
            assert found["witness"]["A"] == list(verdict.witness.A)
            assert found["witness"]["words"] == str(verdict.witness)


def test_the_shape_of_a_two_group_document_is_false_negatives_by_false_positives():
    document = parsed("decompose --loss dice --pos 5 --neg 7 --json")
    assert np.shape(document["loss"]) == (6, 8)
    assert document["loss"][5][0] == 1.0
    assert document["supermodular"][2][3] == pytest.approx(2 * 1 / (9 * 8))


# ------------------------------------------------------------------ files

CURVE = np.array([0.0, 0.0, 0.5, 0.5, 2.0])
GRID = np.array([[0.0, 0.2, 0.3], [0.5, 0.6, 0.7]])
VALUES = np.array([0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.5])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "npy"])
@pytest.mark.parametrize(
    ("values", "options", "function"),
    [
        (CURVE, "", SetFunction.symmetric(CURVE)),
        (GRID, "", SetFunction.from_table(GRID)),
        (VALUES, "--general", SetFunction.from_values(VALUES)),
        (VALUES[:4].reshape(2, 2), "--general", SetFunction.from_values(VALUES[:4])),
    ],
)
def test_tables_keep_the_shape_of_their_file(folder, suffix, values, options, function):
    if suffix == "csv":
        np.savetxt("t.csv", np.atleast_2d(values), delimiter=",", fmt="%.17g")
    else:
        np.save("t.npy", values)
    document = parsed(f"decompose --table t.{suffix} {options} --json")
    answer = setloss.decompose(function)
    np.testing.assert_array_equal(document["loss"], values)
    np.testing.assert_array_equal(document["supermodular"], answer.supermodular.table.reshape(values.shape))
    found = parsed(f"check --table t.{suffix} {options} --json")["verdicts"]
    assert {law: v["holds"] for law, v in found.items()} == {k: bool(v) for k, v in verdicts(function).items()}


def test_general_arrays_keep_their_axes(folder):
    np.save("t.npy", VALUES.reshape(2, 2, 2))
    document = parsed("decompose --table t.npy --general --json")
    assert np.shape(document["submodular"]) == (2, 2, 2)


def test_ties_are_broken_and_the_certificate_says_so(folder):
    np.save("t.npy", np.array([0.0, 1, 1, 1] + [0] * 12))
    document = parsed("decompose --table t.npy --general --json")
    np.testing.assert_allclose(document["supermodular"], [0] * 12 + [1] * 4, atol=1e-6)
    assert document["certificate"]["unique"] is False
    assert document["certificate"]["tie_broken"] is True
    assert document["certificate"]["holds"] is True
    assert "one of several, the one of least sum of squares" in run("decompose --table t.npy --general").stdout


def test_one_column_and_byte_order_marks_and_blank_lines_and_spaces(folder):
    Path("t.csv").write_text("\ufeff0\n 0\n\n0.5 \n0.5\n2\n\n", encoding="utf-8")
    assert parsed("decompose --table t.csv --json")["loss"] == CURVE.tolist()


def test_integers_and_single_precision_are_numbers(folder):
    np.save("t.npy", np.array([0, 1, 3]))
    assert parsed("decompose --table t.npy --json")["loss"] == [0, 1, 3]
    np.save("t.npy", np.array([0, 1, 3], dtype=np.float32))
    assert parsed("decompose --table t.npy --json")["loss"] == [0, 1, 3]


# ------------------------------------------------------------------ for people


def test_decompose_in_words_shows_values_and_certificate():
    output = run("decompose --loss curve4 --size 10").stdout
    assert "l = f + g for curve4, 10 elements" in output
    assert "symmetric closed form" in output
    assert "certificate  holds" in output
    assert "the only one" in output
    row = next(line.split() for line in output.splitlines() if line.split()[:1] == ["7"])
    assert row == ["7", "0.725", "-0.100", "0.825"]


def test_two_groups_in_words_are_three_tables():
    output = run("decompose --loss dice --pos 5 --neg 7").stdout
    assert all(name in output for name in ("loss l", "submodular f", "supermodular g"))
    assert [line.split()[2] for line in output.splitlines() if line.strip().startswith("5 FN")] == [
        "1.000", "0.556", "0.444",
    ]  # fmt: skip


def test_subsets_in_words_are_listed_as_sets(folder):
    np.save("t.npy", VALUES)
    output = run("decompose --table t.npy --general").stdout
    assert "t.npy, all subsets of 3 elements" in output
    assert "{0, 1, 2}" in output


@pytest.mark.parametrize("source", ["--loss dice --pos 40 --neg 3000", "--loss curve2 --size 1000000"])
def test_long_tables_are_abridged_to_a_screen(source):
    output = run(f"decompose {source}").stdout
    assert "(abridged)" in output
    assert len(output.splitlines()) < 50
    assert max(map(len, output.splitlines())) <= 80


def test_a_million_elements_need_no_table():
    assert "closed form" in run("decompose --loss dice --pos 500000 --neg 500000").stdout


def test_check_in_words_gives_a_witness():
    output = " ".join(run("check --loss dice --pos 5 --neg 7").stdout.split())
    assert "submodular no by 0.0952: adding 4 to {0, 1, 2} gains 0.238095" in output
    assert "non-negative yes proved for this closed form" in output


def test_check_says_how_far_from_failing():
    assert "largest excess 0, tolerance" in run("check --loss curve1 --size 10").stdout


def test_tiny_and_huge_numbers_fit(folder):
    np.save("t.npy", CURVE * 1e-12)
    assert "2.00e-12" in run("decompose --table t.npy").stdout
    np.save("t.npy", CURVE * 0)
    assert "certificate  holds" in run("decompose --table t.npy").stdout


# ------------------------------------------------------------------ bad options

BAD_OPTIONS = {
    "": "give exactly one of --loss, --knots and --table; got none",
    "--loss dice --table t.csv --pos 1 --neg 1": "got --loss and --table",
    "--loss dice --knots 0:0,1:1 --table t.csv": "got --loss and --knots and --table",
    "--loss dise --pos 1 --neg 1": "there is no loss 'dise'; the names are dice, f1, jaccard",
    "--loss dice": "--loss dice needs --pos (the number of positive elements) and --neg",
    "--loss dice --pos 5": "--loss dice needs --neg (the number of negative elements)",
    "--loss dice --size 5": "--loss dice needs --pos",
    "--loss dice --pos 5 --neg 7 --size 12": "--loss dice takes --pos and --neg, not --size",
    "--loss dice --pos 5 --neg 7 --beta 1": "--loss dice takes --pos and --neg, not --beta",
    "--loss dice --pos -1 --neg 7": "--pos is the number of positive elements, at least 0; got -1",
    "--loss dice --pos 5 --neg -7": "--neg is the number of negative elements, at least 0; got -7",
    "--loss dice --pos 0 --neg 0": "--pos and --neg are both 0; a set needs at least one element",
    "--loss dice --pos five --neg 7": "--pos",
    "--loss dice --pos 1.5 --neg 7": "--pos",
    "--loss dice --pos 999999999999 --neg 1": "1000000000000 elements are too many here; the limit is 10000000",
    "--loss tversky --pos 5 --neg 7": "--loss tversky needs --alpha (the weight of a false positive) and",
    "--loss tversky --pos 5 --neg 7 --alpha -1 --beta 1": "--alpha is the weight of a false positive, from 0",
    "--loss tversky --pos 5 --neg 7 --alpha 1 --beta nan": "from 0 to 1e+06; got nan",
    "--loss fbeta --pos 5 --neg 7": "--loss fbeta needs --beta",
    "--loss fbeta --pos 5 --neg 7 --beta -2": "from 0 to 1e+06; got -2",
    "--loss fbeta --pos 5 --neg 7 --beta inf": "from 0 to 1e+06; got inf",
    "--loss fbeta --pos 5 --neg 7 --beta 1e200": "from 0 to 1e+06; got 1e+200",
    "--loss fbeta --pos 5 --neg 7 --beta 1 --alpha 1": "not --alpha",
    "--loss curve1": "--loss curve1 needs --size (the number of elements)",
    "--loss curve1 --size 10 --pos 5": "--loss curve1 takes --size, not --pos",
    "--loss curve1 --size 0": "--size is the number of elements, at least 1; got 0",
    "--loss curve1 --size -3": "at least 1; got -3",
    "--loss curve1 --size 10 --general": "--general goes with --table only",
    "--knots 0:0,1:1": "--knots needs --size",
    "--knots 0:0,1:1 --size 4 --neg 3": "--knots takes --size, not --neg",
    "--knots 0:0,1 --size 4": "--knots: '1' is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1",
    "--knots 0:0,x:1,1:1 --size 4": "'x:1' is not share:cost",
    "--knots 0:0,nan:1,1:1 --size 4": "'nan:1' is not share:cost",
    "--knots 0:0,1/0:1,1:1 --size 4": "'1/0:1' is not share:cost",
    "--knots 0:0,1:inf --size 4": "'1:inf' is not share:cost",
    "--knots 0:0,0.5:1 --size 4": "--knots: the shares of the knots must climb from 0 to 1",
    "--knots 0:0,0.5:1,0.5:2,1:1 --size 4": "must climb from 0 to 1",
    "--knots 0:1,1:1 --size 4": "--knots: l(empty) must be 0",
    "--knots 0:0,1:-1 --size 4": "costs are finite and non-negative",
    "--table t.csv --size 4": "--table takes no sizes and no weights, not --size",
    "--nonsense": "--nonsense",
}


@pytest.mark.parametrize("command", ["decompose", "check"])
@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_impossible_options(command, options):
    assert BAD_OPTIONS[options] in complaint(command, *options.split())


def test_an_unknown_command_is_one_sentence_too():
    assert "decomposse" in complaint("decomposse")


# ------------------------------------------------------------------ bad files


BAD_CSV = {
    "": "t.csv is empty",
    "\n \n\n": "t.csv is empty",
    "0,1,2\n1,2\n": "t.csv is ragged: row 1 has 3 cells, row 2 has 2",
    "0,1\n\n1,2,3\n": "row 1 has 2 cells, row 3 has 3",
    "0,1,2\n1,two,3\n": "row 2, column 2 of t.csv is 'two', not a number",
    "0,1,2\n1,,3\n": "row 2, column 2 of t.csv is empty",
    "0,1,2,\n": "row 1, column 4 of t.csv is empty",
    "0,nan,2\n": "row 1, column 2 of t.csv is nan; every value must be finite",
    "0\n1\n-inf\n": "row 3, column 1 of t.csv is -inf; every value must be finite",
    "mistakes,cost\n0,0\n": "row 1 of t.csv is not numbers but 'mistakes, cost'; cells are numbers "
    "separated by commas, and there is no header",
    "0;1;2\n": "row 1 of t.csv is not numbers but '0;1;2'",
    "1,2,3\n": "t.csv: l(empty) must be 0, this function has l(empty) = 1",
    "0\n": "t.csv has the value of the empty set only; a table needs at least one element",
    '0,"1\n2,3\n': "row 1, column 2 of t.csv is",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_bad_csv(folder, content):
    Path("t.csv").write_text(content)
    assert BAD_CSV[content] in complaint("decompose", "--table", "t.csv", "--json")


def test_csv_that_is_no_text(folder):
    Path("t.csv").write_bytes(b"\xff\xfe0\x00,\x001\x00")
    assert "t.csv is not a text file in UTF-8" in complaint("check", "--table", "t.csv")


@pytest.fixture
def _short_csv_fields():
    """The default limit of the csv module, which scipy's ARFF reader lifts for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.usefixtures("_short_csv_fields")
def test_csv_with_an_endless_field(folder):
    Path("t.csv").write_text("0," + "1" * 200_000)
    assert "t.csv is not a table of numbers separated by commas: field larger" in complaint(
        "check", "--table", "t.csv"
    )


@pytest.mark.parametrize(
    ("array", "phrase"),
    [
        (np.zeros((2, 3, 2)), "t.npy has 3 axes; a table has one (a curve) or two"),
        (np.zeros(()), "t.npy has shape (); a table needs at least one axis and one value"),
        (np.zeros(0), "t.npy has shape (0,); a table needs at least one axis and one value"),
        (np.zeros((3, 0)), "t.npy has shape (3, 0); a table needs"),
        (np.zeros((1, 1)), "t.npy has the value of the empty set only"),
        (np.array([0, 1j]), "t.npy holds complex128 values; a table holds real numbers"),
        (np.array(["0", "1"]), "t.npy holds <U1 values; a table holds real numbers"),
        (np.array([0.0, np.nan, 1.0]), "entry (1,) of t.npy is nan; every value must be finite"),
        (np.array([[0.0, 1.0], [np.inf, 1.0]]), "entry (1, 0) of t.npy is inf; every value must be finite"),
        (np.array([0.5, 1.0]), "t.npy: l(empty) must be 0, this function has l(empty) = 0.5"),
        (np.array([0, None], dtype=object), "t.npy is not a complete .npy file of numbers"),
    ],
)
def test_bad_npy(folder, array, phrase):
    np.save("t.npy", array, allow_pickle=True)
    assert phrase in complaint("decompose", "--table", "t.npy")


@pytest.mark.parametrize(
    ("shape", "phrase"),
    [
        (6, "t.npy: a general set function needs 2^p values, flat or of shape (2,) * p; got shape (6,)"),
        ((2, 4), "got shape (2, 4)"),
        ((3, 3), "got shape (3, 3)"),
    ],
)
def test_general_needs_powers_of_two(folder, shape, phrase):
    np.save("t.npy", np.zeros(shape))
    assert phrase in complaint("decompose", "--table", "t.npy", "--general")


@pytest.mark.parametrize("keep", [1, 5, 8, 40, 127, 130])
def test_truncated_npy(folder, keep):
    np.save("t.npy", np.arange(5.0))
    Path("t.npy").write_bytes(Path("t.npy").read_bytes()[:keep])
    assert "t.npy is not a complete .npy file of numbers" in complaint("decompose", "--table", "t.npy")


def test_npy_files_of_another_kind(folder):
    np.savez("t.npz", a=np.zeros(3))
    Path("t.npz").rename("t.npy")
    assert "t.npy is not a complete .npy file of numbers" in complaint("decompose", "--table", "t.npy")
    assert "t.npz: a table is a .csv or .npy file, not .npz" in complaint("check", "--table", "t.npz")


def test_npy_headers_that_lie_about_the_size_are_not_believed(folder):
    np.save("t.npy", np.zeros(4))
    content = Path("t.npy").read_bytes()
    for header in (b"(400000000,), }", b"(-1,), }       ", b"(4,), '       ", b"(4,), [[[[    "):
        Path("t.npy").write_bytes(content.replace(b"(4,), }        ", header))
        assert "t.npy is not a complete .npy file of numbers" in complaint("decompose", "--table", "t.npy")


def test_missing_and_unreadable_files(folder):
    assert "there is no file none.csv" in complaint("decompose", "--table", "none.csv")
    assert "none.txt: a table is a .csv or .npy file, not .txt" in complaint("decompose", "--table", "none.txt")
    assert "not a file without suffix" in complaint("decompose", "--table", "none")
    for name in ("dir.csv", "dir.npy"):
        Path(name).mkdir()
        assert f"{name} is a folder; a table is a file" in complaint("check", "--table", name)
    Path("t.npy").touch()
    assert "t.npy is empty" in complaint("check", "--table", "t.npy")


# ------------------------------------------------------------------ limits and failures


def test_json_has_a_limit_and_says_it():
    sentence = complaint("decompose", "--loss", "dice", "--pos", 500_000, "--neg", 500_000, "--json")
    assert "--json prints at most 1048576 cells and this table has 250001000001" in sentence
    assert "leave --json out" in sentence


def test_verdicts_beyond_a_table_are_one_sentence():
    sentence = complaint(
        "check", "--loss", "tversky", "--alpha", 0, "--beta", 0.4, "--pos", 4_000_000, "--neg", 4_000_000
    )
    assert "too large" in sentence


def test_a_decomposition_that_fails_is_one_sentence(monkeypatch):
    def fail(function):
        raise setloss.DecompositionError(f"the program over {function.p} elements did not converge")

    monkeypatch.setattr(setloss, "decompose", fail)
    assert "the program over 4 elements did not converge" in complaint("decompose", "--loss", "curve1", "--size", 4)


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
    assert "--plot: dir.png is a folder" in complaint(*dice, "dir.png")


def test_plot_without_matplotlib(folder, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name))
    sentence = complaint("decompose", "--loss", "curve1", "--size", 4, "--plot", "out.png")
    assert '--plot needs matplotlib: pip install "setloss[plot]"' in sentence


def test_plots_that_cannot_be_drawn_are_refused_before_the_work(folder, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(setloss, "decompose", pytest.fail)
    np.save("t.npy", np.zeros(2**13))
    sentence = complaint("decompose", "--table", "t.npy", "--general", "--plot", "out.png")
    assert "--plot: a table of 8192 cells over 13 groups cannot be drawn" in sentence


# ------------------------------------------------------------------ the program itself


def test_version_and_help():
    assert run("--version").stdout == f"setloss {setloss.__version__}\n"
    assert "decompose" in run("").stdout
    for arguments in ("--help", "decompose --help", "check -h"):
        assert "Exit codes: 0 fine, 2 bad input" in run(arguments).stdout


def test_the_program_starts_without_the_heavy_libraries():
    script = (
        "import sys; from typer.testing import CliRunner; from setloss.cli import app\n"
        "for line in ('--help', 'decompose --loss curve1 --size 9', 'check --loss dice --pos 2 --neg 3'):\n"
        "    assert CliRunner().invoke(app, line.split()).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert printed(script) == "[]"


def test_the_module_runs_as_a_program():
    command = [sys.executable, "-m", "setloss.cli", "decompose", "--loss", "dice"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("setloss: --loss dice needs --pos")
