"""Broken files of every kind: one sentence that names the file, the place as far as it is known, and the remedy."""

import random
from contextlib import suppress

import pytest

from setloss.io import DatasetError, read

TABLE = "group,label,x\n1,0,2\n"
ARFF = "@relation r\n@attribute a numeric\n@attribute c {u,v}\n@attribute p {0,1}\n@data\n"

BROKEN = [
    ("a.csv", None, {}, "there is no file", "check the path"),
    ("a.csv", "", {}, "cannot be read as a table", "Empty CSV file"),
    ("a.arff", "", {"labels": 1}, "cannot be read as ARFF"),
    ("a.npz", "x", {}, "numpy.load", "fit SetDecisionCV()", ".csv, .tsv, .parquet and .arff"),
    *(
        (f"a.{suffix}", "1 1:1\n", {}, "load_svmlight_file", ".csv")
        for suffix in ("svm", "svmlight", "libsvm", "txt")
    ),
    ("a.xlsx", "x", {}, "the suffix '.xlsx'", "save a spreadsheet as CSV"),
    ("a", "x", {}, "the suffix ''"),
    # tables
    ("a.csv", "group,label,x\n", {}, "no rows"),
    ("a.csv", "1,0,2\n1,0,3\n", {}, "the first row", "must name the columns"),
    ("a.csv", "group:label:x\n1:0:2\n", {}, "separated by commas"),
    ("a.csv", "group,label,x,x\n1,0,2,3\n", {}, "two columns named 'x'"),
    ("a.csv", "track,label,x\n1,0,2\n", {}, "'group'", "group=", "'track', 'label', 'x'"),
    ("a.csv", "a,b,group,lable\n1,2,3,0\n", {}, "lacks 'label'", "it has 'lable', 'a'"),
    ("a.csv", TABLE, {"label": "face"}, "'face'", "label="),
    ("a.csv", TABLE, {"ignore": ["y"]}, "'y'", "ignore="),
    ("a.csv", "group,label\n1,0\n", {}, "no columns of features"),
    ("a.csv", TABLE + "1,0\n", {}, "Row #3", "Expected 3 columns, got 2"),
    ("a.csv", TABLE + ",0,1\n", {}, "row 2, column 'group'", "missing"),
    ("a.csv", TABLE + "1,,1\n", {}, "row 2, column 'label'", "missing"),
    ("a.csv", TABLE + "1,maybe,1\n", {}, "row 2, column 'label'", "'maybe'", "0 or 1"),
    ("a.csv", TABLE + "1,2,1\n", {}, "row 2, column 'label'", "is 2"),
    ("a.csv", b"group,label,x\n1,0,\xff\n", {}, "UTF-8"),
    ("a.csv", "x,l1\n1,0\n2,-1\n", {"labels": "l"}, "row 1, column 'l1'", "is 0", "all in {-1, +1}"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "m"}, "'m'", "labels=", "'x', 'l1'"),
    ("a.csv", "x,l1\n1,0\n", {"labels": 1}, "labels=1 does not name columns"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "l", "group": "x"}, "give one or the other"),
    ("a.parquet", b"PAR1" + bytes(40) + b"PAR1", {}, "cannot be read as a table"),
    # ARFF
    ("a.arff", "@relation r\n@attribute a numeric\n", {"labels": 1}, "cannot be read as ARFF"),
    ("a.arff", ARFF, {"labels": 1}, "no rows"),
    ("a.arff", ARFF + "1,u,0\nx,v,1\n", {"labels": 1}, "line 7"),
    ("a.arff", ARFF + "1,w,0\n", {"labels": 1}, "line 6", "w"),
    ("a.arff", ARFF + "{9 1}\n", {"labels": 1}, "line 6"),
    ("a.arff", ARFF + "\n" * 4000 + "{9 1}\n", {"labels": 1}, "line 4006"),
    ("a.arff", ARFF + "1,u,%n\n", {"labels": 1}, "cannot be read as ARFF", "%n"),
    ("a.arff", ARFF + "1,u,0\n", {}, "a.xml", "labels="),
    ("a.arff", ARFF + "1,u,0\n", {"labels": 1, "group": "g"}, "group= is for tables", "leave it out"),
    ("a.arff", ARFF + "1,u,0\n-1e101,u,1\n", {"labels": 1}, "row 2, column 'a'", "is -1e+101"),
    ("a.arff", ARFF + "{1 u}\n{0 inf}\n", {"labels": 1}, "row 2, column 'a'", "is inf"),
    ("a.arff", ARFF + "1,u,0\n", {"labels": 3}, "all attributes"),
    ("a.arff", ARFF + "1,u,0\n", {"labels": 2}, "label 'c'", "'u', 'v'"),
    ("a.arff", ARFF.replace("numeric", "string") + "1,u,0\n", {"labels": 1}, "attribute 'a'", "is text"),
    ("a.arff", b"@relation \xff\n", {"labels": 1}, "utf-8"),
]


@pytest.mark.parametrize(("name", "content", "options", "says"), [(*row[:3], row[3:]) for row in BROKEN])
def test_a_broken_file_is_told_in_one_sentence(tmp_path, name, content, options, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DatasetError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in (*says, name if "one or the other" not in message else ""):
        assert part in message


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.parquet"])
def test_a_damaged_file_gives_data_or_a_sentence(tmp_path, name):
    """Bytes changed, cut off and repeated at random; no other error, whatever comes out."""
    path, options = tmp_path / name, {"labels": 1} if name == "a.arff" else {}
    if name == "a.parquet":
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"group": [1, 1, 2], "label": [0, 1, 1], "x": [1.5, 2, 3]}).to_parquet(path)
        good = path.read_bytes()
    else:
        good = (TABLE * 3 if name == "a.csv" else ARFF + "1,u,0\n2,v,1\n").encode()
    draw = random.Random(0)
    for _ in range(150):
        content = bytearray(good)
        for _ in range(draw.randint(1, 3)):
            content[draw.randrange(len(content))] = draw.choice([0, 10, 44, 58, 123, 255, draw.randrange(256)])
        path.write_bytes(content[: draw.choice([len(content), draw.randrange(1, len(content))])])
        with suppress(DatasetError):
            read(path, **options)
