"""Tables that can be read back, and tables in a page between markers."""

import json
from pathlib import Path

import pytest

from benchmarks import kernels
from experiments.document import Document, Estimate, ResultTable
from experiments.paper import artefact
from experiments.paper.artefact import Settings
from helpers.page_tables import bears_out, differences, estimates, main, with_tables

ROOT = Path(__file__).parents[3]


def table(mean=0.25, error=0.01, best=frozenset({(0, 1)})):
    rows = (("B_D", Estimate(mean, error, 4), None, 3), ("S", Estimate(0.5, None, 1, 2), "x", 0.123456))
    return ResultTable("title", ("method", "ours", "head", "n"), rows, "a note", best)


@pytest.fixture
def written(tmp_path):
    artefact.write(Document("table1", "Table 1. A title", (table(),), (), {"losses": {}}), Settings(), 1.5, tmp_path)
    return tmp_path


def test_tables_are_read_back_and_shown_with_as_many_digits_as_they_are_worth(written):
    (entry,) = artefact.read(written).values()
    assert artefact.tables(entry) == (table(),)
    assert "| B_D | **0.250 ± 0.010** |  | 3 |\n| S | 0.50 | x | 0.1235 |" in (written / "table1.md").read_text()


# ---------------------------------------------------------------- tables in a page

MARKED = "before\n<!-- results: table1 -->\nold | table\n<!-- end of table1 -->\nafter\n"


@pytest.fixture
def page(written):
    """A page beside the folder of the tables that are kept with it; `written` is that of the last run."""
    kept = written / "pages" / "docs" / "results"
    kept.mkdir(parents=True)
    (kept / "table1.json").write_text(json.dumps(table().as_dict()))
    path = kept.parent / "PAGE.md"
    path.write_text(MARKED)
    return path


def test_marked_tables_are_replaced_and_nothing_else(written, page):
    assert main([str(written), str(page), "--check"]) == 1
    assert main([str(written), str(page)]) == 0
    assert page.read_text() == MARKED.replace("old | table\n", table().markdown())
    assert main([str(written), str(page), "--check"]) == 0


def test_a_page_is_checked_against_the_last_run(written, page):
    entries = artefact.read(written)
    shown = with_tables(MARKED, page.parent / "results")
    assert list(differences(shown, entries)) == []
    changes = (("0.250 ±", "0.251 ±"), ("0.50 |", "**0.50** |"), ("| 3 |", "| 4 |"), ("| B_D", "| S"))
    for old, new in changes:
        (words,) = differences(shown.replace(old, new), entries)
        assert "on the page" in words
    assert "rows and columns" in next(differences(shown.replace("| x ", ""), entries))


def test_runs_with_other_kernels_are_merged_to_what_all_of_them_bear_out():
    runs = [table(0.2506, 0.01), table(0.2509, 0.02, frozenset())]  # as far from .2505 as from each other
    found = kernels.merged(runs)
    assert found.rows[0] == ("B_D", "0.250–0.251 ± 0.020", None, 3)
    assert found.best == frozenset()
    assert estimates(found.markdown())["B_D, column 1"] == (pytest.approx(0.2505), 0.02)
    assert found.rows[1] == table().rows[1]
    for run in runs:
        assert bears_out(str(run.rows[0][1]), found.rows[0][1])
    for wrong in ("0.252 ± 0.010", "0.251 ± 0.021", "0.249 ± 0.010"):
        assert not bears_out(wrong, found.rows[0][1])


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{p}.md" for p in ("evidence", "reproducing", "pytorch-evidence", "training"))]
)
def test_pages_have_the_tables_that_are_kept_with_them(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- results: " in text
    assert with_tables(text, ROOT / "docs" / "results") == text, "run make readme"
