"""Files that appear whole or not at all, and paths that are not files."""

import os
import socket
import stat
from pathlib import Path

import pytest

from setloss.files import not_a_file, replacing


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
