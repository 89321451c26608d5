"""All broken files, the readers that must refuse them, and the page that lists them.

``PYTHONPATH=tests python -m helpers.broken_files docs/broken-files.md`` writes the page anew.
"""

import os
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import setloss
from helpers.broken import arff, checkpoints, cost_tables, models, npz, svmlight, tables, utterances
from helpers.broken.case import Case

MODULES = (svmlight, arff, npz, tables, utterances, cost_tables, models, checkpoints)
CASES = [case for module in MODULES for case in module.CASES]

PAGE = """# Broken files and what is said of them

Every reader ends in data, or in one sentence that names the file and the place and says what to do; nothing in a file
runs, and sizes that a file promises are judged before there is memory for them. These {number} files are made by the
tests, read by the real readers, and listed by
`PYTHONPATH=tests python -m helpers.broken_files docs/broken-files.md`. Where a message goes on in the words of
another library, which change from version to version, it ends here in `...`.
"""

FOREIGN = re.compile(
    r"(is not a complete (?:NumPy array|Parquet file|gzip file|\.npy file of numbers)|is not well-formed XML"
    r"|cannot be read as CSV|is not a table separated by commas|is not a multi-label svmlight file|has type"
    r"|or it is damaged(?= \()|has a loss that is not possible|is damaged or does not fit into memory).*"
)
"""Where the words of other libraries begin."""

TITLES = {
    "any file": "Any data file",
    "series": "Japanese vowels (.ts)",
    "digits": "Spoken Arabic digits (.txt.gz)",
    "table": "Tables of `setloss decompose --table`",
    "model": "Model files (.skops)",
    "checkpoint": "Checkpoints (.npz)",
}


def read(case: Case, path: Path) -> object:
    """Read the file as the library does."""
    return READERS.get(case.reader, _data)(path, **case.options)


def _data(path, **options):
    from setloss.datasets import load

    return load(path, **options)


def _xml(path):
    return _data(path.with_suffix(".arff"))


def _series(path):
    from experiments.loaders import load_japanese_vowels

    return load_japanese_vowels(path.parent)


def _digits(path):
    from experiments.loaders import load_spoken_arabic_digits

    return load_spoken_arabic_digits(path.parent)


def _table(path, **options):
    from setloss.cli.set_function_options import SetFunctionOptions

    return SetFunctionOptions(table=path, **options).read()


def _model(path):
    from setloss.estimators import load

    return load(path)


def _checkpoint(path, solver="cutting_plane"):
    from setloss.solvers import Limits, solve

    return solve(checkpoints.problem(), solver, Limits(checkpoint=path))


READERS = {
    "XML": _xml,
    "series": _series,
    "digits": _digits,
    "table": _table,
    "model": _model,
    "checkpoint": _checkpoint,
}


def error_of(reader: str) -> type[Exception]:
    """The one error that a reader may raise."""
    from setloss.cli.errors import InputError
    from setloss.datasets import DatasetError
    from setloss.estimators import ModelFileError
    from setloss.solvers import CheckpointError

    known = {"table": InputError, "model": ModelFileError, "checkpoint": CheckpointError}
    return known.get(reader, DatasetError)


@cache
def message(number: int) -> str:
    """What is said of one of `CASES`, a file that is named without its folder; the page repeats it."""
    case, before = CASES[number], Path.cwd()
    with TemporaryDirectory() as folder:
        case.put(Path(folder))
        os.chdir(folder)
        try:
            read(case, Path(case.name))
        except error_of(case.reader) as error:
            return str(error)
        finally:
            os.chdir(before)
    raise AssertionError(f"{case.id} was read without complaint")


def page() -> str:
    """The page, one table per reader."""
    parts = [PAGE.format(number=len(CASES))]
    for reader in dict.fromkeys(case.reader for case in CASES):
        rows = [_row(case, message(number)) for number, case in enumerate(CASES) if case.reader == reader]
        parts += [f"\n## {TITLES.get(reader, reader)}\n\n", "| file | content | message |\n|---|---|---|\n", *rows]
    return "".join(parts)


def _row(case: Case, said: str) -> str:
    said = re.sub(r"unpacks to \d+", "unpacks to N", FOREIGN.sub(r"\1 ...", said))
    said = said.replace(setloss.__version__, "(this version)")
    options = ", ".join(f"{name}={value!r}" for name, value in case.options.items())
    cells = (f"{case.name}{f', {options}' if options else ''}", case.words(), said)
    return f"| {' | '.join(map(_code, cells))} |\n"


def _code(text: str) -> str:
    """Literal text in a cell of a table."""
    safe = text.replace("|", "\\|").replace("\ufeff", "\\ufeff")
    ticks = "``" if "`" in safe else "`"
    return f"{ticks}{safe}{ticks}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
