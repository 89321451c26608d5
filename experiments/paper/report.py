"""One page about everything that was made, report.md: the claims with their verdicts, then every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.document import ResultTable
from experiments.paper.artefact import Entry, read
from experiments.paper.claims import ClaimVerdict, Finding, by_place, findings

INTRODUCTION = """\
# The paper, made again

Every table and figure of Jiaqian Yu and Matthew B. Blaschko, "A Convex Surrogate Operator for General Non-Modular
Loss Functions", AISTATS 2016, computed by setloss, with the paper's numbers beside ours and a verdict on each claim.
The face tracks of the paper are not public and its toy data are not specified: what stands in for them is said where
it is used, and a claim that fails here may hold on the original data.

Methods are compared on the same repeats or folds; a difference counts if it is more than two standard errors. A
claim to be best counts where every rival is beaten. A claim holds if all cases are for it, in part if some are. In
the tables a number in bold is lower than every other of its column by a difference that counts; "paper" is what the
paper prints for the column to its left. Runs are shorter than the paper's unless they say so;
`python -m experiments reproduce --full` makes them as long.
"""


def write_report(folder: Path) -> tuple[Path, tuple[Finding, ...]]:
    """Write report.md about all artefacts that the folder holds; returns its path and the claims."""
    entries = read(folder)
    judged = findings({name: entry["numbers"] for name, entry in entries.items()})
    path = folder / "report.md"
    path.write_text("\n".join(_parts(entries, judged, folder)), encoding="utf-8")
    return path, judged


def claims_table(judged: Sequence[Finding]) -> ResultTable:
    """The claims in short."""
    rows = tuple((found.claim, found.where, str(found.verdict), found.evidence, found.decided_by) for found in judged)
    counts = [(verdict, sum(found.verdict is verdict for found in judged)) for verdict in ClaimVerdict]
    told = ", ".join(f'{count} "{verdict}"' for verdict, count in counts if count)
    columns = ("claim", "where", "verdict", "evidence", "decided by")
    return ResultTable("The paper's claims", columns, rows, f"{len(judged)} claims: {told}.")


def _parts(entries: Mapping[str, Entry], judged: Sequence[Finding], folder: Path) -> Iterator[str]:
    yield INTRODUCTION
    yield claims_table(judged).markdown()
    yield "## All comparisons\n"
    yield from (_comparisons(found) for found in judged if found.points)
    yield from (_section(entry, folder) for entry in entries.values())


def _comparisons(found: Finding) -> str:
    """The points of a claim, place by place."""
    lines = [f"{found.claim}: {found.verdict}\n"]
    for where, points in by_place(found.points).items():
        lines += [f"- {where}", *(f"  - {'for' if point.holds else 'against'}: {point.words}" for point in points)]
    return "\n".join(lines) + "\n"


def _section(entry: Entry, folder: Path) -> str:
    """What the artefact wrote, one heading lower, and how it was made."""
    asked, versions = entry["settings"], entry["versions"]
    full = " --full" if asked["full"] else ""
    command = f"python -m experiments reproduce --only {entry['name']}{full} --seed {asked['seed']}"
    told = ", ".join(f"{name} {number}" for name, number in versions.items())
    text = (folder / f"{entry['name']}.md").read_text(encoding="utf-8")
    return f"#{text}\nMade by `{command}` in {entry['seconds']:.1f} s, with {told}.\n"
