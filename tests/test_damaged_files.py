"""Whatever the bytes, a reader returns data or raises its own error in one sentence; nothing in a file runs.

Coverage-guided fuzzing of the same readers is in fuzz/, by ``make fuzz``.
"""

import sys
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.broken import good, reading
from helpers.broken.damage import damaged

NEEDS = {"csv": ("pandas",), "parquet": ("pandas", "pyarrow"), "skops": ("skops",)}
EXAMPLES = {"parquet": 80, "checkpoint.npz": 40}
FORBIDDEN = ("os.system", "os.exec", "os.spawn", "subprocess.Popen", "pickle.find_class", "socket.connect")
watched: list[str] = []


def watch(event, arguments):
    """What would be a foothold of a hostile file; the interpreter keeps such a hook for good."""
    if watched and event in FORBIDDEN:
        watched.append(event)


sys.addaudithook(watch)


def outcome(suffix, path):
    watched[:] = ["watching"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reading.outcome(suffix, path)
    finally:
        events, watched[:] = watched[1:], []
        assert not events


def skip_without(suffix):
    for module in NEEDS.get(suffix, ()):
        pytest.importorskip(module)


@pytest.mark.parametrize("suffix", good.FILES)
def test_good_files_are_read(tmp_path, suffix):
    skip_without(suffix)
    for content in good.FILES[suffix]():
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(content)
        assert not isinstance(outcome(suffix, path), Exception)


@pytest.mark.parametrize("suffix", good.FILES)
def test_damaged_files_end_in_data_or_in_the_readers_own_error(tmp_path, suffix):
    skip_without(suffix)
    path = tmp_path / f"a.{suffix}"

    @settings(max_examples=EXAMPLES.get(suffix, 100), suppress_health_check=list(HealthCheck), deadline=30_000)
    @given(damaged(suffix))
    def check(content):
        path.write_bytes(content)
        outcome(suffix, path)

    check()


@pytest.mark.parametrize("suffix", good.FILES)
def test_every_prefix_is_refused_or_read(tmp_path, suffix):
    skip_without(suffix)
    path = tmp_path / f"a.{suffix}"
    content = good.FILES[suffix]()[0]
    for length in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:length])
        outcome(suffix, path)


@settings(max_examples=30)
@given(st.binary(max_size=300), st.sampled_from(["svm", "arff", "xml", "npz", "table.csv", "table.npy"]))
def test_bytes_of_no_meaning(tmp_path_factory, content, suffix):
    path = tmp_path_factory.getbasetemp() / f"a.{suffix}"
    path.write_bytes(content)
    outcome(suffix, path)
