"""What the driver asks partitions for: few rounds a line."""

from itertools import product

import numpy as np
import pytest

from setloss.dask.driver_problem import LINE_STEPS, PartitionedProblem, reachable_from


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
    problem = PartitionedProblem(engine, (1, 2), "")
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
