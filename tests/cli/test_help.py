"""The help pages: they fit a terminal of 80 columns, and leave room for what options mean."""

import re
from itertools import pairwise

import pytest
from typer.testing import CliRunner

from setloss.cli import app

COMMANDS = ("decompose", "check", "explore", "train", "predict", "evaluate")


def page(*command):
    """The help of a command as on a terminal of 80 columns."""
    result = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_text_above_the_options_is_filled_and_not_broken_where_the_source_is(command):
    text = page(command).split("╭")[0]
    paragraphs = [block.splitlines() for block in re.split(r"\n\s*\n", text) if "Usage:" not in block]
    for lines in paragraphs:
        for line, following in pairwise(lines):
            word = following.split()[0]
            assert len(line.rstrip()) + 1 + len(word) > 78, f"{line!r} had room for {word!r}"


def test_options_of_train_have_room_for_their_words():
    shown = page("train")
    panels = re.findall(r"╭─ (.*?) ─*╮", shown)
    assert {"The loss", "The model", "Choosing C by cross-validation", "Reading DATA"} <= set(panels)
    assert shown.count("│") / 2 < 110, "lines of the panels: narrow columns make a long page"
