"""Options that describe a set function or a loss: every kind of bad input is told in one sentence."""

from pathlib import Path

import pytest

from helpers.command_line import complaint

BAD_OPTIONS = {
    "": "give one of --loss, --knots and --table",
    "--loss dice --knots 0:0,1:1": "give one of --loss, --knots and --table",
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
