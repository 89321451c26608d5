"""The snippets of README and of the pages in docs run as they stand, from top to bottom of each page.

So do the tutorials, but for the one that trains networks; `make docs` runs that too.
"""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("plot_*.py"))
SLOW = ("plot_3_segmentation",)


def snippets(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_python_snippets_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in snippets(page):
        exec(compile(snippet, str(page), "exec"), names)
    assert "NOT certified" not in capsys.readouterr().out


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for to, place in re.findall(r"\]\((?!https?://)([^)#\s]*)#?([^)\s]*)", page.read_text(encoding="utf-8")):
        target = page.parent / to if to else page
        assert target.exists()
        assert not place or place in anchors(target)


@pytest.mark.parametrize("tutorial", [t for t in TUTORIALS if t.stem not in SLOW], ids=lambda page: page.stem)
def test_tutorials_run_without_data_of_others(tutorial, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="tutorials draw with matplotlib")
    monkeypatch.setenv("SETLOSS_DATA", str(tmp_path))
    monkeypatch.setattr(pyplot, "show", lambda: None)
    with pyplot.rc_context({"backend": "Agg"}):
        runpy.run_path(str(tutorial))
    pyplot.close("all")
    assert capsys.readouterr().out
