"""A training problem as plain numbers: its objective by definition, and the ways the library solves it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from benchmarks.soak.draws import (
    Data,
    Generator,
    pick,
    random_frames,
    random_label_sets,
    random_loss,
    usable_operator,
)
from benchmarks.soak.judge import Judge
from setloss.estimators import BagClassifier, SetClassifier
from setloss.losses import Loss
from setloss.plans.batch import batch_surrogate
from setloss.solvers import Design, Problem, Solution


@dataclass
class Training:
    """P(W) = 1/2 |W|^2 + C sum_i weight_i B_i(m_i(W)), with one more feature of constant value."""

    data: Data
    loss: Loss
    operator: str
    scale: float
    C: float
    constant: float
    judges: dict[bytes, Judge] = field(default_factory=dict)

    @property
    def costs(self) -> np.ndarray:
        return self.C * self.data.weights

    def __str__(self) -> str:
        data = self.data
        shape = f"{len(data.weights)} bags, X {data.X.shape} {data.X.dtype}, {data.n_tasks} tasks"
        return f"{self.operator} of {self.loss}, scale {self.scale}, C {self.C:.3g}, {shape}"

    def problem(self, sparse: bool) -> Problem:
        """What the solvers take."""
        data = self.data
        surrogate = batch_surrogate(self.loss, data.truth, data.offsets, self.operator, self.scale)
        design = Design.of(csr_array(data.X) if sparse else data.X, self.constant)
        signs = np.where(data.truth, 1.0, -1.0)
        return Problem(design, surrogate, signs, data.rows, data.tasks, self.costs, data.n_tasks)

    def image(self) -> np.ndarray:
        """M with m(W) = M W.ravel()."""
        data = self.data
        wide = np.hstack([data.X.astype(float), np.full((len(data.X), 1), self.constant)])
        out = np.zeros((len(data.truth), data.n_tasks, wide.shape[1]))
        out[np.arange(len(data.truth)), data.tasks] = np.where(data.truth, 1.0, -1.0)[:, None] * wide[data.rows]
        return out.reshape(len(data.truth), -1)

    def surrogates(self, margins: np.ndarray) -> np.ndarray:
        """B_i at each row of margins: (points, bags)."""
        columns = []
        for here in self.data.bags():
            truth = self.data.truth[here]
            if truth.tobytes() not in self.judges:
                self.judges[truth.tobytes()] = Judge(self.loss, truth, self.operator, self.scale)
            columns.append(self.judges[truth.tobytes()](margins[:, here]))
        return np.stack(columns, axis=1)

    def sizes(self) -> np.ndarray:
        """The largest value of every bag's loss and its parts, once `surrogates` has been asked."""
        return np.array([self.judges[self.data.truth[here].tobytes()].size for here in self.data.bags()])


def random_training(generator: Generator) -> Training:
    """Frames or label sets, with a loss and an operator that takes it."""
    data = pick(generator, (random_frames, random_label_sets))(generator)
    loss, scale = random_loss(generator), pick(generator, (1.0, 2.0))
    operator = usable_operator(generator, loss, data.kinds(), scale)
    C = float(10.0 ** generator.uniform(-3, 1.5))
    return Training(data, loss, operator, scale, C, pick(generator, (0.0, 1.0, 3.0)))


def shuffled(generator: Generator, data: Data) -> tuple[Data, np.ndarray]:
    """Frames in another order within their bags, and a random order of all frames that keeps that one."""
    bag = np.repeat(np.arange(len(data.weights)), np.diff(data.offsets))
    order = generator.permutation(len(bag))
    gathered = order[np.argsort(bag[order], kind="stable")]
    place = np.empty_like(order)
    place[gathered] = np.arange(len(order))
    return replace(data, X=data.X[gathered], truth=data.truth[gathered]), place[order]


def fit(generator: Generator, training: Training, **options) -> tuple[Training, Solution]:
    """Through an estimator: shuffled frames with names of bags, or a matrix of labels with gaps."""
    kept = {name: getattr(training, name) for name in ("loss", "operator", "scale", "C")}
    kept |= {"warm_start": True, "decision": "sign"}  # the solution keeps its dual point for the judge
    intercept = {"intercept_scaling": training.constant} if training.constant > 0 else {"fit_intercept": False}
    sparse = bool(generator.random() < 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if training.data.n_tasks > 1:
            return training, _fit_labels(training.data, sparse, SetClassifier(**kept, **intercept, **options))
        data, order = shuffled(generator, training.data)
        model = BagClassifier(**kept, **intercept, **options)
        return replace(training, data=data, judges={}), _fit_frames(data, order, sparse, model)


def _fit_frames(data: Data, order: np.ndarray, sparse: bool, model: BagClassifier) -> Solution:
    bag = np.repeat(np.arange(len(data.weights)), np.diff(data.offsets))[order]
    names = np.array([f"bag {i:04d}" for i in bag])
    X = csr_array(data.X[order]) if sparse else data.X[order]
    return model.fit(X, data.truth[order], groups=names, sample_weight=data.weights[bag]).solution_


def _fit_labels(data: Data, sparse: bool, model: SetClassifier) -> Solution:
    Y = np.full((len(data.X), data.n_tasks), np.nan)
    Y[data.rows, data.tasks] = data.truth
    return model.fit(csr_array(data.X) if sparse else data.X, Y, sample_weight=data.weights).solution_
