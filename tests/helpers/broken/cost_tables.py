"""Broken tables of a set function, for --table of the commands decompose and check."""

import io

import numpy as np

from helpers.broken.case import Made, cases, shaped


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return Made(stream.getvalue(), f"{array.dtype} {array.shape}")


ROWS = [
    ("t.csv", None, {}, "there is no file"),
    ("t.csv", "", {}, "is empty"),
    ("t.csv", "\n \n", {}, "is empty"),
    ("t.tsv", "0,1\n", {}, "a table is a .csv or .npy file, not .tsv"),
    ("t.csv", "0,1\n0,1,2\n", {}, "is ragged: row 1 has 2 cells, row 2 has 3"),
    ("t.csv", "a,b\n0,1\n", {}, "row 1 of", "not numbers but 'a, b'"),
    ("t.csv", "0,1\n0,x\n", {}, "row 2, column 2 of", "is 'x', not a number"),
    ("t.csv", "0,1\n0,\n", {}, "row 2, column 2 of", "is empty"),
    ("t.csv", "0,nan\n", {}, "row 1, column 2 of", "every value must be finite"),
    ("t.csv", "0,1e999\n", {}, "row 1, column 2 of", "is inf"),
    ("t.csv", "0,1_0\n", {}, "row 1, column 2 of", "is '1_0', not a number"),
    ("t.csv", f"0,{'x' * 9000}\n", {}, "row 1, column 2 of", "not a number"),
    ("t.csv", b"0,\xff\n", {}, "is not a text file in UTF-8"),
    ("t.csv", "0\n", {}, "the value of the empty set only"),
    ("t.csv", "1,2\n", {}, "t.csv: ", "l(empty)"),
    ("t.csv", "0,1,2\n", {"general": True}, "t.csv: "),
    ("t.npy", "junk", {}, "is not a complete .npy file"),
    ("t.npy", shaped("(2, 1000000000000)"), {}, "is not a complete .npy file"),
    ("t.npy", shaped("(-2, 1)"), {}, "is not a complete .npy file"),
    ("t.npy", shaped("(2,)", "()"), {}, "is not a complete .npy file"),
    ("t.npy", saved(np.array([0.0, {}], dtype=object)), {}, "is not a complete .npy file"),
    ("t.npy", saved(np.array(["a", "b"])), {}, "a table holds real numbers"),
    ("t.npy", saved(np.array([0, 1j])), {}, "a table holds real numbers"),
    ("t.npy", saved(np.array(0.0)), {}, "a table needs at least one axis"),
    ("t.npy", saved(np.zeros((0, 2))), {}, "t.npy"),
    ("t.npy", saved(np.array([0, np.inf])), {}, "entry (1,) of", "is inf"),
    ("t.npy", saved(np.zeros((2, 2, 2))), {}, "has 3 axes", "--general"),
]

CASES = cases("table", ROWS)
