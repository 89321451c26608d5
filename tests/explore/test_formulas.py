"""The page of ``setloss explore``: its mathematics against the library, and the command that writes it."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers.children import PATIENCE
from helpers.strategies import random_curve
from setloss import CostCurve, decompose
from setloss.cli import app
from setloss.cli.commands import curve_through
from setloss.explore import mathematics, page, write_page
from setloss.losses import PAPER_CURVES
from setloss.operators import operator_named
from setloss.setfunctions.properties import LAWS, is_increasing, is_nonnegative, is_submodular

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node runs the page's mathematics; there is none on the path")


ANSWER = """
({ knots, p, margins, scale }) => {
  const loss = sample(knots, p);
  const parts = split(loss);
  const allowed = ["bd", "slack", "margin", "lovasz"].filter((name) => obstacle(name, knots, p) === "");
  return {
    loss, parts,
    verdicts: Object.fromEntries(LAWS.map((law) => [law, verdict(law, loss.values)])),
    part: { increasing: verdict("increasing", parts.submodular.values),
            "non-negative": verdict("non-negative", parts.submodular.values) },
    surrogates: Object.fromEntries(allowed.map((name) => [name, surrogate(name, knots, p, scale)(margins)])),
  };
}
"""


def cases(seed, count):
    generator = np.random.default_rng(seed)
    for knots, p in (random_curve(generator) for _ in range(count)):
        margins = generator.normal(size=p) * generator.choice([0.1, 1.0, 4.0])
        margins = np.round(margins) if generator.random() < 0.4 else margins
        yield {"knots": knots, "p": p, "margins": margins.tolist(), "scale": float(generator.choice([0.5, 1.0, 2.0]))}


def assert_same(case, answer):
    """Everything the page computes of a curve, against the library."""
    function = CostCurve(case["knots"]).on_counts(case["p"], 0)
    parts = decompose(function)
    for mine, theirs in (
        (answer["loss"], function),
        (answer["parts"]["submodular"], parts.submodular),
        (answer["parts"]["supermodular"], parts.supermodular),
    ):
        values, steps = theirs.counts.border(0)
        np.testing.assert_array_equal(mine["values"], values)
        np.testing.assert_array_equal(mine["steps"], steps)
    assert set(LAWS) - set(answer["verdicts"]) == {"symmetric"}
    for law, verdict in answer["verdicts"].items():
        assert_same_verdict(verdict, LAWS[law](function))
    assert_same_verdict(answer["part"]["increasing"], is_increasing(parts.submodular))
    assert_same_verdict(answer["part"]["non-negative"], is_nonnegative(parts.submodular))
    assert ("lovasz" in answer["surrogates"]) == bool(is_submodular(function))
    for name, cut in answer["surrogates"].items():
        assert_same_cut(case, cut, operator_named(name, case["scale"])(function))


def assert_same_verdict(mine, theirs):
    assert (mine["holds"], mine["excess"], mine["tolerance"]) == (theirs.holds, theirs.excess, theirs.tolerance)
    assert mine["words"] == ("" if theirs.witness is None else theirs.witness.words)


def assert_same_cut(case, cut, surrogate):
    margins = np.array(case["margins"])
    unit = max(1.0, np.abs(margins).sum()) * max(cost for _, cost in case["knots"])
    assert cut["value"] == pytest.approx(surrogate(margins), rel=1e-12, abs=1e-13 * unit)
    elsewhere = margins + np.cos(np.arange(len(margins)))
    assert cut["offset"] - np.dot(cut["slope"], elsewhere) <= surrogate(elsewhere) + 1e-12 * unit


def in_node(expression):
    script = f'"use strict";\n{mathematics()}\nprocess.stdout.write(JSON.stringify({expression}));'
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ------------------------------------------------------------------ mathematics


@needs_node
def test_curves_parts_verdicts_and_surrogates_are_the_librarys():
    drawn = list(cases(seed=0, count=300))
    for case, answer in zip(drawn, in_node(f"{json.dumps(drawn)}.map({ANSWER})"), strict=True):
        assert_same(case, answer)


@needs_node
def test_copied_knots_read_back_as_the_same_curve():
    drawn = [case["knots"] for case in cases(seed=2, count=200)] + [c.knots for c in PAPER_CURVES.values()]
    texts = in_node(f"{json.dumps(drawn)}.map((knots) => knots.map((knot) => knot.map(spelled).join(':')).join(','))")
    for knots, text in zip(drawn, texts, strict=True):
        assert curve_through(text).knots == tuple((float(share), float(cost)) for share, cost in knots)
    assert texts[-4] == "0:0,1/3:1/3,2/3:1/3,1:2/3"


# ------------------------------------------------------------------ the command


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)) or True)
    out = tmp_path / "curve.html"
    done = CliRunner().invoke(app, ["explore", "--out", str(out), "--open"])
    assert (done.exit_code, done.stdout.strip()) == (0, f"page written to {out}")
    assert out.read_text(encoding="utf-8") == page()
    assert write_page(tmp_path / "again.html").read_text(encoding="utf-8") == page()
    assert opened == [out.as_uri()]


def test_bad_paths_and_no_browser_get_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    for name, sentence in (
        ("curve.pdf", ".html"),
        ("no/where.html", "cannot be written"),
        ("curve.html", "found no browser"),
    ):
        done = CliRunner().invoke(app, ["explore", "--out", str(tmp_path / name), "--open"])
        assert (done.exit_code, sentence in done.stderr) == (2, True)
