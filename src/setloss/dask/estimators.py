"""`SetClassifier` on Dask collections: the same parameters, the same fitted attributes, a global gap."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import dask.array as da
import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from setloss.dask.inputs import is_frame, partitions_of, whole_rows
from setloss.dask.partition import inspect_partition, refuse_split_bags, summarize
from setloss.dask.partitioned_problem import LINE_STEPS, FitDescription, PartitionedProblem, PartitionProblem, judge
from setloss.dask.scheduling import Partitions
from setloss.estimators import SetClassifier
from setloss.estimators.decider import by_block
from setloss.estimators.labels import Labels
from setloss.estimators.set_layout import warn_of
from setloss.losses import as_loss
from setloss.solvers import CuttingPlane
from setloss.solvers.loop import OutOfReachError, run
from setloss.typing import Array

SOLVER_NAMES = ("auto", "cutting_plane")


class DaskSetClassifier(SetClassifier):
    """`setloss.estimators.SetClassifier` on partitions: linear scores trained for a loss of sets.

    The sets are the rows of y (n, p), or groups of the elements of y (n,), which lie in one partition. The workers of
    the current `distributed.Client` keep the partitions in memory. Without a client, the threads of Dask in this
    process read a few partitions at a time, in every pass: data may be larger than memory. Give ``X.persist()`` where
    a collection stands for a computation and its result fits into memory.

    Parameters
    ----------
    loss, operator, scale, C, tol, max_iter, ...
        Those of `setloss.estimators.SetClassifier`. `solver` is "cutting_plane", which is also "auto".

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_gap_, solution_
        Those of `setloss.estimators.SetClassifier`; the gap is that of all partitions together.
    n_rounds_
        How often all partitions were asked for something.

    Examples
    --------
    >>> import dask.array as da
    >>> X, y = da.from_array(np.eye(4), chunks=(2, 4)), da.from_array(np.eye(4, dtype=int), chunks=(2, 4))
    >>> model = DaskSetClassifier(C=10.0, tol=0.01).fit(X, y)
    >>> model.predict(X).compute().tolist() == np.eye(4).tolist(), bool(model.dual_gap_ <= 0.01)
    (True, True)
    """

    def to_local(self) -> SetClassifier:
        """The fitted estimator of `setloss.estimators`, with the same parameters and attributes and free of Dask."""
        check_is_fitted(self)
        model = SetClassifier(**self.get_params(deep=False))
        self._labels.set_attributes(model)
        model.__dict__.update((name, value) for name, value in vars(self).items() if name.endswith("_"))
        del model.n_rounds_
        return model

    # ---------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, *, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train on a dask array or DataFrame.

        `y`, `groups` and `sample_weight` are dask arrays with the partitions of X; for a DataFrame, names of columns,
        which are then no features: a list for y (n, p), one name for y (n,). A group lies in one partition: see
        `repartition_by_group` for arrays, and use ``shuffle(on=...)`` of a DataFrame.
        """
        sources, names = partitions_of(X, y, groups, sample_weight)
        flat = not isinstance(y, list) if is_frame(X) else np.ndim(y) == 1
        self._validate_params()
        if self.solver not in SOLVER_NAMES:
            raise ValueError(f"there is no solver {self.solver!r} on Dask; the names are {', '.join(SOLVER_NAMES)}")
        partitions, loss = Partitions(sources), as_loss(self.loss)
        used, data = summarize(partitions.each(inspect_partition))
        labels = Labels(data.classes, None, data.labels, flat, flat and groups is not None)
        warn_of(labels)
        constant = self._constant(np.array([data.squares / data.weight]), np.array([data.weight]))
        shared = FitDescription(data.classes[1], constant, loss, self.operator, float(self.scale), self.C)
        partitions.replace(used, partial(PartitionProblem, fit=shared))
        problem = PartitionedProblem(partitions, (data.labels, data.features + 1))
        labels.set_attributes(self)
        self.n_features_in_ = data.features
        if names is not None:
            self.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        try:
            solution = run(problem, CuttingPlane(line_steps=LINE_STEPS), *self._how())
        except OutOfReachError as lost:
            if self.warm_start and lost.solution is not None:
                self._store(lost.solution, constant)
            raise
        finally:
            self.n_rounds_ = problem.rounds
        self._store(solution, constant)
        self._say_how_it_ended(solution)
        return self

    # ---------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Any:
        """Scores as a dask array or Series, computed when asked for; arrays in memory get arrays in memory."""
        return self._blockwise(X, "decision_function")

    def predict(self, X: Any, *, groups: Any = None) -> Any:
        """Labels as a dask array or Series, computed when asked for; arrays in memory get arrays in memory."""
        return self._blockwise(X, "predict")

    def _blockwise(self, X: Any, method: str) -> Any:
        answer = getattr(self.to_local(), method)
        dtype = self.classes_.dtype if method == "predict" else np.float64
        labels = None if self._labels.flat else list(map(str, range(len(self.coef_))))
        empty = np.empty(0 if labels is None else (0, len(labels)), dtype)
        if is_frame(X):
            rows, meta = X[self.feature_names_in_.tolist()], _as_frame(empty, None, labels)
            return rows.map_partitions(_of_frame, answer, empty, labels, meta=meta)
        return by_block(answer, whole_rows(X), empty) if isinstance(X, da.Array) else answer(X)

    def _judged(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> tuple[Array, Array]:
        """The losses of all sets, and their weights: partition by partition, groups inside one in sorted order."""
        model = self.to_local()
        features = self.feature_names_in_.tolist() if is_frame(X) else None
        model.__dict__.pop("feature_names_in_", None)  # partitions hold arrays
        sources, _ = partitions_of(X, y, groups, sample_weight, features)
        losses, weights, names = zip(*Partitions(sources).each(judge, model), strict=True)
        refuse_split_bags(names)
        return np.concatenate(losses), np.concatenate(weights)


def _of_frame(frame: Any, method: Callable[[Any], Array], empty: Array, labels: list[str] | None) -> Any:
    return _as_frame(method(frame) if len(frame) else empty, frame.index, labels)


def _as_frame(values: Array, index: Any, labels: list[str] | None) -> Any:
    """A Series, or a DataFrame with a column for each label."""
    return pd.Series(values, index=index) if labels is None else pd.DataFrame(values, index=index, columns=labels)
