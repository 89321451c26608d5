"""What long commands say while they work."""

import logging
from unittest.mock import patch

from helpers.waiting import until
from setloss.cli.progress import Waiting


def said_in_the_end(capsys, words):
    """Wait until standard error has the words."""
    shown = []
    until(lambda: shown.append(capsys.readouterr().err) or words in "".join(shown))


def test_without_a_terminal_lines_say_what_is_under_way(capsys):
    with patch("setloss.cli.progress.SECONDS_BETWEEN_LINES", 0.01), Waiting("reading songs.csv") as waiting:
        said_in_the_end(capsys, " gone, reading songs.csv\n")
        waiting.doing("predicting")
        said_in_the_end(capsys, " gone, predicting\n")
        logging.getLogger("setloss").info("fold %d of %d", 2, 5)
        said_in_the_end(capsys, " gone, fold 2 of 5\n")
    assert not logging.getLogger("setloss").handlers
