"""Good files of every kind, to be damaged: small, and with every feature of their format."""

import io
from collections.abc import Callable
from functools import cache

import numpy as np

from helpers.broken import checkpoints, models
from helpers.broken.arff import ARFF, XML

X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
Y = (X > 0).astype(np.int8)
GROUPS = np.arange(12) // 3


def svmlight() -> list[bytes]:
    lines = "".join(f"{i % 3},3 1:{i / 7} {2 + i}:0.5 # {i}\n" for i in range(10))
    return [lines.encode(), b"# all\n" + lines.replace("\n", "\r\n").encode(), b"2 3 2\n0,1 0:1 2:-.5e3\n 1:2\n"]


def arff() -> list[bytes]:
    rows = "".join(f"{i / 7},{'xy'[i % 2]},{'?' if i == 4 else i % 2}\n" for i in range(10))
    sparse = "{0 1.5, 2 1}\n% comment\n{}\n{1 y}\n{1 'x',2 1} % end\n"
    quoted = ARFF.replace("{x,y}", "{'x', 'y y'}").replace("real", "integer") + "7,'y y',0\n8,'x',1\n"
    return [(ARFF + rows).encode(), (ARFF + sparse).encode(), quoted.encode()]


def label_xml() -> list[bytes]:
    nested = (
        '<labels>\n<label name="a&amp;b"><label name="p"/></label><!-- x --><label name="&#955;"></label></labels>'
    )
    return [XML.encode(), b'<?xml version="1.0" encoding="utf-8"?>' + nested.encode()]


@cache
def npz() -> list[bytes]:
    from scipy.sparse import csr_array

    sparse = csr_array(np.where(X > 0.5, X, 0))
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr, "shape": sparse.shape}
    names = {"feature_names": ["a", "b", "c"], "label_names": ["p", "q", "r"]}
    contents = ({"X": X, "Y": Y} | names, {"X": X.astype("f4"), "y": Y[:, 0], "groups": GROUPS}, parts | {"Y": Y})
    return [_saved(**arrays) for arrays in contents]


@cache
def csv_table() -> list[bytes]:
    rows = "".join(f"bag {g},{y[0]},{x[0]},{x[1]}\n" for g, x, y in zip(GROUPS, X, Y, strict=True))
    quoted = '\ufeff"group","label","x, y","z"\r\n"1","0","2.5","1e-3"\r\n1,1,-2,"3"\r\n'
    return [f"group,label,x,y\n{rows}".encode(), quoted.encode()]


@cache
def parquet() -> list[bytes]:
    import pandas

    frame = pandas.DataFrame(X, columns=["x", "y", "z"]).assign(group=GROUPS, label=Y[:, 0])
    streams = [io.BytesIO(), io.BytesIO()]
    frame.to_parquet(streams[0])
    frame.assign(group=[f"bag {g}" for g in GROUPS], x=frame.x.astype("f4")).to_parquet(streams[1], compression=None)
    return [stream.getvalue() for stream in streams]


def cost_csv() -> list[bytes]:
    return [b"0,1,1.5,2\n", b"0,0.5,1\n0.25,0.75,1\n1,1,1\n", b"\xef\xbb\xbf0\r\n\r\n1e-3\r\n+2.5\r\n"]


@cache
def cost_npy() -> list[bytes]:
    streams = []
    for array in (np.array([0.0, 1, 1, 2]), np.array([[0, 1], [1, 2]], order="F"), np.zeros((2, 2, 2), dtype=bool)):
        streams.append(io.BytesIO())
        np.save(streams[-1], array)
    return [stream.getvalue() for stream in streams]


def knots() -> list[bytes]:
    return [b"0:0,1/4:1,1:1", b"0:0, 0.5:1e3, 1:0", b"0:0,1:1"]


def model() -> list[bytes]:
    return [models.good()]


def checkpoint() -> list[bytes]:
    return [checkpoints.good()]


FILES: dict[str, Callable[[], list[bytes]]] = {
    "svm": svmlight,
    "arff": arff,
    "xml": label_xml,
    "npz": npz,
    "csv": csv_table,
    "parquet": parquet,
    "table.csv": cost_csv,
    "table.npy": cost_npy,
    "knots": knots,
    "skops": model,
    "checkpoint.npz": checkpoint,
}
"""Suffix -> good files of that kind."""


def _saved(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()
