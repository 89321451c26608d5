"""The report: self-contained, escaped, well-formed; files that can be read back; tables in a page between markers."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from experiments.document import Document, Estimate, Figure, ResultTable, panels
from experiments.paper import artefact
from experiments.paper.artefact import Settings
from experiments.paper.report import write_report
from helpers.page_tables import differences, main, with_tables

ROOT = Path(__file__).parents[3]
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, all closed in order, and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words = [], [], ""
        self.feed(text)
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def draw():
    figure, (axes,) = panels(1, (2, 1.5))
    axes.plot([0, 1])
    return figure


def document(name="table1", text="plain"):
    rows = (
        (f"B_D {text}", Estimate(0.25, 0.01, 4), None, 3),
        (f"S {text}", Estimate(0.5, None, 1, 2), "x", 0.123456),
    )
    columns = ("method", "ours", f"head {text}", "n")
    table = ResultTable(f"title {text}", columns, rows, f"note {text}", frozenset({(0, 1)}))
    figures = (Figure(f"{name}_part", f"caption {text}", draw),)
    return Document(name, f"Table 1. {text}", (table,), figures, {"losses": {}})


@pytest.fixture
def written(tmp_path):
    artefact.write(document(), Settings(seed=7), 1.5, tmp_path)
    return tmp_path


def test_an_artefact_leaves_files_that_can_be_read_back(written):
    assert {path.name for path in written.iterdir()} == {"table1.json", "table1.md", "table1_part.png"}
    text = (written / "table1.md").read_text()
    assert text.startswith("# Table 1. plain\n")
    assert "![caption plain](table1_part.png)" in text
    assert "| B_D plain | **0.250 ± 0.010** |  | 3 |" in text
    artefact.write(document("figure1"), Settings(), 0.0, written)
    (written / "other.json").write_text("{}")
    entries = artefact.read(written)
    assert list(entries) == ["figure1", "table1"]
    assert artefact.tables(entries["table1"]) == document().tables
    assert entries["table1"]["settings"]["seed"] == 7
    assert entries["table1"]["versions"]["setloss"]


def test_the_report_loads_nothing_is_escaped_and_links_reach_their_sections(tmp_path):
    nasty = '<script>alert("x")</script> & \'"'
    artefact.write(document(text=nasty), Settings(seed=7), 1.5, tmp_path)
    text = write_report(tmp_path)[0].read_text()
    page = Page(text)
    assert page.named("script") == page.named("link") == []
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert {attributes["href"][1:] for attributes in page.named("a")} <= ids
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.named("img"))
    assert all(attributes["scope"] in ("row", "col") for attributes in page.named("th"))
    assert page.named("img")[0]["alt"] == f"caption {nasty}"
    for words in ("0.250 ± 0.010", "0.1235", "seed 7", "reproduce --only table1", nasty):
        assert words in page.words


# ---------------------------------------------------------------- tables in a page

MARKED = "before\n<!-- table1 -->\nold | table\n<!-- end of table1 -->\nafter\n"


def test_marked_tables_are_replaced_and_nothing_else(written, tmp_path):
    path = tmp_path / "PAGE.md"
    path.write_text(MARKED)
    assert main([str(written), str(path)]) == 0
    page = path.read_text()
    assert page.startswith("before\n<!-- table1 -->\n**title plain**\n")
    assert page.endswith("note plain\n<!-- end of table1 -->\nafter\n")
    assert "old" not in page
    assert with_tables(page, artefact.read(written)) == page


@pytest.mark.parametrize(
    ("page", "words"),
    [("<!-- table1 -->", "without <!-- end of table1 -->"), (MARKED, "table1 has not been made; run: python -m")],
)
def test_what_is_missing_is_said_and_the_page_is_left_alone(page, words, tmp_path, capsys):
    path = tmp_path / "PAGE.md"
    path.write_text(page)
    assert main([str(tmp_path), str(path)]) == 2
    assert words in capsys.readouterr().err
    assert path.read_text() == page


def test_what_a_page_shows_is_compared_to_the_last_digit_of_decimals(written, tmp_path, capsys):
    entries = artefact.read(written)
    page = with_tables(MARKED, entries)
    assert list(differences(page, entries)) == []
    assert list(differences(page.replace("0.250 ± 0.010", "0.251 ± 0.010"), entries)) == []
    changes = (("0.250 ±", "0.252 ±"), ("**0.250 ± 0.010**", "0.250 ± 0.010"), ("| 3 |", "| 4 |"), ("note", "old"))
    for old, new in changes:
        (words,) = differences(page.replace(old, new), entries)
        assert "on the page" in words
    assert "rows and columns" in next(differences(page.replace("| x ", ""), entries))
    path = tmp_path / "PAGE.md"
    path.write_text(page.replace("0.250 ± 0.010", "0.350 ± 0.010"))
    assert main([str(written), str(path), "--check"]) == 1
    assert "on the page" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("page", "table"),
    [("README.md", "front"), ("docs/evidence.md", "label_sets"), ("docs/pytorch-evidence.md", "images_losses")],
)
def test_pages_have_the_tables_that_are_kept_with_them(page, table):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"<!-- results: {table} -->" in text
    assert with_tables(text, {}, ROOT / "docs" / "results") == text, "run make readme"
