"""Small files made to take all memory or all time: every reader stays within a stated bound, and is done at once.

The bound is 1 GiB and 64 times the size of the file, on top of what the process has before. Each file is read in a
child process whose address space is limited to that; a reader that took more would end in a MemoryError.
"""

import subprocess
import sys
import zipfile

import pytest

from helpers.children import ENVIRONMENT

CHILD = """
import resource, sys
from pathlib import Path
import numpy, scipy.sparse, sklearn.datasets, pandas, pyarrow.parquet, pyarrow.compute, skops.io
from setloss.datasets import DatasetError, load
from setloss.estimators import ModelFileError, load as load_model

pyarrow.set_cpu_count(1)
pyarrow.set_io_thread_count(1)

def taken():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

good, *files = sys.argv[1:]
load(good)  # threads and buffers that stay
for name in files:
    path, options = Path(name), {"labels": 1} if name.endswith("arff") else {}
    resource.setrlimit(resource.RLIMIT_AS, (taken() + 2**30 + 64 * path.stat().st_size, resource.RLIM_INFINITY))
    try:
        found = load_model(path) if path.suffix == ".skops" else load(path, **options)
        said = f"read {found.X.shape}"
    except (DatasetError, ModelFileError) as error:
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
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
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
    many_columns(folder / "columns.csv", 10**6)
    (folder / "line.csv").write_text("group,label,x\na,1," + "1" * 20_000_000 + "\n")
    (folder / "cells.csv").write_text("group,label,x\na,1," + "1," * 500_000 + "\n")
    (folder / "line.svm").write_text("1 " + " ".join(f"{j}:1" for j in range(1, 500_000)) + "\n")
    names = sorted(str(path) for path in folder.iterdir())
    repeated_text(folder / "good.parquet", "x", 1)
    command = [sys.executable, "-c", CHILD, str(folder / "good.parquet"), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("long.parquet", "has a bag id of more than 200 characters"),
        ("ids.parquet", "the bag ids of"),
        ("lists.skops", "a schema.json of more than"),
        ("index.svm", "has 2147483647 features and the limit for a file of its size is 33554432"),
        ("quoted.arff", "read (4000, 4001)"),
        ("repeats.arff", "has column 0 ('a0') twice"),
        ("columns.csv", "has 1000002 columns, more than 131072"),
        ("line.csv", "is not a table separated by commas"),
        ("cells.csv", "line 2 of"),
        ("line.svm", "read (1, 499999)"),
    ],
)
def test_readers_stay_within_their_bound(told, name, words):
    assert words in told[name]
