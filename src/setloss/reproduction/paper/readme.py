"""Tables of a results folder into a page: ``python -m setloss.reproduction.paper.readme results README.md``.

What stands between ``<!-- table1 -->`` and ``<!-- end of table1 -->`` is replaced by the first table of that
artefact, and so on for every artefact the page has markers for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from setloss.reproduction.paper.files import Entry, read, tables
from setloss.reproduction.paper.registry import ARTEFACTS


def with_tables(page: str, entries: Mapping[str, Entry]) -> str:
    """The page with its marked tables made anew; an artefact that was not made is an error."""
    for name in ARTEFACTS:
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if begin not in page:
            continue
        if end not in page.split(begin, 1)[1]:
            raise ValueError(f"the page has {begin} without {end} after it")
        if name not in entries:
            raise ValueError(f"{name} has not been made; run: setloss reproduce {name}")
        before, rest = page.split(begin, 1)
        after = rest.split(end, 1)[1]
        page = f"{before}{begin}\n{tables(entries[name])[0].markdown()}{end}{after}"
    return page


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page in place; returns the exit code."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m setloss.reproduction.paper.readme RESULTS PAGE\n")
        return 2
    folder, path = map(Path, arguments)
    try:
        page = with_tables(path.read_text(encoding="utf-8"), read(folder))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    path.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
