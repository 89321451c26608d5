"""Train on data several times larger than a hard limit on memory: ``python -m benchmarks.out_of_core``.

Writes generated tracks to disk, then runs ``setloss train FOLDER --memory ...`` in a process whose address space is
limited (as by ``ulimit -v``), and prints what it took.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROWS = 8192
FORMATS = ("npy", "parquet", "zarr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=6.0, help="size of X, float32")
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=1.5, help="of the address space, in GB")
    parser.add_argument("--memory", default="1GB", help="what setloss train is told")
    parser.add_argument("--format", choices=FORMATS, default="npy")
    parser.add_argument("--C", type=float, default=1e-4)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--folder", help="where to write the data; by default a folder that is removed again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name) / "data"
        rows = int(options.gigabytes * 1e9 / (4 * options.features))
        write(folder, rows, options.features, options.format)
        report(train(folder, options) | {"raw": raw_seconds(folder)}, rows, options)


def write(folder: Path, rows: int, features: int, kind: str) -> None:
    """Tracks of 1 to 40 frames, 40 % of them positive, a block of rows at a time."""
    generator = np.random.default_rng(0)
    folder.mkdir()
    groups = np.repeat(np.arange(rows), generator.integers(1, 40, rows))[:rows]
    y = (generator.random(rows) < 0.4).astype(np.int8)
    truth = (1.5 / np.sqrt(features) * generator.standard_normal(features)).astype(np.float32)

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, rows, ROWS):
            part = slice(start, min(start + ROWS, rows))
            noise = generator.standard_normal((part.stop - start, features), dtype=np.float32)
            yield part, noise + np.where(y[part], truth[:, None], -truth[:, None]).T

    {"npy": _write_npy, "parquet": _write_parquet, "zarr": _write_zarr}[kind](folder, blocks(), y, groups, features)


def _write_npy(folder: Path, blocks: Iterator, y: np.ndarray, groups: np.ndarray, features: int) -> None:
    np.save(folder / "y.npy", y)
    np.save(folder / "groups.npy", groups)
    with (folder / "X.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(y), features)}
        np.lib.format.write_array_header_1_0(file, header)
        for _, block in blocks:
            block.tofile(file)


def _write_zarr(folder: Path, blocks: Iterator, y: np.ndarray, groups: np.ndarray, features: int) -> None:
    import zarr

    group = zarr.open_group(str(folder), mode="w")
    group.create_array("y", data=y)
    group.create_array("groups", data=groups)
    X = group.create_array("X", shape=(len(y), features), chunks=(ROWS // 4, features), dtype="f4", compressors=None)
    for part, block in blocks:
        X[part] = block


def _write_parquet(folder: Path, blocks: Iterator, y: np.ndarray, groups: np.ndarray, features: int) -> None:
    import pyarrow
    import pyarrow.parquet

    for number, (part, block) in enumerate(blocks):
        columns = {f"x{j}": block[:, j] for j in range(features)} | {"label": y[part], "group": groups[part]}
        table = pyarrow.table(columns)
        name = folder / f"{number:05d}.parquet"
        pyarrow.parquet.write_table(table, name, use_dictionary=False, compression="none", row_group_size=ROWS // 2)


def train(folder: Path, options: argparse.Namespace) -> dict:
    """The document of the command, run under the limit, and its time and largest resident memory."""
    bound = int(options.limit * 1e9)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))

    words = ["train", str(folder), "--memory", options.memory, "--C", str(options.C), "--tol", str(options.tol)]
    command = [sys.executable, "-m", "setloss.cli", *words, "--model", str(folder / "model.skops"), "--json"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    begin = time.perf_counter()
    done = subprocess.run(command, preexec_fn=limited, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"setloss train ended with {done.returncode}: {done.stderr[-2000:]}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return json.loads(done.stdout) | {"wall": time.perf_counter() - begin, "peak": peak}


def raw_seconds(folder: Path, block: int = 2**24) -> float:
    """The time to read all files of a folder once, and do nothing with them."""
    begin = time.perf_counter()
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb", buffering=0) as stream:
                while stream.read(block):
                    pass
    return time.perf_counter() - begin


def report(found: dict, rows: int, options: argparse.Namespace) -> None:
    size = 4 * rows * options.features
    print(f"X on disk, {options.format:24} {size / 1e9:8.2f} GB, {rows} frames of {options.features} features")
    print(f"limit on the address space{'':9} {options.limit:8.2f} GB, {size / 1e9 / options.limit:.1f} times less")
    print(f"largest resident memory{'':12} {found['peak'] / 1e9:8.2f} GB")
    print(f"{found['status']}, relative gap {found['gap']:.1e} after {found['iterations']} iterations")
    print(f"passes over the file{'':15} {found['passes']:8.0f}")
    print(f"seconds{'':28} {found['wall']:8.0f}, {size * found['passes'] / found['wall'] / 1e6:.0f} MB/s on average")
    each = found["wall"] / found["passes"]
    print(f"a raw read of the file{'':13} {found['raw']:8.1f}, {size / found['raw'] / 1e6:.0f} MB/s; ", end="")
    print(f"a pass took {each:.1f} seconds, {each / found['raw']:.1f} times that")


if __name__ == "__main__":
    main()
