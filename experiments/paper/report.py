"""One page with everything that was made: report.html, self-contained, without scripts, readable at any width."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from experiments.document import ResultTable, cell_text
from experiments.paper.artefact import Entry, read, tables
from experiments.paper.claims import ClaimVerdict, Finding, by_place, findings

CLASSES = dict(zip(ClaimVerdict, ("holds", "part", "fails", "open"), strict=True))


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
    links = "".join(f'<li><a href="#{name}">{name[:-1].capitalize()} {name[-1]}</a></li>' for name in entries)
    counts = [(verdict, sum(found.verdict is verdict for found in judged)) for verdict in ClaimVerdict]
    told = ", ".join(f"{count} “{verdict}”" for verdict, count in counts if count)
    quick = any(entry["settings"]["quick"] for entry in entries.values())
    trial = " <strong>Some tables are of a trial run: do not read verdicts off them.</strong>" if quick else ""
    claims = [[_claim(found), _verdict(found), _evidence(found), _words(found.decided_by)] for found in judged]
    columns = ("Claim", "Verdict", "Evidence", "Decided by")
    return Template(_beside("report.html")).substitute(
        style=_beside("report.css"),
        links=links,
        told=f"{len(judged)} claims: {told}",
        trial=trial,
        claims=_grid("Claims", columns, claims, "claims"),
        sections="".join(_section(entry, folder) for entry in entries.values()),
        made=_made(entries),
    )


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _claim(found: Finding) -> str:
    return f'{_words(found.claim)}<span class="where">{escape(found.where)}</span>'


def _verdict(found: Finding) -> str:
    return f'<span class="verdict {CLASSES[found.verdict]}">{found.verdict}</span>'


def _evidence(found: Finding) -> str:
    """The sentence, and all comparisons on demand."""
    marks = ('<span class="fails">against:</span>', '<span class="holds">for:</span>')
    places = ""
    for where, points in by_place(found.points).items():
        told = "".join(f"<li>{marks[point.holds]} {_words(point.words)}</li>" for point in points)
        places += f"<li>{escape(where)}<ul>{told}</ul></li>"
    more = f"<details><summary>all {len(found.points)} comparisons</summary><ul>{places}</ul></details>"
    return _words(found.evidence) + (more if places else "")


def _section(entry: Entry, folder: Path) -> str:
    asked = entry["settings"]
    option = " --full" if asked["full"] else " --quick" if asked["quick"] else ""
    command = f"python -m experiments reproduce --only {entry['name']}{option}"
    content = "\n".join([_figure(one, folder) for one in entry["figures"]] + [_table(one) for one in tables(entry)])
    made = f"Made with seed {asked['seed']}, {entry['seconds']:.1f} s."
    return (
        f'<section id="{escape(entry["name"])}">\n<h2>{_words(entry["title"])}</h2>\n{content}\n'
        f'<p class="made"><code>{escape(command)}</code>. {made}</p>\n</section>\n'
    )


def _figure(figure: Mapping[str, Any], folder: Path) -> str:
    image, caption = b64encode((folder / figure["file"]).read_bytes()).decode("ascii"), figure["caption"]
    shown = _scrolling(figure["name"], f'<img alt="{escape(caption)}" src="data:image/png;base64,{image}">')
    return f"<figure>{shown}<figcaption>{_words(caption)}</figcaption></figure>"


def _table(table: ResultTable) -> str:
    rows = [
        [
            f"<b>{text}</b>" if (i, j) in table.best else text
            for j, text in enumerate(_words(cell_text(c)) for c in row)
        ]
        for i, row in enumerate(table.rows)
    ]
    note = f'\n<p class="note">{_words(table.note)}</p>' if table.note else ""
    return f"<h3>{_words(table.title)}</h3>\n{_grid(table.title, table.columns, rows)}{note}"


def _grid(label: str, columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "numbers") -> str:
    heads = "".join(f'<th scope="col">{_words(name)}</th>' for name in columns)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    table = f'<table class="{kind}"><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
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
    return f"<p>Made by <code>make reproduce</code> in {seconds:.0f} s. {told}. Numbers are in the JSON files.</p>"
