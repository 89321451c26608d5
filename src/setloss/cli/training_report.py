"""The end of ``setloss train``: the columns, the classifier, the rule and its score in words."""

from collections.abc import Iterator
from typing import Any

import typer

RULES = {
    "counts": "the number of labels of a set is learned beside the scores; the set of least expected loss is taken",
    "plug-in": "labels are taken as independent; the set of least expected loss is taken",
    "threshold": "scores above a threshold are taken, the one that lost least on held-out sets",
    "half": "labels of a probability above 1/2 are taken",
}
"""Rules and what they mean."""


def print_report(estimator: Any, encoder: Any, examples: Any, size: str, promise: Any) -> None:
    """What was trained on, and what came of it."""
    from setloss.estimators.fit_log import in_words

    columns = list(_columns(encoder, examples))
    width = max((len(name) for name, _ in columns), default=0)
    for name, words in columns:
        typer.echo(f"  {name:<{width}}  {words}")
    decision = estimator.decision_
    _line("trained on", size)
    _line("classifier", in_words(estimator.estimator_))
    _line("rule", f"{decision.rule_name_}: {RULES[decision.rule_name_]}")
    scores = {rule: f"{1 - mean:.4f}" for rule, (mean, _) in decision.rule_losses_.items()}
    if decision.rule_name_ in scores:
        error = decision.rule_losses_[decision.rule_name_][1]
        others = {"half": "cut at 1/2", "threshold": "one threshold"}
        compared = [f"{words} {scores[rule]}" for rule, words in others.items() if rule in scores]
        what = "F1" if estimator.loss == "f1" else f"1 - {estimator.loss}"
        _line("held out", f"{what} {scores[decision.rule_name_]} +- {error:.4f}; {', '.join(compared)}")
    if promise is not None:
        _line("promise", f"{promise.sets} sets more were kept for it, and not trained on")
        _line("", str(promise))


def _columns(encoder: Any, examples: Any) -> Iterator[tuple[str, str]]:
    """What became of the columns of a table: features, and labels that were not written as 0 and 1."""
    for column in getattr(encoder, "columns_", ()):
        role = "" if column.role == "number" else f"{column.role}: "
        use = "; names the rows of predictions" if column.name == encoder.id_ else "; left out"
        yield column.name, f"{role}{column.words}{use if column.role == 'id' else ''}"
    yield from getattr(examples, "notes", ())


def _line(name: str, words: str) -> None:
    typer.echo(f"{name:<10}  {words}")
