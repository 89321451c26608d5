"""The packages of setloss and who imports whom, read off the sources; the page for contributors draws them.

``PYTHONPATH=tests python -m helpers.module_map docs/contributing.md`` writes the drawing anew.
"""

import ast
import sys
from pathlib import Path

import setloss

ROOT = Path(setloss.__file__).parent

LAYERS = (
    ("typing", "archives", "labels", "bags", "compilation", "progress"),
    ("setfunctions",),
    ("losses",),
    ("decomposition",),
    ("operators",),
    ("plans",),
    ("decisions",),
    ("solvers",),
    ("datasets", "estimators"),
)
