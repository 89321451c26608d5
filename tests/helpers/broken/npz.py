"""Broken NumPy archives: keys, shapes, dtypes, lengths, bombs."""

import zipfile

import numpy as np

from helpers.broken.case import Made, archive, cases, member, npy, packed, shaped

X, Y = np.ones((3, 2)), np.eye(3, dtype=int)


def csr(**parts):
    whole = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 1, 2], "shape": [3, 2], "Y": Y}
    return archive(**whole | parts)


def bomb():
    """An array of 256 MiB of zeros in a file of a quarter of a megabyte."""
    return packed(X=np.zeros((2**25, 1)), Y=Y)


def twice():
    """X once as it should be and once more: which one counts?"""
    both = member(member(archive(Y=Y), npy("first")), npy("second"), name="x.npy")
    return Made(both.replace(b"x.npy", b"X.npy"), "X.npy, X.npy")


def encrypted():
    content = bytearray(archive(X=X, Y=Y))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    content[content.index(b"PK\x03\x04") + 6] |= 1
    return Made(bytes(content), "X and Y, with a password")


def other_packing():
    content = bytearray(archive(X=X, Y=Y))
    content[content.index(b"PK\x01\x02") + 10] = 99
    content[content.index(b"PK\x03\x04") + 8] = 99
    return Made(bytes(content), "X packed by method 99")


def no_text(name, **arrays):
    """Text of zero characters: its length in the file is 0 whatever its shape."""
    return member(archive(**arrays), shaped("(3,)", "'<U0'"), f"{name}.npy", f"{name} of type <U0 and shape (3,)")


def no_unicode(name, code, **arrays):
    content = shaped("(3,)", "'<U1'", code.to_bytes(4, "little") * 3)
    return member(archive(**arrays), content, f"{name}.npy", f"{name} of three characters of code {code:#x}")


ROWS = [
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
    ("a.npz", member(archive(Y=Y), b"junk"), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", member(archive(Y=Y), b""), {}, "X in", "is not a complete NumPy array"),
    (
        "a.npz",
        member(archive(Y=Y), shaped("(3, 10**12)")),
        {},
        "X in",
    ),
    (
        "a.npz",
        member(archive(Y=Y), shaped("(3, 1000000000000)")),
        {},
        "length",
    ),
    ("a.npz", member(archive(Y=Y), shaped("(3, -2)")), {}, "X in"),
    (
        "a.npz",
        member(archive(Y=Y), shaped("(3, 2)", "'|O'")),
        {},
        "Python objects",
    ),
    ("a.npz", member(archive(Y=Y), shaped("(3, 2)", "()")), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", member(archive(Y=Y), shaped("(3, 2)", "[]")), {}, "X in"),
    ("a.npz", member(archive(Y=Y), npy("(" * 90)), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", member(archive(Y=Y), archive(X=X), words="X.npy that is itself an .npz file"), {}, "X in"),
    ("a.npz", member(archive(Y=Y), shaped("(3, 2)", "'<f8'", bytes(47))), {}, "X in", "has another length"),
    ("a.npz", member(archive(Y=Y), bytes(40), words="X of zeros, by LZMA", method=zipfile.ZIP_LZMA), {}, "X in"),
    ("a.npz", member(archive(Y=Y), b"\x93NUMPY\x09\x00" + bytes(99)), {}, "X in", "is not a complete NumPy array"),
    ("a.npz", bomb, {}, "unpacks to 268435", "the limit for a file of its size is 268435456"),
    ("a.npz", twice, {}, "has two members named 'X.npy'"),
    ("a.npz", encrypted, {}, "X in", "is not a complete NumPy array"),
    ("a.npz", other_packing, {}, "X in", "is not a complete NumPy array"),
    ("a.npz", archive(X=X.astype("M8[s]"), Y=Y), {}, "X in", "it must hold real numbers"),
    ("a.npz", no_text("groups", X=X, y=[0, 1, 1]), {}, "groups in", "holds texts of no length"),
    ("a.npz", no_text("label_names", X=X, Y=Y), {}, "label_names in", "holds texts of no length"),
    ("a.npz", csr(shape=np.array([3, 2**40])), {}, "1099511627776 features and the limit for a file of its size is"),
    ("a.npz", csr(shape=np.array([3, 2**64 - 1], dtype=np.uint64)), {}, "18446744073709551615 features"),
    ("a.npz", csr(data=np.array([1, np.inf], dtype=np.float16)), {}, "X[2, 1] of", "is inf"),
    ("a.npz", csr(indptr=np.array([0, 1, 1, 2**63], dtype=np.uint64)), {}, "indptr in", "must rise from 0"),
    ("a.npz", csr(data=np.ones((2, 1))), {}, "data in", "it must have one axis"),
    ("a.npz", no_unicode("label_names", 0x110000, X=X, Y=Y), {}, "label_names in", "holds text that is not Unicode"),
    ("a.npz", no_unicode("groups", 0xD800, X=X, y=[0, 1, 1]), {}, "groups in", "holds text that is not Unicode"),
]

CASES = cases("npz", ROWS)
