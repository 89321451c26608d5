"""One look for every figure: an operator has the same colour, marker and name wherever it is drawn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How one method is drawn and what it is called."""

    label: str
    colour: str
    marker: str
    line: str = "-"


STYLES = {
    "bd": Style("B_D", "#0072B2", "o"),
    "bd-monotone": Style("B_D monotone", "#56B4E9", "D"),
    "slack": Style("S exact", "#009E73", "s"),
    "slack-greedy": Style("S greedy", "#009E73", "P", "--"),
    "slack-released": Style("S as released", "#999999", "X", ":"),
    "margin": Style("M exact", "#CC79A7", "v"),
    "lovasz": Style("L", "#D55E00", "^"),
    "hinge": Style("0-1 (hinge)", "#E69F00", "h"),
}
"""Okabe and Ito's colours, safe for all eyes; markers and line styles tell methods apart without colour."""
