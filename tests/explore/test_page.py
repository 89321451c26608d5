"""The page of ``setloss explore`` in a headless Chromium: mouse, keys, screen sizes, and what it shows."""

import numpy as np
import pytest

from explore import chromium
from setloss import CostCurve, Dice, Jaccard, decompose
from setloss.explore import PRESETS, write_page
from setloss.losses import PAPER_CURVES
from setloss.operators import operator_named
from setloss.setfunctions.properties import LAWS, is_increasing, is_nonnegative

pytestmark = [
    pytest.mark.skipif(chromium.executable() is None, reason=f"none of {', '.join(chromium.NAMES)} is on the path"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("explore") / "page.html")


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser() as opened:
        yield opened


def state(browser):
    return browser.run("({ ...setloss.state, text: setloss.knotsText() })")


def knot(place):
    return f"#curve .knot:nth-child({place})"


def assert_shows_the_library(browser):
    """Numbers, verdicts and the surrogate on the screen, against the library on the same knots."""
    now = state(browser)
    function = CostCurve(now["knots"]).on_counts(now["p"], 0)
    parts = decompose(function)
    shown = browser.run("[...document.querySelectorAll('#numbers tr')].map((r) => r.innerText.trim().split(/\\s+/))")
    tables = [function.table, parts.submodular.table, parts.supermodular.table]
    assert [row[1:] for row in shown] == [[f"{x:.6g}" for x in row] for row in zip(*tables, strict=True)]
    rows = browser.run(
        "[...document.querySelectorAll('#verdicts dt:not(.heading)')].map((dt) => "
        "[dt.firstChild.textContent.trim(), dt.querySelector('.answer').textContent, dt.nextSibling.textContent])"
    )
    verdicts = {law: (answer, words) for law, answer, words in rows}
    for law in ("submodular", "supermodular", "modular", "increasing", "non-negative"):
        judged = LAWS[law](function)
        expected = "" if judged.holds else f"by {judged.excess:.3g}: {judged.witness}"
        assert verdicts[law] == ("yes" if judged.holds else "no", expected)
    assert verdicts["f increasing"][0] == ("yes" if is_increasing(parts.submodular) else "no")
    assert verdicts["f non-negative"][0] == ("yes" if is_nonnegative(parts.submodular) else "no")
    pair = CostCurve(now["knots"]).on_counts(2, 0)
    value = operator_named(now["operator"], now["scale"])(pair)(now["point"])
    assert browser.run("document.getElementById('value').textContent") == f"{value:.6g}"


class TestInTheBrowser:
    @pytest.fixture(autouse=True)
    def opened(self, browser, page):
        browser.open(page)
        browser.run("document.querySelector('details').open = true")
        yield
        assert browser.complaints() == []

    def test_a_knot_follows_the_mouse_to_whole_mistakes_between_its_neighbours(self, browser):
        browser.drag(knot(1), 0, -60)
        share, cost = state(browser)["knots"][1]
        assert share == 1 / 3
        assert 0.4 < cost < 0.6
        browser.drag(knot(1), 63, 0)
        assert state(browser)["knots"][1] == [5 / 12, cost]
        browser.drag(knot(1), 900, 2000)
        assert state(browser)["knots"][1] == [7 / 12, 0]
        assert state(browser)["knots"][2:] == [list(knot) for knot in PAPER_CURVES["curve1"].knots[2:]]
        assert_shows_the_library(browser)

    def test_keys_move_a_knot(self, browser):
        browser.run("document.querySelector('#curve .knot').focus()")
        for key, held in (("ArrowRight", ()), ("ArrowUp", ()), ("ArrowUp", ("Shift",)), ("ArrowDown", ())):
            browser.press(key, *held)
        assert state(browser)["knots"][1] == pytest.approx([5 / 12, 1 / 3 + 0.1], abs=1e-6)
        assert_shows_the_library(browser)

    def test_enter_plus_and_delete(self, browser):
        browser.run("document.querySelector('#curve .knot').focus()")
        browser.press("Enter")
        assert len(state(browser)["knots"]) == 5
        browser.press("+")
        assert len(state(browser)["knots"]) == 6
        assert browser.run("document.activeElement.getAttribute('role')") == "slider"
        assert_shows_the_library(browser)
        for _ in range(6):
            browser.press("Delete")
            CostCurve(state(browser)["knots"])
        assert browser.run("document.activeElement.getAttribute('role')") == "slider"
        browser.press("z", "Control")
        assert_shows_the_library(browser)

    def test_every_preset(self, browser):
        titles = browser.run("[...document.querySelectorAll('#presets button')].map((button) => button.textContent)")
        assert titles == [*PRESETS, "any mistake costs all"]
        for place in range(1, len(titles) + 1):
            browser.click(f"#presets button:nth-child({place})")
            assert_shows_the_library(browser)
        assert state(browser)["text"] == "0:0,1/12:1,1:1"
        browser.run("(s => { s.value = 20; s.dispatchEvent(new Event('input')); })(document.getElementById('size'))")
        assert state(browser)["text"] == "0:0,0.05:1,1:1"

    def test_every_operator_at_a_point_that_moves(self, browser):
        browser.drag("#map .point", 37, -52)
        browser.press("ArrowLeft", "Shift")
        assert state(browser)["point"] != [0.4, -0.3]
        for place in (1, 2, 3, 4):
            browser.click(f"#operators button:nth-child({place})")
            assert_shows_the_library(browser)

    @pytest.mark.parametrize("dark", [False, True])
    def test_a_phone_shows_it_all_without_scrolling_sideways(self, browser, page, dark):
        browser.open(page, width=390, height=800, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") == 390
        assert browser.run("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        cut_off = browser.run(
            "[...document.querySelectorAll('button, label, h2')].filter((e) => "
            "e.getBoundingClientRect().right > 390).length"
        )
        assert cut_off == 0

    @pytest.mark.parametrize(("name", "loss"), [("dice", Dice()), ("jaccard", Jaccard())])
    def test_dice_and_jaccard_and_their_parts_are_the_library_s(self, browser, name, loss):
        for positives, negatives in ((1, 0), (5, 4), (3, 12)):
            parts = decompose(loss.on_counts(positives, negatives))
            shown = browser.run(
                f"Array.from({{length: {positives + 1}}}, (_, n) => Array.from({{length: {negatives + 1}}}, "
                f"(_, b) => window.setloss.countLoss('{name}', {positives}, n, b)))"
            )
            for key, function in {"l": parts.loss, "f": parts.submodular, "g": parts.supermodular}.items():
                table = function.table.reshape(positives + 1, negatives + 1)
                np.testing.assert_allclose([[cell[key] for cell in row] for row in shown], table, atol=1e-12)

    def test_the_commands_to_take_along_train(self, browser):
        command = browser.run("document.getElementById('train').textContent")
        assert "setloss train tracks.csv --knots" in command
        assert "--scale" in command
        browser.click("[value=jaccard]")
        assert "--loss jaccard" in browser.run("document.getElementById('counts-command').textContent")
