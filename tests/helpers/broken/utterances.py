"""Broken files of the two collections of utterances."""

import gzip

from helpers.broken.case import Case, Made

FRAME = " ".join(["1"] * 13) + "\n"


def gz(text, cut=None):
    return Made(gzip.compress(text.encode(), mtime=0)[:cut], f"packed: {text[:30]!r}")


SERIES = [
    (None, "there is no file"),
    ("@data\n", "has no series after a line @data"),
    ("1,2:3,4:1\n", "has no series after a line @data"),
    ("@data\n1,2:3,4:1\n1,2:1\n", "line 3 of"),
    ("@data\n1,2:3:1\n", "series of 2 and 1 frames"),
    ("@data\n1,2:3,?:1\n", "line 2 of"),
    ("@data\n1,2:3,4:a\n", "ends with 'a'"),
    ("@data\n1,2:3,4:+-1\n", "ends with '+-1'"),
    ("@data\n1,2:3,nan:1\n", "line 2, series 2 of"),
    ("@data\n7\n", "0 series"),
]

DIGITS = [
    (None, "there is no file"),
    (b"no gzip", "is not a complete gzip file"),
    (gz(FRAME * 100, cut=-9), "is not a complete gzip file"),
    (gz(" \n\n"), "has no frames"),
    (gz(f" \n{FRAME}1 2 3\n"), "line 3 of"),
    (gz("1 2 3\n"), "has 3 numbers, 13 are expected"),
    (gz(FRAME.replace("1", "x", 1)), "'x', not a number"),
    (gz(FRAME.replace("1", "nan", 1)), "line 1, number 1 of"),
    (gz(FRAME), "has 1 utterances, 6600 are expected"),
]

CASES = [Case("series", "JapaneseVowels_TRAIN.ts", content, (says,)) for content, says in SERIES] + [
    Case("digits", "Train_Arabic_Digit.txt.gz", content, (says,)) for content, says in DIGITS
]
