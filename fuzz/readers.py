"""Coverage-guided fuzzing of one reader: what it may do with any bytes is to return data or to raise its own error.

``python fuzz/readers.py csv`` (parquet, arff, skops) takes libFuzzer's options; without a folder for the
corpus it takes build/fuzz/<suffix>, filled with one good file.
"""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["setloss.io", "arff", "skops", "json"]):
    from setloss.io import DatasetError, read
    from setloss.io.models import ModelFileError, load

CSV = b"group,label,x\n1,0,2.5\n1,1,3\n"
ARFF = b"@relation r\n@attribute a numeric\n@attribute p {0,1}\n@data\n0.5,1\n{1 1}\n"


def good_file(suffix: str) -> bytes:
    """A file that the reader takes."""
    if suffix in ("csv", "arff"):
        return {"csv": CSV, "arff": ARFF}[suffix]
    stream = io.BytesIO()
    if suffix == "parquet":
        import pandas

        pandas.read_csv(io.BytesIO(CSV)).to_parquet(stream)
    else:
        from sklearn.linear_model import LogisticRegression
        from skops.io import dump

        dump(LogisticRegression().fit([[0], [1], [2]], [0, 1, 1]), stream)
    return stream.getvalue()


def fuzz(suffix: str) -> None:
    """Fuzz the reader of files of this kind until libFuzzer's limits."""
    warnings.simplefilter("ignore")
    corpus = Path(__file__).parents[1] / "build" / "fuzz" / suffix
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "good").write_bytes(good_file(suffix))
    options = [word for word in sys.argv[2:] if word.startswith("-")]
    folders = [word for word in sys.argv[2:] if not word.startswith("-")] or [str(corpus)]
    defaults = ["-timeout=20", "-rss_limit_mb=4096", f"-artifact_prefix={corpus.parent}/crash-{suffix}-"]
    reader: Callable[..., object] = load if suffix == "skops" else read
    labels = {"labels": 1} if suffix == "arff" else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{suffix}"

        def try_one(data: bytes) -> None:
            path.write_bytes(data)
            with suppress(DatasetError, ModelFileError):
                reader(path, **labels)

        atheris.Setup([sys.argv[0], *defaults, *options, *folders], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1])
