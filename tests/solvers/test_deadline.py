"""The time limit holds inside an iteration too: by a clock of our own, and by counting passes over X."""

from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

from helpers.problems import label_sets, tracks
from setloss.solvers import Limits, Problem, Status, deadline, loop, solve, visits
from setloss.solvers.deadline import check_time, seconds_left, time_limit

SOLVERS = ("cutting_plane", "n_slack", "admm", "frank_wolfe", "auto")
every_solver = pytest.mark.parametrize("solver", SOLVERS)


class Passes:
    """Counts the passes over X, and what every look at the clock saw of them."""

    def __init__(self, monkeypatch, over_at=np.inf):
        self.made, self.seen, self.looks, self.over_at = 0.0, [], None, over_at
        monkeypatch.setattr(loop, "time_limit", self.time_limit)
        for module in (deadline, loop):
            monkeypatch.setattr(module, "clock", self.clock)
        for name in ("margins", "parameters"):
            monkeypatch.setattr(Problem, name, self.counted(getattr(Problem, name), lambda *given: 1.0))
        share = lambda *given: 3.0 * len(given[0]) / len(given[4])  # noqa: E731
        monkeypatch.setattr(visits, "epoch", self.counted(visits.epoch, share))

    def counted(self, function, passes):
        def call(*given):
            before = self.made
            found = function(*given)
            self.made = max(before, self.made) + passes(*given)
            return found

        return call

    def clock(self):
        self.seen.append(self.made)
        return 1e9 if self.looks is not None and next(self.looks) >= self.over_at else 0.0

    @contextmanager
    def time_limit(self, seconds):
        """From here on looks are counted."""
        with time_limit(seconds):
            self.looks, self.seen = count(1), []
            yield


@every_solver
def test_between_two_looks_at_the_clock_there_is_at_most_one_pass(monkeypatch, solver):
    problem = tracks("dice", "bd", sizes=(2, 3, 1) * 400, d=3, C=2.0).problem
    passes = Passes(monkeypatch)
    found = solve(problem, solver, Limits(1e-14, 3 if solver != "n_slack" else 1, max_time=1.0))
    assert found.status is Status.ITERATION_LIMIT
    assert len(passes.seen) > 5
    assert max(np.diff(passes.seen)) <= 1.0 + 1e-9


@every_solver
@pytest.mark.parametrize("looks", [1, 2, 3, 5, 8, 13, 21])
def test_a_run_whose_time_is_over_ends_with_a_true_answer(monkeypatch, solver, looks):
    case = label_sets("dice", "slack", n=12, C=3.0)
    problem = case.problem
    passes = Passes(monkeypatch, over_at=looks)
    found = solve(problem, solver, Limits(1e-14, 10**6, max_time=1.0))
    assert found.status is Status.TIME_LIMIT
    assert passes.made - passes.seen[looks - 1] <= 3  # two of them certify the answer
    assert found.primal == pytest.approx(case.objective(found.parameters), rel=1e-9)
    assert found.dual <= found.primal


def test_without_a_limit_time_never_ends(monkeypatch):
    monkeypatch.setattr(deadline, "clock", lambda: 1e300)
    check_time()
    with time_limit(None):
        check_time()
        assert seconds_left() == np.inf
