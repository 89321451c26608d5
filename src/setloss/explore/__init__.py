"""One HTML file to play with a cost curve: drag its knots, see l = f + g, the verdicts and the surrogates.

The page needs no server and no network. Its mathematics is a port of the library's to plain JavaScript, which the
tests compare with the library; what the two must share (curves by name, tolerances, the version) is written into
the page here.
"""

import json
from importlib.resources import files
from os import PathLike
from pathlib import Path

import setloss
from setloss.losses import PAPER_CURVES, CostCurve
from setloss.setfunctions.differences import RELATIVE_TOLERANCE, ROUNDING

__all__ = ["write_page"]

PRESETS = {
    "a plateau in the middle (loss 1)": PAPER_CURVES["curve1"],
    "two steps (loss 2)": PAPER_CURVES["curve2"],
    "a third is free, then a cap (loss 3)": PAPER_CURVES["curve3"],
    "a third is free, all wrong is cheaper (loss 4)": PAPER_CURVES["curve4"],
    "a third is free": CostCurve(((0, 0), (1 / 3, 0), (1, 1))),
    "every mistake counts the same": CostCurve(((0, 0), (1, 1))),
}
"""Curves to begin with; the first four are the paper's."""

MATHEMATICS = ("numbers.js", "curve.js", "verdicts.js", "surrogates.js", "counts.js")
FIGURES = ("drawing.js", "knots.js", "editor.js", "map.js", "page.js", "counts_card.js")


def write_page(path: str | PathLike[str]) -> Path:
    """Write the page to `path` and return it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/curve.html").name
    'curve.html'
    """
    target = Path(path)
    target.write_text(page(), encoding="utf-8")
    return target


def page() -> str:
    """The whole page: markup, style and scripts in one."""
    script = mathematics() + "\n".join(map(_read, FIGURES))
    parts = {"/*STYLE*/": _read("page.css"), "/*SCRIPT*/": script, "/*VERSION*/": setloss.__version__}
    text = _read("page.html")
    for place, part in parts.items():
        text = text.replace(place, part.rstrip())
    return text


def mathematics() -> str:
    """The part of the script that knows nothing of the page: curves, parts, verdicts, surrogates."""
    presets = [{"title": title, "knots": curve.knots} for title, curve in PRESETS.items()]
    settings = {"presets": presets, "relativeTolerance": RELATIVE_TOLERANCE, "rounding": ROUNDING}
    return f"const SETTINGS = {json.dumps(settings)};\n" + "\n".join(map(_read, MATHEMATICS))


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
