"""What partitions answer, judged from the definition: risks, slopes, planes below the risk of all; in few rounds."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.problems import reference_operator
from setloss import loss_named
from setloss.dask.partition import make_partition
from setloss.dask.partitioned_problem import (
    LINE_STEPS,
    FitDescription,
    PartitionedProblem,
    PartitionProblem,
    Point,
    cut_at,
    reachable_from,
    risk_along,
    risk_at,
)

MODELS = [("dice", "slack"), ("dice", "bd"), ("jaccard", "lovasz"), ("curve4", "margin"), ("hamming", "hinge")]


class Data:
    """Bags or label sets in partitions, and the risk of all of them by the reference operators."""

    def __init__(self, seed, parts, kind, model, scale):
        generator = np.random.default_rng(seed)
        self.loss, self.operator, self.scale, self.kind = *model, scale, kind
        self.spec = FitDescription(1, 1.5, loss_named(self.loss), self.operator, scale, 0.7)
        self.shape = (1, 4) if kind == "bags" else (3, 4)
        self.parts = [self._part(generator) for _ in range(parts)]
        self.shares = [PartitionProblem(part, self.spec) for part in self.parts]

    def _part(self, generator):
        rows = int(generator.integers(3, 9))
        X = generator.normal(size=(rows, 3))
        weights = generator.uniform(0.5, 2.0, size=rows)
        if self.kind == "bags":
            return make_partition(X, generator.integers(0, 2, rows), generator.integers(0, 3, rows), weights)
        Y = generator.integers(0, 2, (rows, 3)).astype(float)
        Y[generator.random(Y.shape) < 0.2] = np.nan
        return make_partition(X, Y, None, weights)

    def total(self, task, *shared):
        *answer, inexact = (
            sum(terms) for terms in zip(*(task(share, *shared) for share in self.shares), strict=True)
        )
        assert inexact == 0
        return answer

    def risk(self, W):
        """R(W) from the definition."""
        return self.spec.C * sum(self._risk_of(part, W) for part in self.parts)

    def _risk_of(self, part, W):
        scores = np.hstack([part.X, np.full((len(part.X), 1), self.spec.constant)]) @ W.T
        if self.kind == "bags":
            bags = [np.flatnonzero(part.sets.numbers == number) for number in range(len(part.sets))]
            return sum(part.weights[bag].mean() * self._value(part.y[bag, 0] == 1, scores[bag, 0]) for bag in bags)
        known = ~np.isnan(part.y)
        return sum(
            part.weights[row] * self._value(part.y[row, here] == 1, scores[row, here])
            for row, here in enumerate(known)
            if here.any()
        )

    def _value(self, truth, scores):
        surrogate = reference_operator(loss_named(self.loss), self.operator, truth, self.scale)
        return surrogate(np.where(truth, 1.0, -1.0) * scores)


@st.composite
def parted_data(draw):
    return Data(
        draw(st.integers(0, 2**20)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from(["bags", "sets"])),
        draw(st.sampled_from(MODELS)),
        draw(st.sampled_from([1.0, 2.0])),
    )


def assert_below(data, offset, plane, generator, touching=None):
    """R(W) >= offset - <plane, W> at random W, with equality at the point where it was asked for."""
    for size in (0.0, 0.1, 1.0, 10.0):
        W = size * generator.normal(size=data.shape)
        risk = data.risk(W)
        assert float(offset) - float(np.vdot(plane, W)) <= risk + 1e-9 * (1 + risk)
    if touching is not None:
        assert float(offset) - float(np.vdot(plane, touching)) == pytest.approx(data.risk(touching), abs=1e-9)


@settings(max_examples=40)
@given(data=parted_data(), seed=st.integers(0, 99))
def test_risks_and_planes_are_those_of_all_bags(data, seed):
    generator = np.random.default_rng(seed)
    point = Point(0, generator.normal(size=data.shape))
    assert float(data.total(risk_at, point)[0]) == pytest.approx(data.risk(point.parameters), abs=1e-9)
    assert_below(data, *data.total(cut_at, point), generator, touching=point.parameters)


@settings(max_examples=40)
@given(data=parted_data(), seed=st.integers(0, 99))
def test_risks_along_a_line_come_with_slopes_of_it(data, seed):
    generator = np.random.default_rng(seed)
    start, end = (Point(number, generator.normal(size=data.shape)) for number in range(2))
    lengths = (1.0, *reachable_from(0.5))
    ((risks, slopes),) = data.total(risk_along, start, end, lengths)
    values = [data.risk((1 - t) * start.parameters + t * end.parameters) for t in lengths]
    np.testing.assert_allclose(risks, values, atol=1e-9)
    for t, risk, slope in zip(lengths, values, slopes, strict=True):
        for other, value in zip(lengths, values, strict=True):
            assert value >= risk + slope * (other - t) - 1e-9
    # Margins are mixed from those of both ends, or computed where a partition has moved and lost them.
    between = Point(2, start.parameters + 0.25 * (end.parameters - start.parameters), (0, 1, 0.25))
    data.shares[0] = pickle.loads(pickle.dumps(data.shares[0]))
    assert_below(data, *data.total(cut_at, between), generator, touching=between.parameters)


def bisection(lows):
    """The lengths that a line search takes whose slopes say so at each of them: go on (True) or back."""
    low, high, lengths = 0.0, 1.0, [1.0]
    for on in lows:
        low, high = (lengths[-1], high) if on else (low, lengths[-1])
        lengths.append(0.5 * (low + high))
    return lengths


@pytest.mark.parametrize("lows", list(product([True, False], repeat=LINE_STEPS - 2)))
def test_a_search_takes_no_length_out_of_reach(lows):
    lengths = bisection((False, *lows))
    assert len(lengths) == LINE_STEPS
    for k in range(1, LINE_STEPS):
        assert set(reachable_from(lengths[k])) >= set(lengths[k:])


class CountedLengths:
    """Partitions that know the risk |length - 0.3| of any line, and note what was asked for."""

    def __init__(self):
        self.asked = []

    def total(self, task, start, end, lengths):
        self.asked.append(lengths)
        return np.array([[abs(length - 0.3), np.sign(length - 0.3)] for length in lengths]).T, np.zeros(())


def test_a_line_asks_first_for_what_the_last_one_took_and_then_for_all_that_is_left():
    engine, nowhere = CountedLengths(), np.zeros((1, 2))
    problem = PartitionedProblem(engine, (1, 2))
    path = bisection([False, False, True, False])
    for _ in range(2):
        line = problem.line(problem.place(nowhere), nowhere)
        assert [line.at(length)[0] for length in path] == [abs(length - 0.3) for length in path]
    other = problem.line(problem.place(nowhere), nowhere)
    other.at(1.0)
    assert problem.rounds == len(engine.asked)
    assert engine.asked == [
        (1.0, 0.5, 0.25, 0.125, 0.0625),  # what most lines take
        (0.3125, 0.375, 0.4375),  # and all that is left where this one takes another turn
        (1.0, 0.5, 0.25, 0.375, 0.3125),  # all that the next one needs
        (1.0, 0.5, 0.25, 0.375, 0.3125),
    ]
