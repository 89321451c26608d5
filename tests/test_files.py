"""Files that appear whole or not at all."""

import stat

import pytest

from setloss.files import replacing


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(bytes(1 // 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_file_is_replaced_in_one_step_and_keeps_its_permissions(tmp_path, mode):
    (path := tmp_path / "kept").write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {mode}  # from the first byte on
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_goes_on_pointing_to_what_is_replaced(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
