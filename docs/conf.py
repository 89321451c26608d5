"""How Sphinx makes the site from these pages; `make docs` builds it into docs/_build/html."""

from __future__ import annotations

import sys
from pathlib import Path

import setloss

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_sphinx"))

project = "setloss"
author = "The setloss developers"
copyright = author
version = release = setloss.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "command_reference",
    "formulas_in_docstrings",
    "links_to_sources",
    "mathml",
    "readable_signatures",
    "short_names",
    "typeset_operator",
]
exclude_patterns = ["_build", "_sphinx", "tutorials"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

default_role = "py:obj"
smartquotes = False  # quotes in options and names are to be typed
add_module_names = False
python_maximum_signature_line_length = 88
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Array": "Array"}
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "setloss"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "show_nav_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
