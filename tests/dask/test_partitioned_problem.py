"""What partitions answer: the risk of all, its slopes, planes below it; in few rounds."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    """Bags or label sets in partitions, and the problem of all of them in memory."""

    def __init__(self, seed, parts, kind, model, scale):
        generator = np.random.default_rng(seed)
        fit = FitDescription(1, 1.5, loss_named(model[0]), model[1], scale, 0.7)
        rows = [self._rows(generator, kind, number) for number in range(parts)]
        self.shares = [PartitionProblem(make_partition(*some), fit) for some in rows]
        columns = [None if column[0] is None else np.concatenate(column) for column in zip(*rows, strict=True)]
        self.problem = PartitionProblem(make_partition(*columns), fit).problem
        self.shape = self.problem.shape

    @staticmethod
    def _rows(generator, kind, number):
        n = int(generator.integers(3, 9))
        X, weights = generator.normal(size=(n, 3)), generator.uniform(0.5, 2.0, size=n)
        if kind == "bags":
            return X, generator.integers(0, 2, n), 3 * number + generator.integers(0, 3, n), weights
        Y = generator.integers(0, 2, (n, 3)).astype(float)
        Y[generator.random(Y.shape) < 0.2] = np.nan
        return X, Y, None, weights

    def total(self, task, *shared):
        *answer, inexact = (
            sum(terms) for terms in zip(*(task(share, *shared) for share in self.shares), strict=True)
        )
        assert inexact == 0
        return answer

    def risk(self, W):
        """R(W), which tests/solvers compare with its definition."""
        return self.problem.objective(W) - 0.5 * float(np.vdot(W, W))


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
