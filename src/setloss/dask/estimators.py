"""The estimators of setloss on Dask collections: the same parameters, the same fitted attributes, a global gap."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import check_is_fitted

import setloss.estimators as local
from setloss.dask.array_or_frame import is_array, is_frame
from setloss.dask.driver_problem import LINE_STEPS, PartitionedProblem, asks_for_whole_lines
from setloss.dask.engines import Engine, OnCluster, OneByOne
from setloss.dask.partition import Kind
from setloss.dask.reports import Summary, inspect_partition, summarize
from setloss.dask.tasks import FitDescription, judge_partition
from setloss.dask.unread_partitions import Partitions, partitions_of, whole_rows
from setloss.defaults import LINEAR_MODELS
from setloss.estimators.linear_model import LinearSetModel
from setloss.solvers import CuttingPlane
from setloss.solvers.loop import run
from setloss.solvers.problem import digest_of
from setloss.typing import Array

SOLVER_NAMES = ("auto", "cutting_plane")


class DaskModel(LinearSetModel):
    """What both estimators add to the local ones: partitions and a client."""

    _kind: Kind

    def __init__(
        self,
        loss: Any = LINEAR_MODELS.loss,
        operator: Any = LINEAR_MODELS.operator,
        *,
        client: Any = None,
        **parameters: Any,
    ) -> None:
        super().__init__(loss, operator, **parameters)
        self.client = client

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters that differ from their defaults, as scikit-learn shows them."""
        usual = type(self)().get_params(deep=False)
        changed = {name: value for name, value in self.get_params(deep=False).items() if value is not usual[name]}
        given = ", ".join(f"{name}={value!r}" for name, value in changed.items() if value != usual[name])
        return f"{type(self).__name__}({given})"

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*LinearSetModel._get_param_names(), "client"])

    def to_local(self) -> Any:
        """The fitted estimator of setloss with the same parameters and attributes, free of Dask."""
        check_is_fitted(self)
        plain = {"bags": local.BagClassifier, "sets": local.SetClassifier}[self._kind]
        model = plain(**{name: getattr(self, name) for name in LinearSetModel._get_param_names()})
        model.__dict__.update({name: value for name, value in vars(self).items() if name != "client"})
        return model

    # ---------------------------------------------------------------- fitting

    def _fit_partitions(self, partitions: Partitions) -> None:
        loss = self._loss()
        self._check_parameters()
        limits = self._limits()
        if self.solver not in SOLVER_NAMES:
            raise ValueError(f"there is no solver {self.solver!r} on Dask; the names are {', '.join(SOLVER_NAMES)}")
        engine, fit = self._engine(partitions), uuid4().hex
        try:
            reports = engine.each(inspect_partition, self._kind, self.checkpoint is not None)
            found = summarize(engine, self._kind, reports)
            tasks = found.labels or 1 if self._kind == "sets" else 1
            constant = self._constant_of(found)
            described = (fit, self._kind, found.classes[1], loss, self.operator, float(self.scale), float(self.C))
            spec = FitDescription(*described, constant, self._seed())
            words = repr((self._kind, found.classes.tolist(), loss, self.operator, self.scale, self.C, constant))
            shape = (tasks, found.features + 1)
            digest = digest_of(words + "".join(found.digests))
            whole_lines = asks_for_whole_lines(found.elements, len(engine))
            problem = PartitionedProblem(engine, spec, shape, digest, whole_lines)
            solution = run(problem, CuttingPlane(line_steps=LINE_STEPS), limits, self._warm())
        finally:
            engine.close(fit)
        self.classes_ = found.classes
        self._flat = found.labels is None
        self.n_features_in_ = found.features
        if partitions.feature_names is not None:
            self.feature_names_in_ = np.asarray(partitions.feature_names, dtype=object)
        self.n_rounds_ = problem.rounds
        self._store(solution, constant)
        self._warn(solution)

    def _engine(self, partitions: Partitions) -> Engine:
        client = current_client(self.client)
        if client is None:
            return OneByOne(partitions.delayed)
        return OnCluster(client, partitions.delayed)

    def _constant_of(self, found: Summary) -> float:
        if not self.fit_intercept:
            return 0.0
        return found.norm if self.intercept_scaling == "auto" else float(self.intercept_scaling)

    # ---------------------------------------------------------------- prediction

    def decision_function(self, X: Any) -> Any:
        """Scores as a dask array or Series, computed when asked for; arrays in memory get arrays in memory."""
        return self._blockwise(X, "decision_function", float)

    def predict(self, X: Any) -> Any:
        """Labels as a dask array or Series, computed when asked for; arrays in memory get arrays in memory."""
        return self._blockwise(X, "predict", self._label_type())

    def _label_type(self) -> Any:
        check_is_fitted(self)
        return self.classes_.dtype

    def _blockwise(self, X: Any, method: str, dtype: Any) -> Any:
        model = self.to_local()
        if is_frame(X):
            return _of_frame(model, method, self._own_columns(X), dtype)
        if not is_array(X):
            return getattr(model, method)(X)
        vars(model).pop("feature_names_in_", None)
        whole = whole_rows(X)
        if self._kind == "bags" or self._flat:
            return whole.map_blocks(_apply_to_block, model, method, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype))
        chunks = (whole.chunks[0], (len(self.coef_),))
        meta = np.empty((0, 0), dtype)
        return whole.map_blocks(_apply_to_block, model, method, dtype=dtype, chunks=chunks, meta=meta)

    def _own_columns(self, X: Any, *named: Any) -> Any:
        """A DataFrame without columns that are neither features of the model nor named."""
        if not is_frame(X) or not hasattr(self, "feature_names_in_"):
            return X
        features = self.feature_names_in_.tolist()
        missing = [name for name in features if name not in X.columns]
        if missing:
            raise ValueError(f"X has no column {missing[0]!r}, which the model was trained with")
        asked = [name for name in named if isinstance(name, str)]
        asked += [name for names in named if isinstance(names, list) for name in names]
        return X[[*features, *asked]]

    def _evaluate(self, partitions: Partitions) -> tuple[Array, Array]:
        """The losses of all bags, and their weights."""
        check_is_fitted(self)
        engine = self._engine(partitions)
        described = (self._kind, self.classes_[1], self._loss(), self.operator, float(self.scale), float(self.C))
        spec = FitDescription("evaluation", *described, 1.0, 0)
        W = np.hstack([self.coef_, self.intercept_[:, None]])
        reports, judged = zip(*engine.each(judge_partition, spec, W), strict=True)
        found = summarize(engine, self._kind, list(reports), self.classes_)
        if found.features != self.n_features_in_:
            raise ValueError(f"X has {found.features} features and the model was trained on {self.n_features_in_}")
        if self._kind == "sets" and (found.labels or 1) != len(W):
            raise ValueError(f"y has {found.labels or 1} labels and the model was trained on {len(W)}")
        losses, weights = np.hstack(judged)
        return losses, weights


class DaskBagClassifier(DaskModel, local.BagClassifier):
    """`setloss.estimators.BagClassifier` on partitions of whole bags: linear frame classifier for a loss of bags.

        min over w   1/2 |w|^2 + C sum_i weight_i B(y_i1 <w, x_i1>, ..., y_ip <w, x_ip>)

    Parameters
    ----------
    loss, operator, scale, C, tol, max_iter, ...
        Those of `setloss.estimators.BagClassifier`. `solver` is "cutting_plane", also called "auto".
    client
        A `distributed.Client`; by default the current one. Without any, the partitions are read one after the other
        in this process, for data beyond memory on one machine: what an array stands for is computed in every pass,
        so give ``X.persist()`` where that is a computation and not a file.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_gap_, solution_
        Those of `setloss.estimators.BagClassifier`; the gap is that of all partitions together.
    n_rounds_
        How often all partitions were asked for something.
    """

    _kind: Kind = "bags"

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> DaskBagClassifier:
        """Train on a dask array or DataFrame of frames.

        `y`, `groups` and `sample_weight` are dask arrays or Series with the partitions of X; for a DataFrame also
        names of its columns, which are then no features. A bag lies in one partition; see `repartition_by_group`.
        """
        self._fit_partitions(partitions_of(X, y, groups, sample_weight))
        return self

    def predict(self, X: Any, groups: Any = None) -> Any:
        """The class of every frame, by the sign of its score; `groups` play no part."""
        return super().predict(X)

    def losses(self, X: Any, y: Any, groups: Any = None) -> Array:
        """The loss of every bag: partition by partition, inside one in sorted order of the groups."""
        losses, _ = self._evaluate(partitions_of(self._own_columns(X, y, groups), y, groups))
        return losses

    def score(self, X: Any, y: Any, groups: Any = None) -> float:  # type: ignore[override]
        """1 - the mean loss over the bags."""
        return 1.0 - float(np.mean(self.losses(X, y, groups)))


class DaskSetClassifier(DaskModel, local.SetClassifier):
    """`setloss.estimators.SetClassifier` on partitions: a linear multi-label classifier for a loss of label sets.

        min over (w^1, ..., w^p)   1/2 sum_j |w^j|^2 + C sum_i weight_i B(y_i1 <w^1, x_i>, ..., y_ip <w^p, x_i>)

    Parameters and attributes are those of `setloss.dask.DaskBagClassifier`.
    """

    _kind: Kind = "sets"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DaskSetClassifier:
        """Train on a dask array or DataFrame of examples; for a DataFrame `y` may be a list of columns."""
        self._fit_partitions(partitions_of(X, y, None, sample_weight))
        return self

    def losses(self, X: Any, y: Any) -> Array:
        """The loss of every example with a known label."""
        losses, _ = self._evaluate(partitions_of(self._own_columns(X, y), y))
        return losses

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - the mean loss over the examples."""
        losses, weights = self._evaluate(
            partitions_of(self._own_columns(X, y, sample_weight), y, None, sample_weight)
        )
        return 1.0 - float(np.average(losses, weights=weights))


def current_client(client: Any) -> Any:
    """The client given, else the current one of Dask, else None."""
    from distributed import Client, get_client

    if client is None:
        try:
            return get_client()
        except ValueError:
            return None
    if not isinstance(client, Client) or client.asynchronous:
        raise TypeError(f"client must be a distributed.Client that is not asynchronous; got {type(client).__name__}")
    return client


def _apply_to_block(block: Any, model: Any, method: str) -> Any:
    return getattr(model, method)(block)


def _of_frame(model: Any, method: str, X: Any, dtype: Any) -> Any:
    import pandas as pd

    if len(model.coef_) == 1:
        return X.map_partitions(_column_of_frame, model, method, meta=pd.Series(dtype=dtype, name=method))
    meta = pd.DataFrame({str(label): pd.Series(dtype=dtype) for label in range(len(model.coef_))})
    return X.map_partitions(_columns_of_frame, model, method, meta=meta)


def _column_of_frame(frame: Any, model: Any, method: str) -> Any:
    import pandas as pd

    values = getattr(model, method)(frame) if len(frame) else np.empty(0)
    return pd.Series(np.ravel(values), index=frame.index, name=method)


def _columns_of_frame(frame: Any, model: Any, method: str) -> Any:
    import pandas as pd

    values = getattr(model, method)(frame) if len(frame) else np.empty((0, len(model.coef_)))
    return pd.DataFrame(values, index=frame.index, columns=[str(label) for label in range(len(model.coef_))])
