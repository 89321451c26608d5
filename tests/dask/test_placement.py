"""Every worker gets its share of the partitions, and keeps them while it is there."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from setloss.dask.placement import Placement


@dataclass(frozen=True)
class Part:
    key: str


@dataclass
class Client:
    """A client that knows who is there and who has what."""

    threads: dict[str, int]
    holders: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def nthreads(self):
        return dict(self.threads)

    def who_has(self, parts):
        return {part.key: self.holders.get(part.key, ()) for part in parts}


def placed(threads, where):
    """A placement of partitions that lie at these workers, one letter each, and what is to move."""
    parts = [Part(str(index)) for index in range(len(where))]
    client = Client(dict(threads), {part.key: (worker,) for part, worker in zip(parts, where, strict=True)})
    placement = Placement(client)
    return placement, client, parts, placement.settle(parts)


@pytest.mark.parametrize("where", ["aabb", "abab", "baab"])
def test_partitions_that_lie_evenly_stay(where):
    placement, _, parts, moves = placed({"a": 1, "b": 1}, where)
    assert "".join(placement.homes) == where
    assert moves == {}
    assert placement.settle(parts) == {}


@pytest.mark.parametrize("where", ["aaab", "aaaa", "abbb", "bbbbbb", "aaaaabbb"])
def test_a_worker_that_has_too_many_gives_some_and_keeps_the_rest(where):
    placement, _, _, moves = placed({"a": 1, "b": 1}, where)
    assert set(Counter(placement.homes).values()) == {len(where) // 2}
    assert moves == {k: home for k, home in enumerate(placement.homes) if home != where[k]}
    assert len(moves) == max(Counter(where).values()) - len(where) // 2


def test_a_worker_of_more_threads_gets_more():
    placement, _, _, _ = placed({"a": 3, "b": 1}, "bbbbbbbb")
    assert Counter(placement.homes) == {"a": 6, "b": 2}
    assert sorted(len(group) for _, group in placement.groups()) == [2, 2, 2, 2]


def test_what_a_lost_worker_had_goes_elsewhere_and_nothing_else_moves():
    placement, client, parts, _ = placed({"a": 1, "b": 1, "c": 1}, "aabbcc")
    del client.threads["c"]
    client.holders.update({"4": ("a",), "5": ("a",)})  # read again, both by one worker
    assert placement.settle(parts) == {5: "b"}
    assert "".join(placement.homes) == "aabbab"


def test_one_that_comes_gets_some_of_the_busiest():
    placement, client, parts, _ = placed({"a": 1, "b": 1}, "aaabbb")
    client.threads["c"] = 1
    moves = placement.settle(parts)
    assert set(moves.values()) == {"c"}
    assert Counter(placement.homes) == {"a": 2, "b": 2, "c": 2}


def test_partitions_that_nobody_has_get_a_home_and_do_not_move():
    placement, client, parts, _ = placed({"a": 1, "b": 1}, "ab")
    client.holders.clear()
    client.threads = {"b": 1, "c": 1}
    assert placement.settle(parts) == {}
    assert set(placement.homes) <= {"b", "c"}
