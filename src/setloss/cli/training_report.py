"""The end of ``setloss train``: the columns, the classifier, the rule and its score in words, and what to do next."""

from typing import Any

import typer

from setloss.cli.linear_models import ending

RULES = {
    "counts": "the number of labels of a set is learned beside the scores; the set of least expected loss is taken",
    "plug-in": "labels are taken as independent; the set of least expected loss is taken",
    "threshold": "scores above a threshold are taken, the one that lost least on held-out sets",
    "half": "labels of a probability above 1/2 are taken",
    "sign": "labels of a positive score are taken, as in the paper",
}
"""Rules and what they mean."""


def summary_of(estimator: Any, objective: Any) -> dict[str, Any]:
    """What was trained and how it ended; None where something does not apply."""
    from setloss.estimators.fit_log import in_words

    decision = getattr(estimator, "decision_", None)
    losses = {} if decision is None else decision.rule_losses_
    return {
        "loss": objective if isinstance(objective, str) else repr(objective),
        "classifier": in_words(getattr(estimator, "estimator_", estimator)),
        "rule": "sign" if decision is None else decision.rule_name_,
        "held_out_losses": {rule: [float(mean), float(error)] for rule, (mean, error) in losses.items()},
        **ending(estimator),
    }


def columns_of(encoder: Any, examples: Any) -> list[dict[str, str]] | None:
    """What became of the columns of a table: features, and labels that were not written as 0 and 1."""
    found = [column._asdict() for column in getattr(encoder, "columns_", ())]
    ids = [column for column in found if column["role"] == "id"]
    for column in ids:
        column["words"] += "; names the rows of predictions" if column is ids[0] else "; left out"
    found += [{"name": name, "role": "labels", "words": words} for name, words in getattr(examples, "notes", ())]
    return found or None


def print_report(document: dict[str, Any]) -> None:
    """The document in words."""
    columns = document["columns"] or []
    width = max((len(column["name"]) for column in columns), default=0)
    for column in columns:
        role = "" if column["role"] in ("number", "labels") else f"{column['role']}: "
        typer.echo(f"  {column['name']:<{width}}  {role}{column['words']}")
    _line("trained on", f"{document['sets']} sets, {document['features']} features")
    _line("classifier", document["classifier"])
    if document["status"] is not None:
        gap = "no certified gap" if document["gap"] is None else f"gap {document['gap']:.1e}"
        _line("", f"{document['status']}: {gap}")
    _line("rule", f"{document['rule']}: {RULES[document['rule']]}")
    scores = {rule: f"{1 - mean:.4f}" for rule, (mean, _) in document["held_out_losses"].items()}
    if document["rule"] in scores:
        error = document["held_out_losses"][document["rule"]][1]
        others = {"half": "cut at 1/2", "threshold": "one threshold"}
        compared = [f"{words} {scores[rule]}" for rule, words in others.items() if rule in scores]
        what = "F1" if document["loss"] == "f1" else f"1 - {document['loss']}"
        _line("held out", f"{what} {scores[document['rule']]} +- {error:.4f}; {', '.join(compared)}")
    if document["promise"] is not None:
        kept = document["promise"]["sets"]
        _line("promise", f"{kept} of {kept + document['sets']} sets were kept for it, and not trained on")
        _line("", document["promise"]["words"])
    _line("model", f"written to {document['model']}")
    names = " --names" if any(column["role"] == "labels" for column in columns) else ""
    _line("next", f"setloss evaluate {document['model']} TEST; setloss predict {document['model']} NEW{names}")


def _line(name: str, words: str) -> None:
    typer.echo(f"{name:<10}  {words}")
