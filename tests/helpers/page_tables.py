"""Tables in pages: ``PYTHONPATH=tests python -m helpers.page_tables RESULTS PAGE... [--check]``.

What stands between ``<!-- results: front -->`` and ``<!-- end of front -->`` is the table in
``docs/results/front.json`` beside the page. With --check nothing is written: pages must show these tables to the
letter, and tables of the paper that the folder of results has as well must be those of the page, numbers within the
ranges that are shown.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.document import ResultTable
from experiments.paper.artefact import Entry, read, tables

_MARKED = re.compile(r"<!-- results: (\w+) -->\n(.*?)<!-- end of \1 -->", re.DOTALL)
_NUMBER = re.compile(r"(\d+\.\d+)(?:–(\d+\.\d+))? ± (\d+\.\d+)")


def with_tables(page: str, kept: Path) -> str:
    """The page with its marked tables made anew from the folder of tables that are kept with the pages."""

    def made(match: re.Match[str]) -> str:
        table = ResultTable.from_dict(json.loads((kept / f"{match[1]}.json").read_text(encoding="utf-8")))
        return f"<!-- results: {match[1]} -->\n{table.markdown()}<!-- end of {match[1]} -->"

    return _MARKED.sub(made, page)


def differences(page: str, entries: Mapping[str, Entry]) -> Iterator[str]:
    """Cells of a page that the results do not bear out, in words."""
    for name, text in _MARKED.findall(page):
        if name in entries:
            old, new = (rows_of(markdown) for markdown in (text, tables(entries[name])[0].markdown()))
            if [len(row) for row in old] != [len(row) for row in new]:
                yield f"{name}: rows and columns are not those of the results"
                continue
            pairs = [(a, b) for ours, theirs in zip(old, new, strict=True) for a, b in zip(ours, theirs, strict=True)]
            yield from (f"{name}: {a} on the page, {b} in the results" for a, b in pairs if not bears_out(b, a))


def rows_of(markdown: str) -> list[list[str]]:
    """The cells of the rows of a table."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def bears_out(found: str, shown: str) -> bool:
    """Whether a cell is the one that is shown: the same text, or a mean in the range and an error that is no larger.

    What is bold on the page must be bold in the results.
    """
    if shown.startswith("**") and not found.startswith("**"):
        return False
    shown, found = shown.strip("*"), found.strip("*")
    limits, number = _NUMBER.fullmatch(shown), _NUMBER.fullmatch(found)
    if limits is None or number is None:
        return shown == found
    low, high, most = (float(text or limits[1]) for text in limits.groups())
    return low <= float(number[1]) <= high and float(number[3]) <= most


def estimates(markdown: str) -> dict[str, tuple[float, float]]:
    """The middle of the mean and the error of cells in a table of a page, by row and number of the column."""
    found = {}
    for row in rows_of(markdown):
        for column, cell in enumerate(row):
            if number := _NUMBER.fullmatch(cell.strip("*")):
                low, high, error = (float(text or number[1]) for text in number.groups())
                found[f"{row[0]}, column {column}"] = (low + high) / 2, error
    return found


def main(arguments: Sequence[str]) -> int:
    """Rewrite the pages in place, or check them; returns the exit code."""
    check = "--check" in arguments
    results, *pages = [Path(argument) for argument in arguments if argument != "--check"]
    entries, wrong = read(results), []
    for path in pages:
        page = path.read_text(encoding="utf-8")
        made = with_tables(page, path.parent / ("results" if path.parent.name == "docs" else "docs/results"))
        if not check:
            path.write_text(made, encoding="utf-8")
        else:
            wrong += [f"{path}: {words}\n" for words in differences(page, entries)]
            wrong += [f"{path} does not show what is in docs/results; run make readme\n"] if made != page else []
    sys.stderr.write("".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
