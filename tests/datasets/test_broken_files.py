"""Every way a file can be broken ends in a `DatasetError`: one sentence with the file, the place and the remedy."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from setloss.datasets import DatasetError, load, load_japanese_vowels, load_spoken_arabic_digits

ARFF = "@relation r\n@attribute a real\n@attribute 'b c' {x,y}\n@attribute p {0,1}\n@data\n"
XML = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="p"/></labels>'
X, Y = np.ones((3, 2)), np.eye(3, dtype=int)


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def csr(**parts):
    whole = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 1, 2], "shape": [3, 2], "Y": Y}
    return archive(**whole | parts)


def member(content, name="X.npy"):
    """An archive with Y as it should be, and one member of any bytes."""
    stream = io.BytesIO(archive(Y=Y))
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr(name, content)
    return stream.getvalue()


def npy(header):
    text = header.encode().ljust(118)[:117] + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


# name of the file, its content, the options of `load`, and what the message must say
BROKEN = [
    # any file
    ("a.svm", None, {}, "there is no file", "check the path"),
    ("a.arff", None, {}, "there is no file"),
    ("a.svm", "", {}, "is empty; it may be an unfinished download"),
    ("a.npz", "", {}, "is empty"),
    ("a.xlsx", "x", {}, "has the suffix .xlsx; data files are .arff, .csv"),
    ("a.svm.gz", "x", {}, "the suffix .gz", "unpack"),
    ("a", "x", {}, "has no suffix"),
    ("a.svm", "1 1:1\n", {"group": "g"}, "group= has no meaning for a .svm file", "leave it out"),
    ("a.npz", archive(X=X, Y=Y), {"labels": 3}, "labels= has no meaning for a .npz file"),
    ("a.svm", b"1 1:1\n\xff\xfe 1:1\n", {}, "line 2 of", "UTF-8; convert"),
    # svmlight
    ("a.svm", "# nothing\n\n", {}, "has no examples"),
    ("a.svm", "1 1:1\n2 2:x\n", {}, "line 2 of", "'2:x' where index:value is expected"),
    ("a.svm", "1 1:1\nred 2:1\n", {}, "line 2 of", "the label 'red'"),
    ("a.svm", "1, 3 2:1\n", {}, "line 1 of", "without blanks"),
    ("a.svm", "1 2:1 2:3\n", {}, "line 1 of", "feature 2 twice; indices must increase"),
    ("a.svm", "1 1:1\n\n1 3:1 2:3\n", {}, "line 3 of", "feature 2 after 3"),
    ("a.svm", "1 -1:3\n", {}, "line 1 of", "'-1:3'"),
    ("a.svm", "1 1:nan\n", {}, "feature 1 in line 1 of", "is nan; features are finite"),
    ("a.svm", "#\n1 1:1\n1 1:1 3:inf\n", {}, "feature 3 in line 3 of", "is inf"),
    ("a.svm", "+1 1:1\n-1 1:2\n", {}, "line 2 of", "the label -1", "not values as in files for one binary label"),
    ("a.svm", "1.5 1:1\n", {}, "the label 1.5"),
    ("a.svm", "nan 1:1\n", {}, "the label nan"),
    ("a.svm", "1,1 1:1\n", {}, "line 1 of", "a label id twice"),
    ("a.svm", "1 1:1\n5 1:1\n", {"labels": 3}, "line 2 of", "the label id 5, out of range for 3 labels"),
    ("a.svm", "0,3 1:1\n", {"labels": 3}, "the label id 3, out of range for 3 labels from 0"),
    (
        "a.svm",
        "1 1:1\n\n1 1:1 9:1\n",
        {"features": 3},
        "line 3 of",
        "the feature index 9, out of range for 3 features",
    ),
    ("a.svm", "1 0:1\n", {"first_feature": 1}, "has the feature index 0, so they do not start with 1"),
    ("a.svm", "1 0:1\n", {"first_label": 2}, "first_label=2 must be 0 or 1"),
    ("a.svm", "1 0:1\n", {"labels": 0}, "labels=0 must be at least 1"),
    ("a.svm", "999999999,0 1:1\n0 1:1\n", {}, "1000000000 labels", "check the largest label id"),
    ("a.svm", "99999999999999 1:1\n", {}, "line 1 of", "the label 1e+14"),
    ("a.svm", f"1 {'9' * 5000}:1\n", {}, "line 1 of", "where index:value is expected"),
    ("a.svm", "1 99999999999:1\n", {}, "the largest index is 2147483647"),
    ("a.svm", "3 2 2\n0 0:1\n1 1:1\n", {}, "has 2 examples, its first line promises 3"),
    ("a.svm", "1 2 2\n0 2:1\n", {}, "the feature index 2, out of range for 2 features from 0"),
    ("a.svm", " 1:1\n", {}, "has no labels at all; give their number with labels="),
    ("a.svm", "1\n2\n", {}, "has no features at all"),
    # ARFF
    ("b.arff", ARFF, {}, "there is no b.xml beside it; give labels="),
    ("b-train.arff", ARFF, {}, "there is no b-train.xml or b.xml beside it"),
    ("a.arff", ARFF + "1,x,0\n", {"labels": "other.xml"}, "there is no file other.xml"),
    ("a.arff", ARFF + "1,x,0\n", {"labels": 3}, "has 3 attributes, so labels=3 is impossible"),
    ("a.arff", "1,2,3\n", {}, "line 1 of", "this is not the header of an ARFF file"),
    ("a.arff", "@relation r\n@attribute a real\n", {}, "has no line @data"),
    ("a.arff", "@relation r\n@data\n1\n", {}, "declares no attributes"),
    ("a.arff", "@relation r\n@attribute a\n@data\n", {}, "line 2 of", "declares 'a' as ''"),
    ("a.arff", "@relation r\n@attribute 'a real\n@data\n", {}, "line 2 of", "a name with blanks in quotes"),
    ("a.arff", "@relation r\n@attribute a string\n@data\n", {}, "line 2 of", "declares 'a' as 'string'", "remove"),
    ("a.arff", "@relation r\n@attribute a {x,x}\n@data\n", {}, "line 2 of", "empty or repeated value"),
    ("a.arff", "@relation r\n@attribute a {'x,y}\n@data\n", {}, "line 2 of", "a quote that is not closed"),
    ("a.arff", "@relation r\n@attribute p real\n@attribute p real\n@data\n1,1\n", {}, "two attributes named 'p'"),
    ("a.arff", "@relation r\n@attribute p {no,yes}\n@attribute a real\n@data\n", {}, "the label 'p'", "'no', 'yes'"),
    ("a.arff", "@relation r\n@attribute b real\n@data\n1\n", {}, "no attributes of", "'p'", "belong together"),
    ("a.arff", "@relation r\n@attribute p {0,1}\n@data\n1\n", {}, "every attribute", "features are missing"),
    ("a.arff", ARFF, {}, "has no rows after @data"),
    ("a.arff", ARFF + "1,x,0\n2,x\n", {}, "line 7 of", "has 2 cells and there are 3 attributes"),
    ("a.arff", ARFF + "1,x,0\n2,x,1,1\n", {}, "line 7 of", "has 4 cells"),
    ("a.arff", ARFF + "1,x,0\n%\n\none,x,1\n", {}, "line 9, column 'a' of", "is 'one', not a number"),
    ("a.arff", ARFF + "1_0,x,1\n", {}, "line 6, column 'a' of", "is '1_0', not a number"),
    ("a.arff", ARFF + ",x,1\n", {}, "line 6, column 'a' of", "is empty"),
    ("a.arff", ARFF + "nan,x,1\n", {}, "line 6, column 'a' of", "is nan; features are finite numbers"),
    ("a.arff", ARFF + "1,x,1\n-inf,x,1\n", {}, "line 7, column 'a' of", "is -inf"),
    ("a.arff", ARFF + "?,x,1\n", {}, "line 6, column 'a' of", "is missing (?); only labels may be"),
    ("a.arff", ARFF + "1,?,1\n", {}, "line 6, column 'b c' of", "is missing (?)"),
    ("a.arff", ARFF + "1,z,1\n", {}, "line 6, column 'b c' of", "is 'z', not one of the declared values 'x', 'y'"),
    ("a.arff", ARFF + "1,x,2\n", {}, "line 6, column 'p' of", "is '2', not one of the declared values '0', '1'"),
    ("a.arff", ARFF + "1,'x,1\n", {}, "line 6 of", "a quote that is not closed"),
    ("a.arff", ARFF + "1,x,1,{5}\n", {}, "line 6 of", "ends with a weight"),
    ("a.arff", ARFF + "{0 1}\n{3 1}\n", {}, "line 7 of", "column 3, out of range for 3 attributes"),
    ("a.arff", ARFF + f"{{{'9' * 5000} 1}}\n", {}, "line 6 of", "a column number and a value are expected"),
    ("a.arff", ARFF + "{-1 1}\n", {}, "line 6 of", "out of range"),
    ("a.arff", ARFF + "{0 1, 2 1, 0 2}\n", {}, "line 6 of", "column 0 ('a') twice"),
    ("a.arff", ARFF + "{0 1, 2\n", {}, "line 6 of", "does not end with }; the file may be truncated"),
    ("a.arff", ARFF + "{0 1, 2}\n", {}, "line 6 of", "has '2' where"),
    ("a.arff", ARFF + "{0 1,, 2 1}\n", {}, "line 6 of", "has '' where"),
    ("a.arff", ARFF + "{0 x}\n", {}, "line 6, column 'a' of", "not a number"),
    ("a.arff", ARFF + "{0 nan}\n", {}, "line 6, column 'a' of", "is nan"),
    ("a.arff", ARFF + "{0 1}, {3}\n", {}, "line 6 of", "ends with a weight"),
    ("a.arff", ARFF + "{0 1}\n1,x,1\n", {}, "line 7 of", "is dense and the rows before are sparse"),
    (
        "a.arff",
        "@relation r\n@attribute a real\n@attribute p real\n@data\n1,1\n1,3\n",
        {},
        "line 6, column 'p'",
        "is 3",
    ),
    ("a.arff", "@relation r\n@attribute a real\n@attribute p real\n@data\n1,-1\n1,0\n", {}, "not in both"),
    ("a.arff", ARFF.encode() + b"1,\xff,1\n", {}, "line 6 of", "not text in UTF-8"),
    # npz
    ("a.npz", "not a zip file", {}, "is not a complete .npz file"),
    ("a.npz", archive(X=X, Y=Y)[:-30], {}, "is not a complete .npz file; it may be truncated"),
    ("a.npz", archive(Z=X, Y=Y), {}, "has no X", "its keys are 'Z', 'Y'"),
    ("a.npz", archive(data=[1.0], indices=[0], Y=Y), {}, "it lacks 'indptr', 'shape'"),
    ("a.npz", archive(X=X, data=X, Y=Y), {}, "has X and parts of a CSR matrix"),
    ("a.npz", archive(X=X), {}, "has neither Y nor y"),
    ("a.npz", archive(X=X, Y=Y, y=[0, 1, 1]), {}, "has both Y and y"),
    ("a.npz", archive(X=X, y=[0, 1, 1]), {}, "has y and no groups"),
    ("a.npz", archive(X=X, Y=Y, groups=[0, 1, 1]), {}, "has Y and groups"),
    ("a.npz", archive(X=np.array([{}, {}], dtype=object), Y=Y), {}, "X in", "holds Python objects"),
    ("a.npz", archive(X=X.astype(str), Y=Y), {}, "X in", "it must hold real numbers"),
    ("a.npz", archive(X=X.astype(complex), Y=Y), {}, "X in", "dtype complex128"),
    ("a.npz", archive(X=X[0], Y=Y), {}, "X in", "shape (2,); it must have two axes"),
    ("a.npz", archive(X=X[:0], Y=Y[:0]), {}, "shape (0, 2); it needs at least one row"),
    ("a.npz", archive(X=X[:, :0], Y=Y), {}, "at least one row and one feature"),
    ("a.npz", archive(X=X, Y=Y[:2]), {}, "Y in", "has shape (2, 3) and X 3 rows"),
    ("a.npz", archive(X=X, Y=Y[:, :0]), {}, "Y in", "at least one label"),
    ("a.npz", archive(X=X, Y=Y[0]), {}, "Y in", "two axes"),
    ("a.npz", archive(X=X, Y=2 * Y), {}, "Y[0, 0] of", "is 2; labels are in {0, 1} or {-1, +1}"),
    ("a.npz", archive(X=X, y=[0, 1, 0.5], groups=[1, 1, 2]), {}, "y[2] of", "is 0.5"),
    ("a.npz", archive(X=X, y=[0, 1, np.nan], groups=[1, 1, 2]), {}, "y[2] of", "is missing; every frame needs"),
    ("a.npz", archive(X=X, y=[0, 1], groups=[1, 1, 2]), {}, "y in", "has shape (2,) and X 3 rows"),
    ("a.npz", archive(X=X, y=[0, 1, 1], groups=[1, 2]), {}, "groups in", "has shape (2,)"),
    ("a.npz", archive(X=X, y=[0, 1, 1], groups=[1, np.nan, 2]), {}, "groups[1] of", "is missing"),
    ("a.npz", archive(X=X, y=[0, 1, 1], groups=["a", "b", ""]), {}, "groups[2] of", "is missing"),
    ("a.npz", archive(X=X * [1, np.inf], Y=Y), {}, "X[0, 1] of", "is inf; features are finite"),
    ("a.npz", archive(X=X, Y=Y, feature_names=["a"]), {}, "feature_names in", "X 2 columns"),
    ("a.npz", archive(X=X, Y=Y, label_names=[1, 2, 3]), {}, "label_names in", "must hold text"),
    ("a.npz", csr(indptr=[0, 1, 2]), {}, "do not fit a CSR matrix of 3 rows"),
    ("a.npz", csr(indptr=[0, 2, 1, 2]), {}, "indptr in", "must rise from 0"),
    ("a.npz", csr(indices=[0, 2]), {}, "indices[1] in", "is 2, out of range for 2 features"),
    ("a.npz", csr(indices=[0, -1]), {}, "indices[1] in", "is -1"),
    ("a.npz", csr(indices=[1, 1], indptr=[0, 0, 2, 2]), {}, "row 1 of X in", "has feature 1 twice"),
    ("a.npz", csr(data=[1.0, np.nan]), {}, "X[2, 1] of", "is nan"),
    ("a.npz", csr(indices=[0.0, 1.0]), {}, "indices in", "it must hold integers"),
    ("a.npz", csr(shape=[3, 2, 1]), {}, "must hold two numbers"),
    ("a.npz", csr(shape=[-1, 2]), {}, "do not fit"),
    ("a.npz", csr(format=np.array(b"csc")), {}, "format b'csc'; convert it with X.tocsr()"),
    ("a.npz", member(b"junk"), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", member(b""), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", member(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 10**12), }")), {}, "X in"),
    ("a.npz", member(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1000000000000), }")), {}, "length"),
    ("a.npz", member(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, -2), }")), {}, "X in"),
    ("a.npz", member(npy("{'descr': '|O', 'fortran_order': False, 'shape': (3, 2), }")), {}, "Python objects"),
    # CSV
    ("a.csv", "\n\n", {}, "has no rows"),
    ("a.csv", "group,label,x\n", {}, "names columns and has no rows"),
    ("a.csv", "1,0,2\n1,0,3\n", {}, "the first row of", "the number '1' in it; it must name the columns"),
    ("a.csv", ",group,label,x\n0,1,0,2\n", {}, "column 1 of", "has no name", "leave out the index"),
    ("a.csv", "group;label;x\n1;0;2\n", {}, "has one column", "separated by commas"),
    ("a.csv", "group,label,x,x\n1,0,2,3\n", {}, "two columns named 'x'"),
    ("a.csv", "track,label,x\n1,0,2\n", {}, "no column 'group'", "group=", "'track', 'label', 'x'"),
    ("a.csv", "group,y,x\n1,0,2\n", {"label": "face"}, "no column 'face'", "with label="),
    ("a.csv", "group,label,x\n1,0,2\n", {"group": "x", "label": "x"}, "group and label are both 'x'"),
    ("a.csv", "group,label\n1,0\n", {}, "has no columns of features"),
    ("a.csv", "group,label,x\n1,0,2\n1,0\n", {}, "line 3 of", "has 2 cells and the first row names 3 columns"),
    ("a.csv", "group,label,x\n1,0,2\n1,0,2,9\n", {}, "line 3 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2,9\n1,0,2,9\n", {}, "line 2 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2,\n1,0,2,\n", {}, "line 2 of", "has 4 cells"),
    ("a.csv", "group,label,x\n1,0,2\n\n1,0,red\n", {}, "line 4, column 'x' of", "is 'red', not a finite number"),
    ("a.csv", "group,label,x\n1,0,2\n1,0,\n", {}, "line 3, column 'x' of", "is empty"),
    ("a.csv", "group,label,x\n1,0,nan\n", {}, "line 2, column 'x' of", "is 'nan', not a finite number"),
    ("a.csv", "group,label,x\n1,0,1\n1,0,inf\n", {}, "line 3, column 'x' of", "is inf"),
    ("a.csv", "group,label,x\n1,0,1\n,0,1\n", {}, "line 3, column 'group' of", "is missing; every frame needs a bag"),
    ("a.csv", "group,label,x\n1,0,1\n1,,1\n", {}, "line 3, column 'label' of", "is missing; every frame needs a"),
    ("a.csv", "group,label,x\n1,0,1\n1,yes,1\n", {}, "line 3, column 'label' of", "is 'yes', not a finite number"),
    ("a.csv", "group,label,x\n1,0,1\n1,2,1\n", {}, "line 3, column 'label' of", "is 2; labels are in"),
    ("a.csv", 'group,label,x\n"a\nb",0,1\n1,0,z\n', {}, "line 4, column 'x' of", "is 'z'"),
    ("a.csv", 'group,label,x\n"a,0,1\n1,0,2\n', {}, "a.csv"),
    ("a.csv", b"group,label,x\n1,0,\xff\n", {}, "line 2 of", "not text in UTF-8"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "m"}, "no column of", "starts with 'm'", "'x', 'l1'"),
    ("a.csv", "x,l1\n1,0\n", {"labels": ["l1", "l2"]}, "has no columns 'l2' for labels"),
    ("a.csv", "x,l1\n1,0\n", {"labels": 1}, "labels=1 does not name columns"),
    ("a.csv", "x,l1\n1,0\n", {"labels": "l", "group": "x"}, "give one or the other"),
    ("a.csv", "x,l1,l2\n1,0,7\n", {"labels": "l"}, "line 2, column 'l2' of", "is 7"),
    ("a.csv", "x,l1,l2\n1,1,0\n2,1\n", {"labels": "l"}, "line 3 of", "has 2 cells"),
    ("a.csv", "x,l1,l2\n1,,0\nz,0,1\n", {"labels": "l"}, "line 3, column 'x' of", "is 'z'"),
    # Parquet
    ("a.parquet", "PAR1 and no more", {}, "is not a complete Parquet file"),
    ("a.parquet", b"PAR1" + bytes(40) + b"PAR1", {}, "is not a complete Parquet file"),
]


def named(*cases):
    """Cases of (content, part of the message), called by the part: contents are long, or not text."""
    return [pytest.param(*case, id=f"{k}-{case[-1]}") for k, case in enumerate(cases)]


def sentence(call, *arguments, **options):
    """The message of the error, which is one line."""
    with pytest.raises(DatasetError) as caught:
        call(*arguments, **options)
    assert type(caught.value) is DatasetError
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400 + 2 * 200, message
    return message


def put(path, content):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "options", "parts"),
    [pytest.param(n, c, o, p, id=f"{k}-{n}-{p[-1][:30]}") for k, (n, c, o, *p) in enumerate(BROKEN)],
)
def test_broken_files(tmp_path, name, content, options, parts):
    if name.endswith((".csv", ".parquet")):
        pytest.importorskip("pandas")
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / "a.xml").write_text(XML)
    message = sentence(load, put(tmp_path / name, content), **options)
    for part in parts:
        assert part in message
    if not any(word in message for word in ("must be 0 or 1", "must be at least", "other.xml", "one or the other")):
        assert name in message


@pytest.mark.parametrize(
    ("content", "part"),
    named(
        ("", "is empty"),
        ("<labels>", "is not well-formed XML"),
        ("no xml", "is not well-formed XML"),
        ('<?xml version="1.0" encoding="klingon"?><labels/>', "is not well-formed XML"),
        ("<tags><label name='p'/></tags>", "starts with <tags>"),
        ("<labels/>", "names no labels"),
        ("<labels><label/></labels>", "a label without a name (number 1)"),
        ("<labels><label name='p'/><label name='p'/></labels>", "two labels named 'p'"),
        ("<!DOCTYPE labels><labels><label name='p'/></labels>", "<!DOCTYPE ...>; remove it"),
        ('<!DOCTYPE l SYSTEM "file:///etc/hostname"><labels><label name="p"/></labels>', "<!DOCTYPE ...>"),
        ("<labels><label name='&outer;'/></labels>", "is not well-formed XML"),
        ("<labels>" + " " * 2**24 + "</labels>", "is larger than 16777216 bytes"),
    ),
)
def test_broken_label_files(tmp_path, content, part):
    put(tmp_path / "a.xml", content)
    message = sentence(load, put(tmp_path / "a.arff", ARFF + "1,x,0\n"))
    assert part in message
    assert "a.xml" in message


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"group": [1, None], "label": [0, 1], "x": [1, 2]}, ("row 2, column 'group' of", "is missing")),
        ({"group": ["a", ""], "label": [0, 1], "x": [1, 2]}, ("row 2, column 'group' of", "is missing")),
        ({"group": [1, 1], "label": [0, 1], "x": ["1", "2"]}, ("column 'x' of", "it must hold numbers")),
        ({"group": [1, 1], "label": ["0", "1"], "x": [1, 2]}, ("column 'label' of", "it must hold numbers")),
        ({"group": [1, 1], "label": [0, 1], "x": [1, None]}, ("row 2, column 'x' of", "is nan")),
        ({"group": [1, 1], "label": [0, 4], "x": [1, 1]}, ("row 2, column 'label' of", "is 4")),
        ({"group": [1, 1], "label": [0, 1], "x": [[1], [2]]}, ("column 'x' of", "it must hold numbers")),
        ({"group": [1, 1], "label": [[1], [2]], "x": [1, 2]}, ("column 'label' of", "it must hold numbers")),
        ({"group": [], "label": [], "x": []}, ("has no rows",)),
        ({"g": [1], "label": [0], "x": [1]}, ("no column 'group'",)),
    ],
)
def test_broken_parquet_tables(tmp_path, columns, parts):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
    message = sentence(load, tmp_path / "a.parquet")
    for part in (*parts, "a.parquet"):
        assert part in message


@pytest.mark.parametrize(
    ("content", "part"),
    named(
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
    ),
)
def test_broken_series(tmp_path, content, part):
    put(tmp_path / "JapaneseVowels_TRAIN.ts", content)
    message = sentence(load_japanese_vowels, tmp_path)
    assert part in message
    assert "JapaneseVowels_TRAIN.ts" in message


def packed(content):
    return gzip.compress(content, mtime=0)


FRAME = " ".join(["1"] * 13) + "\n"


@pytest.mark.parametrize(
    ("content", "part"),
    named(
        (None, "there is no file"),
        (b"no gzip", "is not a complete gzip file"),
        (packed(FRAME.encode() * 100)[:-9], "is not a complete gzip file"),
        (packed(b" \n\n"), "has no frames"),
        (packed(f" \n{FRAME}1 2 3\n".encode()), "line 3 of"),
        (packed(b"1 2 3\n"), "has 3 numbers, 13 are expected"),
        (packed(FRAME.replace("1", "x", 1).encode()), "'x', not a number"),
        (packed(FRAME.replace("1", "nan", 1).encode()), "line 1, number 1 of"),
        (packed(FRAME.encode()), "has 1 utterances, 6600 are expected"),
    ),
)
def test_broken_utterances(tmp_path, content, part):
    put(tmp_path / "Train_Arabic_Digit.txt.gz", content)
    message = sentence(load_spoken_arabic_digits, tmp_path)
    assert part in message
    assert "Train_Arabic_Digit.txt.gz" in message


def test_a_wrong_split_or_target(tmp_path):
    assert sentence(load_japanese_vowels, tmp_path, "valid") == "split is 'train' or 'test', not 'valid'"
    assert sentence(load_spoken_arabic_digits, tmp_path, "valid") == "split is 'train' or 'test', not 'valid'"
    assert "target is" in sentence(load_spoken_arabic_digits, tmp_path, "train", "age")


def test_messages_stay_short(tmp_path):
    (tmp_path / "a.xml").write_text(XML)
    text = f"@relation r\n@attribute {'a' * 10**5} {{{'v' * 10**5}}}\n@attribute p {{0,1}}\n@data\n{'w' * 10**5},0\n"
    assert len(sentence(load, put(tmp_path / "a.arff", text))) < 600


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "a.npz").mkdir()
    assert "is not a file" in sentence(load, tmp_path / "a.npz")


@pytest.mark.parametrize("suffix", ["arff", "svm", "npz", "csv", "parquet"])
def test_damaged_bytes_end_in_the_same_error_or_in_data(tmp_path, suffix):
    """Every prefix, and single bytes changed at random, of a good file of each kind."""
    good = good_file(suffix)
    (tmp_path / "a.xml").write_text(XML)
    rng = np.random.default_rng(0)
    cuts = [good[:k] for k in np.linspace(0, len(good), 60, dtype=int)]
    for _ in range(150):
        flipped = bytearray(good)
        for place in rng.integers(0, len(good), rng.integers(1, 4)):
            flipped[place] = rng.integers(256)
        cuts.append(bytes(flipped))
    options = {"labels": "l"} if suffix in ("csv", "parquet") else {}
    for content in cuts:
        try:
            load(put(tmp_path / f"a.{suffix}", content), **options)
        except DatasetError:
            continue


def good_file(suffix):
    if suffix == "arff":
        return (ARFF + "".join(f"{i / 7},{'xy'[i % 2]},{i % 2}\n" for i in range(10))).encode()
    if suffix == "svm":
        return "".join(f"{i % 3},3 1:{i / 7} {2 + i}:0.5 # {i}\n" for i in range(10)).encode()
    X, Y = make_multilabel_classification(12, 5, n_classes=3, random_state=0)
    if suffix == "npz":
        return archive(X=X, Y=Y)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(l0=Y[:, 0], l1=Y[:, 1])
    if suffix == "csv":
        return frame.to_csv(index=False).encode()
    pytest.importorskip("pyarrow")
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()
