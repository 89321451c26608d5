"""The site of the documentation builds without a warning.

Sphinx warns of links that lead nowhere and of pages in no table of contents. Tutorials are laid out but not run here;
`test_docs.py` runs the quick ones, `make docs` all of them.
"""

import shutil
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import pytest

from helpers.forked import ended

NEEDED = ("sphinx", "pydata_sphinx_theme", "sphinx_gallery", "numpydoc", "myst_parser", "matplotlib", "torch", "dask")
MISSING = [name for name in NEEDED if find_spec(name) is None]

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; try pip install '.[docs]'"),
]

ROOT = Path(__file__).parent.parent
GENERATED = shutil.ignore_patterns("_build", "gallery", "__pycache__")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, made from a copy of the pages, so that nothing is written beside them."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=GENERATED)
    for file in ("README.md", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / file, folder)
    with chdir(folder):
        ending, _, said = ended("sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0", "docs", "html")
    assert ending == 0, said
    return folder / "html"


def test_the_site_has_a_page_for_every_guide(site):
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()
