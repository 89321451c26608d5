"""The site of the documentation: it builds without a warning, and every public name is in it.

Sphinx warns of links that lead nowhere and of pages in no table of contents. Tutorials are laid out but not run here;
`test_docs.py` runs the quick ones, `make docs` all of them.
"""

import importlib
import pkgutil
import re
import shutil
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import setloss
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


def public_modules() -> list[ModuleType]:
    """`setloss` and every module of it that says what is public, but for commands and plans."""
    names = [found.name for found in pkgutil.walk_packages(setloss.__path__, "setloss.")]
    kept = [name for name in names if not re.match(r"setloss\.(cli|plans|nn\.plan)\b|.*__main__", name)]
    return [module for module in [setloss, *map(importlib.import_module, kept)] if hasattr(module, "__all__")]


def documented_names(site: Path) -> set[str]:
    """The Python names that the site has an entry for."""
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind in inventory.data if kind.startswith("py:") for name in inventory.data[kind]}


def test_every_public_name_is_in_the_reference(site):
    modules, documented, missing = public_modules(), documented_names(site), []
    for module in modules:
        for name in module.__all__:
            # A name that several modules share is documented once, in any of them.
            homes = [other.__name__ for other in modules if getattr(other, name, None) is getattr(module, name)]
            if not any(f"{home}.{name}" in documented for home in homes):
                missing.append(f"{module.__name__}.{name}")
    assert len(modules) >= 10
    assert not missing
