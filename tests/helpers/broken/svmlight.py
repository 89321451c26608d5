"""Broken svmlight files, and what is wrong with any file."""

from helpers.broken.case import archive, cases

X, Y = [[1.0, 1.0]], [[1]]

ANY = [
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
    ("a.npz", b"\x1f\x8b\x08\x00packed", {}, "is not a complete .npz file"),
    ("a.svm", b"\x00\x00\x00\x00", {}, "a.svm"),
    ("a.svm", "1 1:1\n".encode("utf-16"), {}, "line 1 of", "not text in UTF-8"),
]

SVMLIGHT = [
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
    ("a.svm", "1 2 -5\n 0:1\n", {}, "line 1 of", "promises -5 examples, features or labels"),
    ("a.svm", "-1 2 5\n0 0:1\n", {}, "line 1 of", "promises -1"),
    ("a.svm", "1 9999999999 2\n0 0:1\n", {}, "has 9999999999 features and the limit for a file of its size is"),
    ("a.svm", "1 2 999999999\n0 0:1\n", {}, "999999999 labels; the limits are 4194304 labels"),
    ("a.svm", "1 2147483647:1\n", {}, "has 2147483647 features and the limit for a file of its size is"),
    ("a.svm", "\ufeff1 1:1\n1 1:x\n", {}, "line 2 of", "'1:x' where index:value is expected"),
    ("a.svm", "1 1:1\r\n1 1:1:1\r\n", {}, "line 2 of", "'1:1:1' where index:value is expected"),
    ("a.svm", "1 1:1\n1 1:\x00\n", {}, "line 2 of", "where index:value is expected"),
    ("a.svm", "1 1:1\n\u0661x 1:1\n", {}, "line 2 of", "the label"),
]

CASES = cases("any file", ANY) + cases("svmlight", SVMLIGHT)
