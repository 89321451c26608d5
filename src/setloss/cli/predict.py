"""``setloss predict``: the labels or probabilities that a model gives to the rows of a data file."""

import sys
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from setloss.cli.commands import InputError, LossOptions, check_writable, say, with_option_groups, writing
from setloss.cli.inputs import DataOptions, ModelArgument, TrainedModel, TrustedOption, in_use
from setloss.cli.progress import Waiting
from setloss.files import replacing


@with_option_groups
def predict(
    model: ModelArgument,
    data: DataOptions,
    loss: LossOptions,
    out: Annotated[Path | None, typer.Option(help="File to write, .csv.", show_default="standard output")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The probability of each label instead.")
    ] = False,
    names: Annotated[bool, typer.Option("--names", help="A column with the names of the labels, too.")] = False,
    trusted: TrustedOption = None,
) -> None:
    """Predict: one row per example or frame, in the order of DATA, which needs no labels.

    Columns are found by the names that the model was trained with; others are ignored, and the id comes first. With
    --loss, --knots the model decides for another loss than it was trained for. A model that was trained with
    --promise adds the column "answered", 1 where the promise holds and 0 where a person should look.

    For example: setloss predict songs.skops new.csv --out moods.csv
    """
    if out is not None:
        check_writable("--out", out, (".csv",), data.data, model)
    if probabilities and names:
        raise InputError("give --probabilities or --names, not two of them")
    with Waiting(f"reading {model}") as waiting:
        trained = TrainedModel.read(model, trusted, loss)
        waiting.doing(f"reading {data.data}")
        rows = data.read_for(trained, labels=False)
        waiting.doing("predicting")
        with in_use(model, data.data):
            table = _table(trained, rows, probabilities, names)
    if out is None:
        table.to_csv(sys.stdout, index=False)
        return
    with writing("--out", out), replacing(out) as file:
        table.to_csv(file, index=False, mode="wb")
    say(f"predictions written to {out}")


def _table(trained: TrainedModel, rows: Any, probabilities: bool, names: bool) -> Any:
    """A column each: id, bag, names of the labels, labels or probabilities, and whether a set is answered."""
    from pandas import DataFrame, Series, concat

    estimator, sets = trained.estimator, trained.of_label_sets
    if names and not sets:
        raise InputError("--names is for label sets; the model decides for tracks, whose frames have one label")
    if probabilities and not trained.decides:
        raise InputError("the model goes by the signs of its scores, which are no probabilities")
    X, beside = trained.prepared(rows)
    found = (estimator.predict_proba if probabilities else estimator.predict)(X, **beside)
    values = found[:, 1:] if probabilities and not sets else found.reshape(len(found), -1)
    columns = []
    identity = getattr(trained.encoder, "id_", None)
    if identity is not None and identity in rows.X:
        columns.append(rows.X[identity])
    if getattr(rows, "groups", None) is not None:
        columns.append(Series(rows.groups, name=trained.source.group))
    header = trained.source.labels or (list(map(str, range(values.shape[1]))) if sets else ["prediction"])
    if names:
        separator = trained.source.separator or ";"
        columns.append(Series([separator.join(compress(header, row > 0)) for row in values], name="labels"))
    columns.append(DataFrame(values, columns=header))
    if hasattr(estimator, "promise_"):
        answered = estimator.promise_.answers(X, **beside).astype(int)
        places = np.unique(beside["groups"], return_inverse=True)[1] if beside else slice(None)
        columns.append(Series(answered[places], name="answered"))
    return concat(columns, axis=1)
