"""Options that describe a set function or a loss: every kind of bad input is told in one sentence."""

from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import complaint


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Somewhere to write files with short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


BAD_OPTIONS = {
    "": "give exactly one of --loss, --knots and --table; got none",
    "--loss dice --table t.csv --pos 1 --neg 1": "got --loss and --table",
    "--loss dice --knots 0:0,1:1 --table t.csv": "got --loss and --knots and --table",
    "--loss dise --pos 1 --neg 1": "there is no loss 'dise'; the names are dice, f1, jaccard",
    "--loss dice": "dice needs --pos (the number of positive elements) and --neg",
    "--loss dice --pos 5": "dice needs --neg (the number of negative elements)",
    "--loss dice --size 5": "dice needs --pos",
    "--loss dice --pos 5 --neg 7 --size 12": "dice takes --pos and --neg; leave --size out",
    "--loss dice --pos 5 --neg 7 --beta 1": "dice takes neither --alpha nor --beta; leave --beta out",
    "--loss dice --pos -1 --neg 7": "--pos is the number of positive elements, at least 0; got -1",
    "--loss dice --pos 5 --neg -7": "--neg is the number of negative elements, at least 0; got -7",
    "--loss dice --pos 0 --neg 0": "0 elements are too few or too many",
    "--loss dice --pos five --neg 7": "--pos",
    "--loss dice --pos 1.5 --neg 7": "--pos",
    "--loss dice --pos 999999999999 --neg 1": "1000000000000 elements are too few or too many; the limit is 10000000",
    "--loss tversky --pos 5 --neg 7": "tversky needs --alpha (the weight of a false positive) and",
    "--loss tversky --pos 5 --neg 7 --alpha -1 --beta 1": "--alpha is the weight of a false positive, from 0",
    "--loss tversky --pos 5 --neg 7 --alpha 1 --beta nan": "from 0 to 1e+06; got nan",
    "--loss fbeta --pos 5 --neg 7": "fbeta needs --beta",
    "--loss fbeta --pos 5 --neg 7 --beta -2": "from 0 to 1e+06; got -2",
    "--loss fbeta --pos 5 --neg 7 --beta inf": "from 0 to 1e+06; got inf",
    "--loss fbeta --pos 5 --neg 7 --beta 1e200": "from 0 to 1e+06; got 1e+200",
    "--loss fbeta --pos 5 --neg 7 --beta 1 --alpha 1": "leave --alpha out",
    "--loss curve1": "curve1 needs --size (the number of elements)",
    "--loss curve1 --size 10 --pos 5": "curve1 takes --size; leave --pos out",
    "--loss curve1 --size 0": "--size is the number of elements, at least 1; got 0",
    "--loss curve1 --size -3": "at least 1; got -3",
    "--loss curve1 --size 10 --general": "--general goes with --table only",
    "--knots 0:0,1:1": "--knots needs --size",
    "--knots 0:0,1:1 --size 4 --neg 3": "--knots takes --size; leave --neg out",
    "--knots 0:0,1 --size 4": "--knots: '1' is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1",
    "--knots 0:0,x:1,1:1 --size 4": "'x:1' is not share:cost",
    "--knots 0:0,nan:1,1:1 --size 4": "'nan:1' is not share:cost",
    "--knots 0:0,1/0:1,1:1 --size 4": "'1/0:1' is not share:cost",
    "--knots 0:0,1:inf --size 4": "'1:inf' is not share:cost",
    "--knots 0:0,0.5:1 --size 4": "--knots: the shares of the knots must climb from 0 to 1",
    "--knots 0:0,0.5:1,0.5:2,1:1 --size 4": "must climb from 0 to 1",
    "--knots 0:1,1:1 --size 4": "--knots: l(empty) must be 0",
    "--knots 0:0,1:-1 --size 4": "costs are finite and non-negative",
    "--table t.csv --size 4": "leave --size out",
    "--nonsense": "--nonsense",
}


@pytest.mark.parametrize("command", ["decompose", "check"])
@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_impossible_options(command, options):
    assert BAD_OPTIONS[options] in complaint(command, *options.split())


BAD_CSV = {
    "": "t.csv",
    "0,1,2\n1,2\n": "columns changed from 3 to 2 at row 2",
    "0,1,2\n1,two,3\n": "'two' to float64 at row 1, column 2",
    "0,1,2\n1,,3\n": "at row 1, column 2",
    "0,nan,2\n": "entry (1,) of t.csv is nan; every value must be finite",
    "mistakes,cost\n0,0\n": "cells are numbers, without a header",
    "0;1;2\n": "'0;1;2'",
    "1,2,3\n": "t.csv: l(empty) must be 0, this function has l(empty) = 1",
    "0\n": "t.csv has the value of the empty set only; a table needs at least one element",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_bad_csv(folder, content):
    Path("t.csv").write_text(content)
    assert BAD_CSV[content] in complaint("decompose", "--table", "t.csv", "--json")


@pytest.mark.parametrize(
    ("array", "phrase"),
    [
        (np.zeros((2, 3, 2)), "t.npy has 3 axes; a table has one (a curve) or two"),
        (np.zeros((3, 0)), "a table needs at least one axis and one value"),
        (np.array([0, 1j]), "no real numbers"),
        (np.array(["0", "1"]), "no real numbers"),
        (np.array([[0.0, 1.0], [np.inf, 1.0]]), "entry (1, 0) of t.npy is inf; every value must be finite"),
        (np.array([0.5, 1.0]), "t.npy: l(empty) must be 0, this function has l(empty) = 0.5"),
        (np.array([0, None], dtype=object), "t.npy is not a table of numbers"),
    ],
)
def test_bad_npy(folder, array, phrase):
    np.save("t.npy", array, allow_pickle=True)
    assert phrase in complaint("decompose", "--table", "t.npy")


@pytest.mark.parametrize("shape", [6, (2, 4), (3, 3)])
def test_general_needs_powers_of_two(folder, shape):
    np.save("t.npy", np.zeros(shape))
    assert "a general set function needs 2^p values" in complaint("decompose", "--table", "t.npy", "--general")


@pytest.mark.parametrize("keep", [1, 5, 8, 40, 127, 130])
def test_truncated_npy(folder, keep):
    np.save("t.npy", np.arange(5.0))
    Path("t.npy").write_bytes(Path("t.npy").read_bytes()[:keep])
    assert "t.npy is not a table of numbers" in complaint("decompose", "--table", "t.npy")


def test_npy_headers_that_lie_about_the_size_are_not_believed(folder):
    np.save("t.npy", np.zeros(4))
    content = Path("t.npy").read_bytes()
    for header in (b"(400000000,), }", b"(-1,), }       ", b"(4,), '       ", b"(4,), [[[[    "):
        Path("t.npy").write_bytes(content.replace(b"(4,), }        ", header))
        assert "t.npy is not a table of numbers" in complaint("decompose", "--table", "t.npy")


def test_missing_and_unreadable_files(folder):
    assert "none.csv is no file" in complaint("decompose", "--table", "none.csv")
    assert "none.txt: a table is a .csv or .npy file, not .txt" in complaint("decompose", "--table", "none.txt")
    Path("dir.npy").mkdir()
    assert "dir.npy is no file" in complaint("check", "--table", "dir.npy")
