"""``setloss evaluate``: every loss of a model on a data file, with standard errors."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from setloss.cli.commands import with_option_groups
from setloss.cli.data_options import DataOptions
from setloss.cli.decided import chosen_sets, decides_for_sets, expected_of
from setloss.cli.errors import InputError
from setloss.cli.json_output import print_document
from setloss.cli.models import check_kind, read_model, scores_of
from setloss.cli.progress import Waiting

SHOWN = ("dice", "jaccard", "hamming")
CURVES = ("curve1", "curve2", "curve3", "curve4")


@with_option_groups
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File written by setloss train.")],
    data: DataOptions,
    every: Annotated[bool, typer.Option("--all", help="The paper's cost curves too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")] = False,
) -> None:
    """The losses of a model: the mean over examples or bags, and its standard error.

    A model that decides for the set (--method counts, --decision) says which losses it expects.

    For example: setloss evaluate songs.skops test.csv
    """
    with Waiting(f"reading {model}") as waiting:
        trained = read_model(model)
        own, losses = _losses(trained, SHOWN + CURVES if every else SHOWN)
        operator = getattr(trained, "operator", getattr(trained, "rule_name_", "counts"))
        C = getattr(trained, "C", None)
        waiting.doing(f"reading {data.data}")
        examples = data.read_for(trained, model)
        sets = check_kind(examples, data.data, trained, model)
        waiting.doing("predicting")
        chosen = _chosen(trained, examples)
        truth, predicted, groups = _flat(examples, sets, chosen, data.data, model)
        values = {name: loss(truth, predicted, groups=groups) for name, loss in losses.items()}
        expected = _expected(trained, examples, chosen, losses)
    table: dict[str, dict[str, float | None]] = {name: _mean(per_set) for name, per_set in values.items()}
    for name, mean in expected.items():
        table[name]["expected"] = mean
    if as_json:
        facts = {"loss": own, "operator": operator, "C": C, "sets": len(values[own])}
        print_document(facts | {"losses": table})
        return
    weight = "" if C is None else f", C = {C:g}"
    typer.echo(f"{model}: trained for {own} with {operator}{weight}")
    width = max(map(len, table))
    for name, row in table.items():
        error = "" if row["error"] is None else f" +- {row['error']:.4f}"
        foreseen = f"  expected {row['expected']:.4f}" if "expected" in row else ""
        typer.echo(f"{name:<{width}}  {row['mean']:.4f}{error}{foreseen}{'  (its own)' if name == own else ''}")


def _chosen(trained: Any, examples: Any) -> Any:
    """Predicted labels (n, p) as bool, one column for tracks."""
    if decides_for_sets(trained):
        return chosen_sets(trained, examples.X, getattr(examples, "groups", None))
    return scores_of(trained, examples.X) > 0


def _flat(examples: Any, sets: bool, predicted: Any, path: Path, model: Path) -> tuple[Any, Any, Any]:
    """True and predicted labels of all known elements, and the set each belongs to."""
    import numpy as np

    if not sets:
        return examples.y == 1, predicted[:, 0], examples.groups
    if examples.Y.shape != predicted.shape:
        raise InputError(
            f"{path} has {examples.Y.shape[1]} labels and the model {model} was trained on {predicted.shape[1]}"
        )
    known = ~np.isnan(examples.Y.astype(np.float64))
    if not known.any():
        raise InputError(f"{path} has no known label to compare with")
    return examples.Y[known] == 1, predicted[known], np.nonzero(known)[0]


def _expected(trained: Any, examples: Any, chosen: Any, losses: dict[str, Any]) -> dict[str, float]:
    """What a model expects of its decisions, by loss; one that goes by signs expects nothing."""
    if not decides_for_sets(trained):
        return {}
    groups = getattr(examples, "groups", None)
    return {
        name: float(expected_of(trained, examples.X, groups, chosen, loss).mean()) for name, loss in losses.items()
    }


def _losses(trained: Any, shown: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """What the model's own loss is called, and the losses to show, its own among them."""
    from setloss.losses import as_loss, loss_named

    own = trained.loss if isinstance(trained.loss, str) else repr(trained.loss)
    losses = {name: loss_named(name) for name in shown}
    objective = as_loss(trained.loss)
    own = next((name for name in (*SHOWN, *CURVES) if loss_named(name) == objective), own)
    return own, losses | {own: objective}


def _mean(values: Any) -> dict[str, float | None]:
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return {"mean": float(values.mean()), "error": error}
