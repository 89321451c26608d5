"""One page with everything that was made: report.html, self-contained, without scripts, readable at any width."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from experiments.document import Cell, ResultTable, cell_text
from experiments.paper.artefact import Entry, read
from experiments.paper.artefact import tables as tables_of
from experiments.paper.claims import Finding, findings
from experiments.paper.evidence import ClaimVerdict, by_place

TITLE = "The paper, made again"
INTRODUCTION = """Every table and figure of Jiaqian Yu and Matthew B. Blaschko, “A Convex Surrogate Operator for General
Non-Modular Loss Functions”, AISTATS 2016, computed by <code>setloss</code>, with the paper’s numbers beside ours and a
verdict on each claim. The face tracks of the paper are not public and its toy data are not specified: what stands in
for them is said where it is used, and a claim that fails here may hold on the original data."""
HOW = """Methods are compared on the same repeats or folds; a difference counts if it is more than two standard errors.
A claim to be best counts where every rival is beaten. A claim holds if all cases are for it, in part if some are."""
READING = """In the tables below a number in bold is the lowest mean of its column, whether or not the difference
counts; “paper” is the number that the paper prints for the column to its left. Runs are shorter than the paper’s unless
they say so; <code>python -m experiments reproduce --full</code> makes them as long."""
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
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{name}">{name[:-1].capitalize()} {name[-1]}</a></li>' for name in entries)
    sections = "\n".join(_section(entry, folder) for entry in entries.values())
    quick = any(entry["settings"].get("quick") for entry in entries.values())
    trial = " <strong>Some tables are of a trial run: do not read verdicts off them.</strong>" if quick else ""
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
<p>{INTRODUCTION}</p>
<nav aria-label="Contents"><ul><li><a href="#claims">Claims</a></li>{links}</ul></nav>
</header>
<section id="claims">
<h2>The paper’s claims</h2>
<p>{HOW} {_count(judged)}{trial}</p>
<p>{READING}</p>
{_claims(judged)}
</section>
{sections}
<footer>{_made(entries)}</footer>
</main>
</body>
</html>
"""


def _count(judged: Sequence[Finding]) -> str:
    counts = [(verdict, sum(found.verdict is verdict for found in judged)) for verdict in ClaimVerdict]
    return f"{len(judged)} claims: {', '.join(f'{count} “{verdict}”' for verdict, count in counts if count)}."


def _claims(judged: Sequence[Finding]) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_words(found.claim)}<span class="where">{escape(found.where)}</span></th>'
        f'<td><span class="verdict {CLASSES[found.verdict]}">{found.verdict}</span></td>'
        f"<td>{_words(found.evidence)}{_points(found)}</td><td>{_decided_by(found)}</td></tr>"
        for found in judged
    )
    return _grid("Claims", ("Claim", "Verdict", "Evidence", "Decided by"), rows, "claims")


def _points(found: Finding) -> str:
    if not found.points:
        return ""
    places = ""
    for where, points in by_place(found.points).items():
        marks = ('<span class="fails">against:</span>', '<span class="holds">for:</span>')
        told = "".join(f"<li>{marks[point.holds]} {_words(point.words)}</li>" for point in points)
        places += f"<li>{escape(where)}<ul>{told}</ul></li>"
    return f"<details><summary>all {len(found.points)} comparisons</summary><ul>{places}</ul></details>"


def _decided_by(found: Finding) -> str:
    """Names of files as code, the rest as it is."""
    parts = found.decided_by.split(", ")
    return ", ".join(f"<code>{escape(part)}</code>" if "/" in part else _words(part) for part in parts)


def _section(entry: Entry, folder: Path) -> str:
    figures = "\n".join(_figure(figure, folder) for figure in entry["figures"])
    tables = "\n".join(_table(table) for table in tables_of(entry))
    asked = entry["settings"]
    option = " --full" if asked["full"] else " --quick" if asked["quick"] else ""
    command = f"python -m experiments reproduce --only {entry['name']}{option}"
    made = f"Made with {asked['size']}; seed {asked['seed']}, {entry['seconds']:.1f} s."
    return (
        f'<section id="{escape(entry["name"])}">\n<h2>{_words(entry["title"])}</h2>\n{figures}\n{tables}\n'
        f'<p class="made"><code>{escape(command)}</code>. {made}</p>\n</section>'
    )


def _figure(figure: Mapping[str, Any], folder: Path) -> str:
    image = b64encode((folder / figure["file"]).read_bytes()).decode("ascii")
    caption = figure["caption"]
    shown = _scrolling(figure["name"], f'<img alt="{escape(caption)}" src="data:image/png;base64,{image}">')
    return f"<figure>{shown}<figcaption>{_words(caption)}</figcaption></figure>"


def _table(table: ResultTable) -> str:
    rows = "\n".join(_row(i, row, table.best) for i, row in enumerate(table.rows))
    note = f'\n<p class="note">{_words(table.note)}</p>' if table.note else ""
    return f"<h3>{_words(table.title)}</h3>\n{_grid(table.title, table.columns, rows)}{note}"


def _row(i: int, row: Sequence[Cell], best: frozenset[tuple[int, int]]) -> str:
    marks = [' class="best"' if (i, j) in best else "" for j in range(len(row))]
    cells = [f"<td{mark}>{_words(cell_text(cell))}</td>" for mark, cell in zip(marks[1:], row[1:], strict=True)]
    return f'<tr><th scope="row">{_words(cell_text(row[0]))}</th>{"".join(cells)}</tr>'


def _grid(label: str, columns: Sequence[str], rows: str, kind: str = "") -> str:
    heads = "".join(f'<th scope="col">{_words(name)}</th>' for name in columns)
    named = f' class="{kind}"' if kind else ""
    table = f"<table{named}><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>"
    return _scrolling(label, table)


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
        f"<p>Made by <code>make reproduce</code> in {seconds:.0f} s. {told}. The numbers behind every table are in the "
        "JSON files beside this page.</p>"
    )
