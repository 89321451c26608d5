"""The CPU time of every test, children included, and the list of the slow ones that ``make check`` leaves out.

``CPU_TIMES=FOLDER python -m pytest -p helpers.cpu_times`` measures, after a first run has compiled the kernels, and
``PYTHONPATH=tests python -m helpers.cpu_times FOLDER`` puts what it found into ``tests/slow.txt``; tests that did not
run stay as they are there. The times of a test with its parameters are summed. A fixture of a module counts for the
first test that asks for it, so that a slow test that is left out leaves it to the next: measure again with
``-m "not slow"``, or name the fixture in ``tests/conftest.py``.
"""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

SLOW = 0.1
"""CPU seconds of a test, over all its parameters, from which on it is slow."""

LIST = Path(__file__).parents[1] / "slow.txt"


def cpu_seconds() -> float:
    """What this process and its ended children have used, and those of its fork server; Windows does not say."""
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) + _of_fork_server()


def _of_fork_server() -> float:
    """Where Linux says so: the server is a child that does not end."""
    from multiprocessing import forkserver

    process = forkserver._forkserver._forkserver_pid
    if process is None or not Path(f"/proc/{process}/stat").exists():
        return 0.0
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note the time of a test, with its fixtures."""
    began = cpu_seconds()
    result = yield
    folder = Path(os.environ["CPU_TIMES"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{os.getpid()}.txt").open("a", encoding="utf-8") as file:
        file.write(f"{cpu_seconds() - began:.3f} {item.nodeid}\n")
    return result


def without_parameters(name: str) -> str:
    """The name of the function that a test calls."""
    return name.partition("[")[0]


def seconds_of_tests(folder: Path) -> Counter[str]:
    """The sums of the notes in a folder."""
    seconds: Counter[str] = Counter()
    for file in folder.glob("*.txt"):
        for line in file.read_text(encoding="utf-8").splitlines():
            time, _, name = line.partition(" ")
            seconds[without_parameters(name)] += float(time)
    return seconds


def slow_tests(seconds: Counter[str], before: set[str]) -> list[str]:
    """Those of `SLOW` seconds and more, and those of before that were not measured."""
    return sorted({name for name, total in seconds.items() if total >= SLOW} | (before - set(seconds)))


if __name__ == "__main__":
    _before = set(LIST.read_text(encoding="utf-8").split())
    _names = slow_tests(seconds_of_tests(Path(sys.argv[1])), _before)
    LIST.write_text("".join(f"{name}\n" for name in _names), encoding="utf-8")
