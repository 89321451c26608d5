"""What partitions answer, judged from the definition: risks, slopes along lines, and planes below the risk of all."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference_operators import reference_operator
from setloss import loss_named
from setloss.dask.driver_problem import LINE_STEPS, PartitionedProblem, asks_for_whole_lines, within_reach
from setloss.dask.engines import FAN_IN, InMemory, add_shares, in_eights
from setloss.dask.notes import forget
from setloss.dask.partition import make_partition
from setloss.dask.tasks import FitDescription, ParameterPoint, cut_at, risk_along, risk_at

MODELS = [("dice", "slack"), ("dice", "bd"), ("jaccard", "lovasz"), ("curve4", "margin"), ("hamming", "hinge")]


class Data:
    """Bags or label sets in partitions, and the risk of all of them by the reference operators."""

    def __init__(self, seed, parts, kind, model, scale):
        generator = np.random.default_rng(seed)
        self.loss, self.operator, self.scale, self.kind = *model, scale, kind
        self.spec = FitDescription(
            f"fit {seed}", kind, 1, loss_named(self.loss), self.operator, scale, 0.7, 1.5, seed
        )
        self.shape = (1, 4) if kind == "bags" else (3, 4)
        self.parts = [self._part(index, generator) for index in range(parts)]
        forget(self.spec.fit)

    def _part(self, index, generator):
        rows = int(generator.integers(3, 9))
        X = generator.normal(size=(rows, 3))
        weights = generator.uniform(0.5, 2.0, size=rows)
        if self.kind == "bags":
            return make_partition(index, X, generator.integers(0, 2, rows), generator.integers(0, 3, rows), weights)
        Y = generator.integers(0, 2, (rows, 3)).astype(float)
        Y[generator.random(Y.shape) < 0.2] = np.nan
        return make_partition(index, X, Y, None, weights)

    def total(self, task, *shared):
        answers = [task(InMemory(part), index, self.spec, *shared) for index, part in enumerate(self.parts)]
        while len(answers) > 1:
            answers = list(in_eights(answers))
        return answers[0]

    def risk(self, W):
        """R(W) from the definition."""
        return self.spec.C * sum(self._risk_of(part, W) for part in self.parts)

    def _risk_of(self, part, W):
        scores = np.hstack([part.X, np.full((len(part.X), 1), self.spec.constant)]) @ W.T
        if self.kind == "bags":
            bags = [np.flatnonzero(part.groups == group) for group in np.unique(part.groups)]
            return sum(part.weights[bag].mean() * self._value(part.y[bag] == 1, scores[bag, 0]) for bag in bags)
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
    point = ParameterPoint(generator.normal(size=data.shape))
    assert float(data.total(risk_at, point)[0]) == pytest.approx(data.risk(point.parameters), abs=1e-9)
    assert_below(data, *data.total(cut_at, point), generator, touching=point.parameters)


@settings(max_examples=40)
@given(data=parted_data(), seed=st.integers(0, 99))
def test_risks_along_a_line_come_with_slopes_of_it(data, seed):
    generator = np.random.default_rng(seed)
    start, end = (ParameterPoint(generator.normal(size=data.shape)) for _ in range(2))
    lengths = (1.0, *within_reach(0.5))
    ((risks, slopes),) = data.total(risk_along, start, end, lengths)
    values = [data.risk((1 - t) * start.parameters + t * end.parameters) for t in lengths]
    np.testing.assert_allclose(risks, values, atol=1e-9)
    for t, risk, slope in zip(lengths, values, slopes, strict=True):
        for other, value in zip(lengths, values, strict=True):
            assert value >= risk + slope * (other - t) - 1e-9
    between = ParameterPoint(
        start.parameters + 0.25 * (end.parameters - start.parameters), (start.name, end.name, 0.25)
    )  # margins are mixed from those at both ends
    assert_below(data, *data.total(cut_at, between), generator, touching=between.parameters)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 65])
def test_sums_in_eights_are_sums(count):
    answers = [(np.float64(k), np.full(2, float(k))) for k in range(count)]
    assert len(list(in_eights(answers))) == -(-count // FAN_IN)
    while len(answers) > 1:
        answers = list(in_eights(answers))
    assert answers[0][0] == count * (count - 1) / 2
    np.testing.assert_array_equal(add_shares(answers[0], answers[0])[1], np.full(2, count * (count - 1.0)))


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
        assert set(within_reach(lengths[k])) >= set(lengths[k:])


class CountedLengths:
    """An engine that knows the risk |length - 0.3| of any line, and notes what was asked for."""

    def __init__(self):
        self.asked = []

    def total(self, task, spec, start, end, lengths):
        self.asked.append(lengths)
        return (np.array([[abs(length - 0.3), np.sign(length - 0.3)] for length in lengths]).T,)


def test_few_elements_are_asked_for_whole_lines():
    assert asks_for_whole_lines(10_000, 4)
    assert asks_for_whole_lines(600_000, 1600)
    assert not asks_for_whole_lines(100_000, 4)
    engine, nowhere = CountedLengths(), np.zeros((1, 2))
    problem = PartitionedProblem(engine, None, (1, 2), "", whole_lines=True)
    line = problem.line(problem.place(nowhere), nowhere)
    for length in bisection([False, False, True, False]):
        line.at(length)
    assert [sorted(lengths) for lengths in engine.asked] == [[k / 16 for k in range(1, 17)]]


def test_a_line_asks_first_for_what_the_last_one_took_and_then_for_all_that_is_left():
    engine, nowhere = CountedLengths(), np.zeros((1, 2))
    problem = PartitionedProblem(engine, None, (1, 2), "")
    path = bisection([False, False, True, False])
    for _ in range(2):
        line = problem.line(problem.place(nowhere), nowhere)
        assert [line.at(length)[0] for length in path] == [abs(length - 0.3) for length in path]
    other = problem.line(problem.place(nowhere), nowhere)
    other.at(1.0)
    assert engine.asked == [
        (1.0, 0.5, 0.25, 0.125, 0.0625),  # what most lines take
        (0.3125, 0.375, 0.4375),  # and all that is left where this one takes another turn
        (1.0, 0.5, 0.25, 0.375, 0.3125),  # all that the next one needs
        (1.0, 0.5, 0.25, 0.375, 0.3125),
    ]
