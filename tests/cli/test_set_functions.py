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
    "--loss dice --knots 0:0,1:1": "got --loss and --knots",
    "--loss dise --pos 1 --neg 1": "there is no loss 'dise'; the names are dice, f1, jaccard",
    "--loss dice": "dice needs these numbers of elements: --pos and --neg; got none",
    "--loss dice --pos 5": "--pos and --neg; got --pos",
    "--loss dice --pos 5 --neg 7 --size 12": "--pos and --neg; got --pos and --neg and --size",
    "--loss dice --pos -1 --neg 7": "--pos",
    "--loss dice --pos 5 --neg -7": "--neg",
    "--loss dice --pos 0 --neg 0": "at least one element",
    "--loss dice --pos five --neg 7": "--pos",
    "--loss dice --pos 1.5 --neg 7": "--pos",
    "--loss dice --pos 999999999999 --neg 1": "10000000",
    "--loss tversky --pos 5 --neg 7": "tversky:FP:FN",
    "--loss tversky:1 --pos 5 --neg 7": "tversky:FP:FN",
    "--loss tversky:-1:1 --pos 5 --neg 7": "false positive must be a number >= 0; got -1",
    "--loss tversky:1:x --pos 5 --neg 7": "'x'",
    "--loss fbeta:-2 --pos 5 --neg 7": "from 0 to 1e6; got -2",
    "--loss fbeta:inf --pos 5 --neg 7": "from 0 to 1e6; got inf",
    "--loss fbeta:1:1 --pos 5 --neg 7": "fbeta:BETA",
    "--loss dice:1 --pos 5 --neg 7": "there is no loss 'dice:1'",
    "--loss curve1": "--size",
    "--loss curve1 --size 10 --pos 5": "--size; got --pos and --size",
    "--loss curve1 --size 0": "--size",
    "--knots 0:0,1:1": "--knots needs these numbers of elements: --size",
    "--knots 0:0,1:1 --size 4 --neg 3": "--size; got --neg and --size",
    "--knots 0:0,1 --size 4": "--knots: '1' is not share:cost, two finite numbers; write them as 0:0,1/4:1,1:1",
    "--knots 0:0,x:1,1:1 --size 4": "'x:1' is not share:cost",
    "--knots 0:0,nan:1,1:1 --size 4": "'nan:1' is not share:cost",
    "--knots 0:0,1/0:1,1:1 --size 4": "'1/0:1' is not share:cost",
    "--knots 0:0,1:inf --size 4": "'1:inf' is not share:cost",
    "--knots 0:0,0.5:1 --size 4": "--knots: the shares of the knots must climb from 0 to 1",
    "--knots 0:0,0.5:1,0.5:2,1:1 --size 4": "must climb from 0 to 1",
    "--knots 0:1,1:1 --size 4": "--knots: l(empty) must be 0",
    "--knots 0:0,1:-1 --size 4": "costs are finite and non-negative",
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
    "0,nan,2\n": "t.csv: the table must be finite; entry (1,) is nan",
    "mistakes,cost\n0,0\n": "cells are numbers, without a header",
    "0;1;2\n": "'0;1;2'",
    "1,2,3\n": "t.csv: l(empty) must be 0, this function has l(empty) = 1",
    "0\n": "at least one element",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_bad_csv(folder, content):
    Path("t.csv").write_text(content)
    assert BAD_CSV[content] in complaint("decompose", "--table", "t.csv", "--json")


@pytest.mark.parametrize(
    ("array", "phrase"),
    [
        (np.zeros((2, 3, 2)), "t.npy has 3 axes; a table has one (a curve) or two"),
        (np.zeros((3, 0)), "the table is empty"),
        (np.array([0, 1j]), "real numbers: complex"),
        (np.array(["a", "b"]), "real numbers"),
        (np.array([[0.0, 1.0], [np.inf, 1.0]]), "t.npy: the table must be finite; entry (1, 0) is inf"),
        (np.array([0.5, 1.0]), "t.npy: l(empty) must be 0, this function has l(empty) = 0.5"),
        (np.array([0, None], dtype=object), "t.npy is not a table of numbers"),
    ],
)
def test_bad_npy(folder, array, phrase):
    np.save("t.npy", array, allow_pickle=True)
    assert phrase in complaint("decompose", "--table", "t.npy")


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
    assert "none.csv" in complaint("decompose", "--table", "none.csv")
    Path("some.txt").touch()
    assert "some.txt: a table is a .csv or .npy file, not .txt" in complaint("decompose", "--table", "some.txt")
    Path("dir.npy").mkdir()
    assert "dir.npy" in complaint("check", "--table", "dir.npy")
