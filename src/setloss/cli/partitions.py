"""Training, predicting and evaluating on data in partitions: the commands, on `setloss.dask`."""

from collections.abc import Iterator
from typing import Any, NoReturn

import typer

from setloss.cli.cluster_options import ClusterOptions
from setloss.cli.data_options import DataOptions
from setloss.cli.decided import chosen_sets, decides_for_sets
from setloss.cli.errors import InputError
from setloss.cli.models import ModelColumns, scores_of
from setloss.cli.progress import say

LOST = 3
"""Exit code of a command whose cluster is gone."""


def open_partitions(data: DataOptions, engine: ClusterOptions) -> Any:
    """The data, not read yet, or an `InputError`."""
    from setloss.dask import open_data
    from setloss.datasets import DatasetError

    _refuse_svmlight_options(data)
    labels: Any = data.labels.split(",") if data.labels and "," in data.labels else data.labels
    try:
        return open_data(
            data.data,
            labels=labels,
            group=data.group,
            label=data.label,
            ignore=data.ignored,
            partition_bytes=engine.partition_bytes(),
        )
    except DatasetError as error:
        raise InputError(data.in_options(str(error))) from None


def open_partitioned_features(data: DataOptions, engine: ClusterOptions, model: Any) -> Any:
    """The features of a model, not read yet, from data whose labels may be missing."""
    from setloss.dask.readers import open_features
    from setloss.datasets import DatasetError

    _refuse_svmlight_options(data)
    columns = ModelColumns.of(model)
    needs_bags = not columns.of_label_sets and decides_for_sets(model)
    try:
        return open_features(
            data.data,
            columns.features,
            tracks=not columns.of_label_sets,
            group=data.group or (columns.group if needs_bags else None),
            not_features=data.not_features(columns),
            partition_bytes=engine.partition_bytes(),
        )
    except DatasetError as error:
        raise InputError(data.in_options(str(error))) from None


def _refuse_svmlight_options(data: DataOptions) -> None:
    for option, value in (
        ("--features", data.features),
        ("--first-label", data.first_label),
        ("--first-feature", data.first_feature),
    ):
        if value is not None:
            raise InputError(f"{option} is for svmlight files, which are not read in partitions")


def estimator_for(collection: Any, client: Any, engine: ClusterOptions, **parameters: Any) -> Any:
    """The estimator of `setloss.dask` for bags or for label sets."""
    from setloss.dask import DaskBagClassifier, DaskSetClassifier

    kind = DaskSetClassifier if collection.groups is None else DaskBagClassifier
    return kind(client=client, memory=engine.bytes() if client is None else None, **parameters)


def standardized(collection: Any, client: Any) -> tuple[Any, Any]:
    """The collection with standardised features, and what they were standardised by; one pass over the data."""
    from dataclasses import replace

    import numpy as np

    import dask
    from setloss.estimators.elements import Standardizer

    names = None if collection.feature_names is None else list(collection.feature_names)
    X = collection.X if names is None else collection.X[names]
    lazy = [X.mean(axis=0), X.std(axis=0, ddof=0)]
    computed = dask.compute(*lazy, scheduler="synchronous") if client is None else client.gather(client.compute(lazy))
    mean, deviation = (np.asarray(values, dtype=np.float64) for values in computed)
    if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(deviation))):
        return collection, Standardizer.identity(len(mean))  # the training says where the value is that is no number
    found = Standardizer(mean, np.where(deviation > 0, deviation, 1.0))
    if names is None:
        return replace(collection, X=X.map_blocks(found.apply, dtype=X.dtype)), found
    whole = collection.X
    return replace(collection, X=whole.map_partitions(_scaled_frame, names, found, meta=whole._meta)), found


def _scaled_frame(frame: Any, names: list[str], features: Any) -> Any:
    scaled = frame.copy()
    scaled[names] = features.apply(frame[names].to_numpy())
    return scaled


def raise_lost(error: Exception) -> NoReturn:
    """End a command whose cluster is gone."""
    say(str(error).replace("checkpoint=", "--checkpoint"))
    raise typer.Exit(LOST) from None


def answers(collection: Any, client: Any, task: Any, *shared: Any) -> Iterator[Any]:
    """What a task makes of each partition, in order."""
    from setloss.dask.engines import OnCluster, OneByOne
    from setloss.dask.unread_partitions import partitions_of
    from setloss.solvers.loop import OutOfReachError

    parts = partitions_of(collection.X, *collection.targets).delayed
    engine = OneByOne(parts) if client is None else OnCluster(client, parts)
    try:
        yield from engine.stream(task, *shared)
    except ValueError as error:
        raise InputError(str(error)) from None
    except OutOfReachError as error:
        raise_lost(error)


def answers_of_partition(source: Any, index: int, model: Any, loss: Any, scores: bool) -> tuple[Any, Any]:
    """Names of the bags, if any, and scores (n, p), or numbers above 0 for labels that are decided for."""
    part = source.read()
    if decides_for_sets(model) and not scores:
        return part.groups, chosen_sets(model, part.X, part.groups, loss)
    return part.groups, scores_of(model, part.X)


def losses_of_partition(source: Any, index: int, model: Any, losses: dict[str, Any]) -> dict[str, Any]:
    """The losses of every bag, by name."""
    import numpy as np

    from setloss.dask.partition import Kind
    from setloss.dask.reports import inspect_partition
    from setloss.dask.tasks import all_elements, judged_elements

    part = source.read()
    kind: Kind = "sets" if part.groups is None else "bags"
    known = model.classes_.tolist()
    strange = set(inspect_partition(source, index, kind, False).classes.tolist()) - set(known)
    if strange:
        raise ValueError(f"partition {index} has the label {strange.pop()!r}; the model knows {known}")
    if decides_for_sets(model):
        elements, groups = all_elements(part, kind, model.classes_[1])
        predicted = chosen_sets(model, part.X, part.groups)[elements.rows, elements.tasks]
    else:
        W = np.hstack([model.coef_, model.intercept_[:, None]])
        elements, predicted, groups = judged_elements(part, kind, model.classes_[1], W, 1.0)
    return {name: loss(elements.truth, predicted, groups=groups) for name, loss in losses.items()}
