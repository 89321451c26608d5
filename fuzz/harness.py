"""Coverage-guided fuzzing of one reader: what it may do with any bytes is to return data or to raise its own error.

Every target is a script, ``python fuzz/fuzz_npz.py``, with libFuzzer's options; without a folder for the corpus it
takes build/fuzz/<suffix>, filled with good files. Archives are mutated member by member, so that their checksums
stay right and the bytes reach the reader.
"""

from __future__ import annotations

import io
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

READERS = ("datasets", "archives", "cli", "estimators.persistence", "solvers.checkpoint")

with atheris.instrument_imports(include=[*(f"setloss.{name}" for name in READERS), "skops", "json", "csv"]):
    from helpers.broken import good, reading

    reading.errors()  # imports the readers of models and checkpoints

ARCHIVES = ("npz", "skops", "checkpoint.npz")


def fuzz(suffix: str) -> None:
    """Fuzz the reader of files of this kind until libFuzzer's limits."""
    warnings.simplefilter("ignore")
    corpus = ROOT / "build" / "fuzz" / suffix
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(good.FILES[suffix]()):
        (corpus / f"good-{number}").write_bytes(content)
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    crashes = f"-artifact_prefix={corpus.parent}/crash-{suffix}-"
    defaults = ["-timeout=20", "-rss_limit_mb=4096", "-max_len=16384", crashes]
    folders = [word for word in sys.argv[1:] if not word.startswith("-")] or [str(corpus)]
    mutator = {"custom_mutator": mutate_member} if suffix in ARCHIVES else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{suffix}"

        def try_one(data: bytes) -> None:
            path.write_bytes(data)
            reading.outcome(suffix, path)

        atheris.Setup([sys.argv[0], *defaults, *options, *folders], try_one, **mutator)
        atheris.Fuzz()


def mutate_member(data: bytes, max_size: int, seed: int) -> bytes:
    """The archive with one member mutated, or, now and then and where it is none, its bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(member.filename, archive.read(member)) for member in archive.infolist()]
    except Exception:
        return bytes(atheris.Mutate(data, max_size))
    if seed % 8 == 0 or not members:
        return bytes(atheris.Mutate(data, max_size))
    which = seed // 8 % len(members)
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")
        for number, (name, content) in enumerate(members):
            changed = bytes(atheris.Mutate(content, len(content) + 64)) if number == which else content
            archive.writestr(name, changed)
    return stream.getvalue()[:max_size]
