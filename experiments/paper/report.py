"""One page with everything that was made: report.html, self-contained, without scripts, readable at any width."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from experiments.document import Cell, ResultTable, cell_text
from experiments.paper.claims import Finding, findings
from experiments.paper.evidence import ClaimVerdict, by_place
from experiments.paper.files import Entry, read
from experiments.paper.files import tables as tables_of

TITLE = "The paper, made again"
PAPER = (
    "Jiaqian Yu and Matthew B. Blaschko, “A Convex Surrogate Operator for General Non-Modular Loss Functions”, "
    "AISTATS 2016"
)
CLASSES = {
    ClaimVerdict.HOLDS: "holds",
    ClaimVerdict.IN_PART: "part",
    ClaimVerdict.FAILS: "fails",
    ClaimVerdict.OPEN: "open",
}


def write_report(folder: Path) -> tuple[Path, tuple[Finding, ...]]:
    """Write report.html about all artefacts that the folder holds; returns its path and the claims."""
    entries = read(folder)
    judged = findings({name: entry["numbers"] for name, entry in entries.items()})
    path = folder / "report.html"
    path.write_text(page(entries, judged, folder), encoding="utf-8")
    return path, judged


def claims_table(judged: Sequence[Finding]) -> ResultTable:
    """The claims in short."""
    rows = tuple((found.claim, str(found.verdict), found.evidence) for found in judged)
    return ResultTable("The paper's claims", ("claim", "verdict", "evidence"), rows)


def page(entries: Mapping[str, Entry], judged: Sequence[Finding], folder: Path) -> str:
    """The whole page; `folder` holds the images that the entries name."""
    style = (package_files("experiments.paper") / "report.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{escape(name)}">{_short(name)}</a></li>' for name in entries)
    sections = "\n".join(_section(entry, folder) for entry in entries.values())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{TITLE}: setloss</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<h1>{TITLE}</h1>
<p>Every table and figure of {PAPER}, computed by <code>setloss</code>, with the paper’s numbers beside ours and a
verdict on each claim. The face tracks of the paper are not public and its toy data are not specified: what stands in
for them is said where it is used, and a claim that fails here may hold on the original data.</p>
<nav aria-label="Contents"><ul><li><a href="#claims">Claims</a></li>{links}</ul></nav>
</header>
<section id="claims">
<h2>The paper’s claims</h2>
<p>Methods are compared on the same repeats or folds; a difference counts if it is more than two standard errors. A
claim to be best counts where every rival is beaten. A claim holds if all cases are for it, in part if some are.
{_count(judged)}{_trial(entries)}</p>
<p>In the tables below a number in bold is the lowest mean of its column, whether or not the difference counts;
“paper” is the number that the paper prints for the column to its left. Runs are shorter than the paper’s unless they
say so; <code>python -m experiments reproduce --full</code> makes them as long.</p>
{_claims(judged)}
</section>
{sections}
<footer>{_made(entries)}</footer>
</main>
</body>
</html>
"""


def _short(name: str) -> str:
    """table1 -> Table 1"""
    return f"{name[:-1].capitalize()} {name[-1]}"


# ---------------------------------------------------------------- claims


def _count(judged: Sequence[Finding]) -> str:
    counts = [(verdict, sum(found.verdict is verdict for found in judged)) for verdict in ClaimVerdict]
    told = ", ".join(f"{count} “{verdict}”" for verdict, count in counts if count)
    return f"{len(judged)} claims: {told}."


def _trial(entries: Mapping[str, Entry]) -> str:
    quick = any(entry["settings"].get("quick") for entry in entries.values())
    return " <strong>Some tables are of a trial run: do not read verdicts off them.</strong>" if quick else ""


def _claims(judged: Sequence[Finding]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_words(found.claim)}<span class="where">{escape(found.where)}</span></th>'
        f'<td><span class="verdict {CLASSES[found.verdict]}">{found.verdict}</span></td>'
        f"<td>{_words(found.evidence)}.{_points(found)}</td><td>{_decided_by(found)}</td></tr>"
        for found in judged
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Claim", "Verdict", "Evidence", "Decided by"))
    return _scrolling(
        "Claims", f'<table class="claims"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    )


def _points(found: Finding) -> str:
    if not found.points:
        return ""
    places = ""
    for where, points in by_place(found.points).items():
        told = "".join(f"<li>{_mark(point.holds)} {_words(point.words)}</li>" for point in points)
        places += f"<li>{escape(where)}<ul>{told}</ul></li>"
    return f"<details><summary>all {len(found.points)} comparisons</summary><ul>{places}</ul></details>"


def _mark(holds: bool) -> str:
    return '<span class="holds">for:</span>' if holds else '<span class="fails">against:</span>'


def _decided_by(found: Finding) -> str:
    """Names of files as code, the rest as it is."""
    parts = found.decided_by.split(", ")
    return ", ".join(f"<code>{escape(part)}</code>" if "/" in part else _words(part) for part in parts)


# ---------------------------------------------------------------- artefacts


def _section(entry: Entry, folder: Path) -> str:
    figures = "\n".join(_figure(figure, folder) for figure in entry["figures"])
    tables = "\n".join(_table(table) for table in tables_of(entry))
    full = entry["settings"]["full"]
    option = " --full" if full else " --quick" if entry["settings"].get("quick") else ""
    command = f"python -m experiments reproduce --only {entry['name']}{option}"
    size = entry["settings"].get("size", "the paper's sizes" if full else "fewer folds and repeats than the paper's")
    made = f"Made with {size}; seed {entry['settings']['seed']}, {entry['seconds']:.1f} s."
    return (
        f'<section id="{escape(entry["name"])}">\n<h2>{_words(entry["title"])}</h2>\n{figures}\n{tables}\n'
        f'<p class="made"><code>{escape(command)}</code>. {made}</p>\n</section>'
    )


def _figure(figure: Mapping[str, Any], folder: Path) -> str:
    image = b64encode((folder / figure["file"]).read_bytes()).decode("ascii")
    caption = figure["caption"]
    source = f"data:image/png;base64,{image}"
    shown = _scrolling(figure["name"], f'<img alt="{escape(caption)}" src="{source}">')
    return f"<figure>{shown}<figcaption>{_words(caption)}</figcaption></figure>"


def _table(table: ResultTable) -> str:
    heads = "".join(f'<th scope="col">{_words(name)}</th>' for name in table.columns)
    rows = "\n".join(_row(i, row, table.best) for i, row in enumerate(table.rows))
    inner = f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"
    note = f'\n<p class="note">{_words(table.note)}</p>' if table.note else ""
    return f"<h3>{_words(table.title)}</h3>\n{_scrolling(table.title, inner)}{note}"


def _row(i: int, row: Sequence[Cell], best: frozenset[tuple[int, int]]) -> str:
    cells = [f'<th scope="row">{_words(cell_text(row[0]))}</th>']
    for j, cell in enumerate(row[1:], 1):
        mark = ' class="best"' if (i, j) in best else ""
        cells.append(f"<td{mark}>{_words(cell_text(cell))}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _words(text: str) -> str:
    """Text for the page, the paper's symbols with their indices."""
    return escape(text).replace("B_D", "B<sub>D</sub>").replace("n_A", "n<sub>A</sub>")


def _scrolling(label: str, content: str) -> str:
    """What is wide scrolls in its own box, also by keyboard, instead of widening the page."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">{content}</div>'


def _made(entries: Mapping[str, Entry]) -> str:
    if not entries:
        return "<p>Nothing has been made yet.</p>"
    versions = next(iter(entries.values()))["versions"]
    told = ", ".join(f"{escape(name)} {escape(number)}" for name, number in versions.items())
    seconds = sum(entry["seconds"] for entry in entries.values())
    return (
        f"<p>Made by <code>make reproduce</code>, in {seconds:.0f} s. {told}. "
        "The numbers behind every table are in the JSON files beside this page.</p>"
    )
