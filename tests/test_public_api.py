"""What is public does not change by accident: names and signatures are written down, changes are in the changelog."""

import re
from pathlib import Path

import pytest

from helpers.public_api import NAMES, RELEASED, changed, listing

for library in ("torch", "distributed", "matplotlib", "skops"):
    pytest.importorskip(library)

CHANGELOG = Path(__file__).parent.parent / "CHANGELOG.md"


def lines(file):
    return file.read_text(encoding="utf-8").splitlines()


def newest_section():
    """The text of the changelog for the version under way."""
    return re.split(r"^## ", CHANGELOG.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]


def own_words(name):
    """The words of a dotted name but for its module: the class and the method, or the function."""
    parts = name.split(".")
    return set(parts[1:] if len(parts) == 2 else parts[2:])


def test_names_and_signatures_are_those_written_down():
    names = changed(lines(NAMES), listing())
    assert not names, (
        f"public names have changed: {', '.join(names)}. If that is meant, run `PYTHONPATH=tests python -m "
        "helpers.public_api` and say it in CHANGELOG.md"
    )


def test_every_change_since_the_last_release_is_in_the_changelog():
    words = set(re.findall(r"\w+", newest_section()))
    silent = [name for name in changed(lines(RELEASED), lines(NAMES)) if not words & own_words(name)]
    assert not silent, f"CHANGELOG.md says nothing of {', '.join(silent)}"
