"""Tables in pages: ``PYTHONPATH=tests python -m helpers.page_tables RESULTS PAGE... [--check]``.

What stands between ``<!-- table1 -->`` and ``<!-- end of table1 -->`` is replaced by the first table of that artefact
in the folder of results, and so on for every artefact that a page has markers for; ``<!-- results: front -->`` stands
for the table in ``docs/results/front.json`` beside the page. With --check nothing is written: numbers that differ
from the results by more than one in their last digit are listed, and there must be none; tables show as many digits
as do not depend on the machine.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.document import ResultTable
from experiments.paper.artefact import ARTEFACTS, Entry, read, tables

_MARKED = re.compile(r"<!-- (results: )?(\w+) -->\n(.*?)<!-- end of \2 -->", re.DOTALL)
_DECIMAL = re.compile(r"\d+\.\d+")
_NUMBER = re.compile(r"(\d+\.\d+) ± (\d+\.\d+)")


def with_tables(page: str, entries: Mapping[str, Entry], results: Path | None = None) -> str:
    """The page with its marked tables made anew; `results` is the folder of tables that are kept with the pages."""
    for name in ARTEFACTS:
        if f"<!-- {name} -->" in page and f"<!-- end of {name} -->" not in page.split(f"<!-- {name} -->", 1)[1]:
            raise ValueError(f"the page has <!-- {name} --> without <!-- end of {name} --> after it")

    def made(match: re.Match[str]) -> str:
        kept, name = match[1] or "", match[2]
        table = _kept_table(results, name) if kept else _made_table(entries, name)
        return f"<!-- {kept}{name} -->\n{table.markdown()}<!-- end of {name} -->"

    return _MARKED.sub(made, page)


def differences(page: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    """Cells and notes of a page that the results do not bear out, in words."""
    for match in _MARKED.finditer(page):
        if match[1] or match[2] not in entries:
            continue
        old, new = (
            [cell.strip() for cell in re.split(r"[|\n]", text)]
            for text in (match[3], tables(entries[match[2]])[0].markdown())
        )
        if len(old) != len(new):
            yield f"{match[2]}: rows and columns are not those of the results"
            continue
        rows = (
            f"{match[2]}: {a} on the page, {b} in the results"
            for a, b in zip(old, new, strict=True)
            if not alike(a, b)
        )
        yield from rows


def alike(old: str, new: str) -> bool:
    """Whether two texts are the same but for one unit in the last digit of decimals."""
    if _DECIMAL.sub("", old) != _DECIMAL.sub("", new):
        return False
    pairs = zip(_DECIMAL.findall(old), _DECIMAL.findall(new), strict=True)
    units = ((a, b, 10 ** len(b.partition(".")[2])) for a, b in pairs)
    return all(round(abs(float(a) - float(b)) * unit) <= 1 for a, b, unit in units)


def estimates(markdown: str) -> dict[str, tuple[float, float, int]]:
    """Mean, error and number of digits of cells in a table of a page, by row and number of the column."""
    found = {}
    for line in markdown.splitlines():
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
        for column, cell in enumerate(cells):
            number = _NUMBER.fullmatch(cell)
            if number is not None:
                found[f"{cells[0]}, column {column}"] = (
                    float(number[1]),
                    float(number[2]),
                    len(number[1].partition(".")[2]),
                )
    return found


def _made_table(entries: Mapping[str, Entry], name: str) -> ResultTable:
    if name not in entries:
        raise ValueError(f"{name} has not been made; run: python -m experiments reproduce --only {name}")
    return tables(entries[name])[0]


def _kept_table(results: Path | None, name: str) -> ResultTable:
    file = (results or Path()) / f"{name}.json"
    try:
        return ResultTable.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is not a table: {error}") from None


def results_beside(page: Path) -> Path:
    """The folder of kept tables: docs/results, for pages in docs and for those beside it."""
    return page.parent / "results" if page.parent.name == "docs" else page.parent / "docs" / "results"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages in place, or check them; returns the exit code."""
    check = "--check" in arguments
    paths = [Path(argument) for argument in arguments if argument != "--check"]
    if len(paths) < 2:
        sys.stderr.write("usage: python -m helpers.page_tables RESULTS PAGE... [--check]\n")
        return 2
    try:
        entries = read(paths[0])
        for path in paths[1:]:
            page = path.read_text(encoding="utf-8")
            if check:
                wrong = list(differences(page, entries))
                sys.stderr.write("".join(f"{path}: {words}\n" for words in wrong))
                if wrong:
                    return 1
            else:
                path.write_text(with_tables(page, entries, results_beside(path)), encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
