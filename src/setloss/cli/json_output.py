"""What programs read: one JSON document on standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from setloss.cli.set_function_options import DescribedFunction
from setloss.decomposition import Certificate, Decomposition
from setloss.setfunctions.properties import Verdict
from setloss.setfunctions.set_function import SetFunction

MAX_CELLS = 2**20
"""A document lists every cell, up to this many."""


def print_document(document: Mapping[str, Any]) -> None:
    """The document alone, in one line."""
    typer.echo(json.dumps(document, allow_nan=False))


def decomposition_document(answer: Decomposition, given: DescribedFunction) -> dict[str, Any]:
    """l, f and g as nested lists in the shape of the input, and the certificate."""

    def cells(function: SetFunction) -> Any:
        return function.table.reshape(given.shape).tolist()

    return {
        "loss": cells(answer.loss),
        "submodular": cells(answer.submodular),
        "supermodular": cells(answer.supermodular),
        "certificate": _certificate(answer.certificate),
    }


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "rule": certificate.rule,
        "reason": certificate.reason,
        "feasibility": float(certificate.feasibility) + 0.0,
        "column_residual": float(certificate.column_residual),
        "primal": float(certificate.primal),
        "dual": float(certificate.dual),
        "gap": float(certificate.gap),
        "unique": None if certificate.unique is None else bool(certificate.unique),
        "tie_broken": bool(certificate.tie_broken),
        "checked": certificate.checked,
        "holds": bool(certificate.holds),
    }


def verdicts_document(found: Mapping[str, Verdict]) -> dict[str, Any]:
    """The verdicts by name, each with its witness or null."""
    return {"verdicts": {law: _verdict(verdict) for law, verdict in found.items()}}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    witness = verdict.witness
    return {
        "holds": bool(verdict.holds),
        "proved": bool(verdict.proved),
        "excess": float(verdict.excess) + 0.0,
        "tolerance": float(verdict.tolerance),
        "witness": witness and {"A": list(witness.A), "i": witness.i, "j": witness.j, "words": witness.words},
    }
