"""Files that appear whole or not at all, one writer at a time, and paths that are not files."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from setloss.files import BusyFileError, not_a_file, only_writer, replacing


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "kept"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(bytes(1 // 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    with replacing(tmp_path / "ours") as file:
        file.write(b"")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_link_goes_on_pointing_to_what_is_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_the_longest_name_that_the_system_takes_can_be_replaced(tmp_path):
    path = tmp_path / ("x" * 255)
    with replacing(path) as file:
        file.write(b"new")
    with only_writer(path):  # there is no room for the name of a lock
        pass
    assert path.read_bytes() == b"new"


def test_two_writers_of_one_process_exclude_each_other_and_leave_no_lock(tmp_path):
    path = tmp_path / "state"
    outcomes = []

    def second():
        try:
            with only_writer(path):
                outcomes.append("went on")
        except BusyFileError:
            outcomes.append("refused")

    with only_writer(path):
        thread = Thread(target=second)
        thread.start()
        thread.join()
    second()
    assert outcomes == ["refused", "went on"]
    assert not list(tmp_path.iterdir())


HOLD = "import sys\nfrom pathlib import Path\nfrom setloss.files import only_writer\n" + (
    "with only_writer(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
)


def test_the_lock_of_a_killed_process_is_free_again(tmp_path):
    path = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline().strip() == b"held"
        with pytest.raises(BusyFileError), only_writer(path):
            pass
        child.kill()
    with only_writer(path):
        pass


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "a pipe"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
        (lambda path: socket.socket(socket.AF_UNIX).bind(str(path)), "a socket"),
    ],
    ids=["folder", "pipe", "device", "socket"],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_no_file_is_named(tmp_path, monkeypatch, make, word):
    monkeypatch.chdir(tmp_path)
    make(Path("odd"))
    assert not_a_file(tmp_path / "odd") == word


def test_files_and_names_that_are_free_are_fine(tmp_path):
    (tmp_path / "file").write_text("")
    assert not_a_file(tmp_path / "file") is None
    assert not_a_file(tmp_path / "free") is None
    assert not_a_file(tmp_path / "free" / "within") is None


def test_a_name_that_is_too_long_is_said_to_be(tmp_path):
    assert "File name too long" in not_a_file(tmp_path / ("x" * 300))
    assert "null" in not_a_file(tmp_path / "a\0b")
