"""Small files made to take all memory or all time: every reader stays within a stated bound, and is done at once.

The bound is 1 GiB and 64 times the size of the file, on top of what the process has before. Each file is read in a
child process whose address space is limited to that; a reader that took more would end in a MemoryError.
"""

import gzip
import json
import zipfile

import numpy as np
import pytest

from helpers.broken.case import packed
from helpers.children import printed

CHILD = """
import resource, sys
from pathlib import Path
import numpy, scipy.sparse, sklearn.datasets, pandas, pyarrow.parquet, pyarrow.compute
from setloss.cli.cost_tables import read_table
from setloss.cli.errors import InputError
from experiments.loaders import load_spoken_arabic_digits
from setloss.datasets import DatasetError, load
from setloss.datasets.label_xml import read_label_names
from setloss.estimators import ModelFileError, load as load_model
from setloss.solvers import CheckpointError
from setloss.solvers.checkpoint import Checkpoint

pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)

def taken():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

def shape_in(path):
    if path.suffix in (".skops", ".model"):
        return load_model(path).coef_.shape
    if path.suffix == ".checkpoint":
        return sorted(Checkpoint(path, "")._read(path)[1])
    if path.name.startswith("table"):
        return read_table(path).shape
    if path.suffix == ".xml":
        return len(read_label_names(path))
    if path.suffix == ".gz":
        return load_spoken_arabic_digits(path.parent).X.shape
    return load(path, **({"labels": 1} if path.suffix == ".arff" else {})).X.shape

good, *files = sys.argv[1:]
load(good)  # threads and buffers that stay
for name in files:
    path = Path(name)
    resource.setrlimit(resource.RLIMIT_AS, (taken() + 2**30 + 64 * path.stat().st_size, resource.RLIM_INFINITY))
    try:
        said = f"read {shape_in(path)}"
    except (CheckpointError, DatasetError, InputError, ModelFileError) as error:
        said = str(error)
    print(path.name, said)
"""


def repeated_text(path, text, times):
    """Rows of Parquet that all name one text, which is stored once."""
    import pyarrow
    from pyarrow import parquet

    codes = pyarrow.nulls(2**16, pyarrow.int8()).fill_null(0)
    numbers = pyarrow.DictionaryArray.from_arrays(codes, [1.0]).dictionary_decode()
    columns = {"group": pyarrow.DictionaryArray.from_arrays(codes, [text]), "label": numbers, "x": numbers}
    table = pyarrow.table(columns)
    with parquet.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        for _ in range(times):
            writer.write_table(table)


def schema_of_lists(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("schema.json", "[" + "[]," * 20_000_000 + "[]]")


def quoted_nominals(path, count):
    values = ",".join(f"v{i}" for i in range(count))
    rows = "".join(f"'v{i % count}',1,0\n" for i in range(count))
    header = f"@relation r\n@attribute a {{{values}}}\n@attribute b numeric\n@attribute c {{0,1}}\n@data\n"
    path.write_text(header + rows)


def sparse_repeats(path, count):
    row = ", ".join(["0 1", *(f"{j} 1" for j in range(count))])
    names = "".join(f"@attribute a{j} numeric\n" for j in range(count))
    path.write_text(f"@relation r\n{names}@attribute y {{0,1}}\n@data\n{{{row}}}\n")


def many_columns(path, count):
    names = ",".join(f"x{j}" for j in range(count))
    path.write_text(f"group,label,{names}\na,1,{','.join(['1'] * count)}\na,0,{','.join(['1'] * count)}\n")


def wide_model(path, features):
    """A model of so many features, all without weight."""
    header = {"format": "setloss-model-1", "version": "0", "kind": "BagClassifier", "loss": "dice", "flat": False}
    header |= {"parameters": {}, "n_features_in": features, "n_iter": 1, "dual_gap": 0.0}
    weights = {"coef": np.zeros((1, features)), "intercept": np.zeros(1), "classes": np.arange(2)}
    path.write_bytes(packed(header=json.dumps(header), **weights))


def line_without_end(path):
    path.write_bytes(60 * gzip.compress(b"0 " * 2_500_000, compresslevel=1))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the readers say of each file."""
    for library in ("pandas", "pyarrow", "skops"):
        pytest.importorskip(library)
    folder = tmp_path_factory.mktemp("bombs")
    repeated_text(folder / "long.parquet", "x" * 10**6, 1)
    repeated_text(folder / "ids.parquet", "x" * 200, 40)
    schema_of_lists(folder / "lists.skops")
    (folder / "index.svm").write_text("1 2147483647:1\n0 1:1\n")
    quoted_nominals(folder / "quoted.arff", 4_000)
    sparse_repeats(folder / "repeats.arff", 20_000)
    many_columns(folder / "columns.csv", 2 * 10**5)
    (folder / "line.csv").write_text("group,label,x\na,1," + "1" * 20_000_000 + "\n")
    (folder / "cells.csv").write_text("group,label,x\na,1," + "1," * 500_000 + "\n")
    (folder / "line.svm").write_text("1 " + " ".join(f"{j}:1" for j in range(1, 200_000)) + "\n")
    int8 = np.zeros((2**13, 2**13 - 8), np.int8)
    (folder / "small.npz").write_bytes(packed(X=int8, Y=int8[:, :1]))
    (folder / "labels.npz").write_bytes(packed(X=np.zeros((2**12, 1)), Y=np.zeros((2**12, 2**13), np.int8)))
    (folder / "more.npz").write_bytes(packed(X=np.zeros((2**14, 2**10)), Y=np.zeros((2**14, 2**8), np.int8)))
    wide_model(folder / "wide.model", 2**24)
    (folder / "planes.checkpoint").write_bytes(packed(best=np.zeros((1, 2)), planes=np.zeros((2**24, 2))))
    labels = "".join(f"<label name='{k}'/>" for k in range(5 * 10**4))
    (folder / "names.xml").write_text(f"<labels>{labels}</labels>")
    (folder / "table.csv").write_text("0" + ",1" * 2 * 10**5 + "\n")
    line_without_end(folder / "Train_Arabic_Digit.txt.gz")
    names = sorted(str(path) for path in folder.iterdir())
    repeated_text(folder / "good.parquet", "x", 1)
    lines = printed(CHILD, folder / "good.parquet", *names).splitlines()
    return dict(line.split(" ", 1) for line in lines)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("long.parquet", "has a bag id of more than 200 characters"),
        ("ids.parquet", "the bag ids of"),
        ("lists.skops", "a schema.json of more than"),
        ("index.svm", "has 2147483647 features and the limit for a file of its size is 33554432"),
        ("quoted.arff", "read (4000, 4001)"),
        ("repeats.arff", "has column 0 ('a0') twice"),
        ("columns.csv", "has 200002 columns, more than 131072"),
        ("line.csv", "is not a table separated by commas"),
        ("cells.csv", "line 2 of"),
        ("line.svm", "read (1, 199999)"),
        ("small.npz", "536346624 bytes of memory, and the limit for a file of its size is 268435456"),
        ("labels.npz", "read (4096, 1)"),
        ("more.npz", "read (16384, 1024)"),
        ("wide.model", "read (1, 16777216)"),
        ("planes.checkpoint", "is not a checkpoint of setloss"),
        ("names.xml", "read 50000"),
        ("table.csv", "read (200001,)"),
        ("Train_Arabic_Digit.txt.gz", "holds more than 268435456 bytes"),
    ],
)
def test_readers_stay_within_their_bound(told, name, words):
    assert words in told[name]
