"""The toy problem: Table 1 and Figure 2 at tiny sizes, and what their numbers mean."""

import json

import numpy as np
import pytest

from experiments.document import Estimate, clearly_lowest
from experiments.paper import toy
from experiments.paper.artefact import Settings
from experiments.tracks.data import Frames
from experiments.tracks.protocol import LinearRule, Protocol

TINY_FITS = Protocol((0.01, 1.0), inner=3, tol=0.1, max_iter=30, intercept_scaling=10.0)
FAMILY = (toy.Setting(3.8, 90), toy.Setting(8.0, 90))
TINY = toy.Sizes(24, 40, repeats=2, search_repeats=1, protocol=TINY_FITS, family=FAMILY)
ROWS = ("bd", "hinge", "slack-greedy", "slack-released", "lovasz-jaccard")


def test_wrong_elements_are_counted_by_bag():
    y, groups = np.array([True, True, False, False]), np.array([0, 0, 1, 1])
    frames = Frames(np.array([[1.0], [-1.0], [1.0], [2.0]]), y, groups, groups, y)
    np.testing.assert_array_equal(toy.wrong_per_bag(LinearRule(np.ones(1), 0.0, 1.0), frames), [1, 2])


def test_the_search_takes_the_setting_nearest_to_the_paper_s_row():
    setting, wrong = toy.search(True, TINY, 0)
    assert setting == FAMILY[0]
    assert wrong[FAMILY[0]] > wrong[FAMILY[1]]


@pytest.fixture(scope="module")
def document():
    return toy.compare(Settings(), TINY, ROWS)


def test_table_1_has_means_of_the_numbers_beside_the_paper_s(document):
    table = document.tables[0]
    assert table.rows[0][::2] == ("B_D", "0.1121 ± 0.0040", "0.6027 ± 0.0125")
    assert table.rows[1][2::2] == ("0.1497 ± 0.0046", "0.5370 ± 0.0114")
    assert table.rows[4][2] is None
    for table, losses in zip(document.tables, document.numbers["losses"].values(), strict=True):
        cells = {1: list(losses["dice"].values()), 3: list(losses["wrong"].values())}
        for column, values in cells.items():
            assert [row[column] for row in table.rows] == list(map(Estimate.of, values))
        assert clearly_lowest(cells) == table.best
    json.dumps(document.as_dict(), allow_nan=False)


def test_figure_2_shows_both_variants_with_three_lines_each():
    drawn = toy.make_figure2(Settings(), TINY).figures[0].draw().axes
    assert [panel.get_title() for panel in drawn] == ["homogeneous bags", "mixed bags"]
    assert all(len(panel.lines) == len(toy.LINES) for panel in drawn)
