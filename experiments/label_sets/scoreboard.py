"""Our scores beside published ones, from results that are kept; what is published is in `published.toml`.

A published score has no standard error. On the same split its error is taken to be that of ours, and the two to be
independent, which overstates the error of the difference: "ahead" and "behind" are differences of more than two.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.document import Cell, Estimate, ResultTable
from experiments.label_sets.methods import DEFAULT, label_of
from experiments.label_sets.protocol import METRICS
from experiments.label_sets.report import LEVEL

PUBLISHED = Path(__file__).with_name("published.toml")


def scoreboards(folder: Path) -> dict[str, ResultTable]:
    """All boards by name; scores that the folder of results does not have are left out."""
    content = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    kept = {path.stem: json.loads(path.read_text("utf-8"))["numbers"] for path in folder.glob("multilabel*.json")}
    if not kept:
        raise ValueError(f"{folder} has no results; run: python -m experiments multilabel --data DIR --out {folder}")
    return {board["name"]: _board(board, content["sources"], kept) for board in content["boards"]}


def verdict(ours: Estimate | None, published: float) -> str:
    """Whether we are ahead, level or behind."""
    if ours is None or ours.error is None:
        return ""
    difference = (ours.mean - published) / (math.sqrt(2) * ours.error)
    return "ahead" if difference > LEVEL else "behind" if difference < -LEVEL else "level"


def _board(board: Mapping[str, Any], sources: Mapping[str, str], kept: Mapping[str, Any]) -> ResultTable:
    results, metrics = kept.get(board["results"], {"datasets": {}}), board["metric"]
    rows: list[tuple[Cell, ...]] = []
    for method in board["ours"]:
        for metric in [metrics] if isinstance(metrics, str) else metrics:
            cells = [_ours(results, data, method, metric) for data in board["data"]]
            more = "" if isinstance(metrics, str) else f", {METRICS[metric]}"
            if any(cells):
                rows.append((f"**{label_of(method)}**{more}", "here", *cells))
    told: Counter[str] = Counter()
    for method, source, *scores in board["rows"]:
        cells = []
        for data, score in zip(board["data"], scores, strict=True):
            word = "" if "why" in board else verdict(_ours(results, data, DEFAULT, metrics), score)
            told[word] += not math.isnan(score)
            cells.append(
                None if math.isnan(score) else f"{score:.4f}".removesuffix("0") + (f" {word}" if word else "")
            )
        rows.append((method, source, *cells))
    used = {source: sources[source] for _, source, *_ in board["rows"]}
    note = "; ".join(f"{short}: {words}" for short, words in used.items())
    if "why" in board:
        note += f". Not comparable with ours: {board['why']}"
    elif used:
        counts = ", ".join(f"{word} {told[word]}" for word in ("ahead", "level", "behind"))
        note += f". Words say where `SetDecisionCV()` stands, by two standard errors of the difference: {counts}."
    else:
        note = "Sets are decided for the convention that they are judged by; a smoothed or tuned cut too."
    return ResultTable(board["title"], ("method", "source", *board["data"]), tuple(rows), note)


def _ours(results: Mapping[str, Any], data: str, method: str, metric: str) -> Estimate | None:
    """Our score, if it was made."""
    one = results["datasets"].get(data, {}).get("methods", {}).get(method)
    return None if one is None else Estimate(one[metric]["mean"], one[metric]["standard_error"], one[metric]["n"])
