"""What long commands say while they work."""

import logging
from unittest.mock import patch

from helpers.children import until
from helpers.command_line import NEVER
from setloss.cli.progress import Waiting
from setloss.estimators.fit_log import Fits


def test_without_a_terminal_lines_say_what_is_under_way_and_how_long_it_will_take(capsys):
    def until_said(words):
        shown = []
        until(lambda: shown.append(capsys.readouterr().err) or words in "".join(shown))

    with patch("setloss.cli.progress.SECONDS_BETWEEN_LINES", 0.01), Waiting("reading songs.csv") as waiting:
        until_said(" gone, reading songs.csv\n")
        waiting.doing("predicting")
        until_said(" gone, predicting\n")
        log = logging.getLogger("setloss")
        log.info("fold %d of %d", 1, 4, extra={"share": 0.0})
        until_said(" gone, fold 1 of 4\n")
        log.info("fold 4 of 4", extra={"share": 0.75})
        until_said(" gone, 75% done, about 0:00:00 left, fold 4 of 4\n")
    assert not log.handlers


def test_the_time_left_is_that_of_the_fits_so_far():
    now = [0.0]
    with (
        patch("setloss.cli.progress.SECONDS_BETWEEN_LINES", NEVER),
        patch("setloss.cli.progress.time.monotonic", lambda: now[0]),
        Waiting("reading songs.csv") as waiting,
    ):
        now[0] = 100.0
        waiting.doing("fold 1 of 4", 0.0)
        now[0] = 110.0
        waiting.doing("fold 2 of 4", 0.25)
        assert waiting._bar.tasks[0].fields["left"] == "25% done, about 0:00:30 left"


def test_fits_that_come_unexpectedly_are_part_of_the_whole():
    fits = Fits(expected=4, done=3)
    assert fits.share == 0.75
    fits.to_come(3)
    assert (fits.expected, fits.share) == (6, 0.5)
    fits.to_come(1)
    assert fits.expected == 6
