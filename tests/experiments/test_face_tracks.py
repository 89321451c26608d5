"""Face tracks in the layout of the Ball Clustering data, on a generated folder."""

import numpy as np
import pytest

from experiments.loaders import has_face_tracks, load_face_tracks
from experiments.tracks.data import SOURCES, buffy
from setloss.io import DatasetError


def write_video(folder, video="buffy_s05e01", names=("buffy", "riley", "buffy"), width=4):
    generator = np.random.default_rng(len(video))
    (folder / "ids").mkdir(parents=True, exist_ok=True)
    (folder / "features" / video).mkdir(parents=True)
    lines = [f"{10 * t + 2} {name}" for t, name in enumerate(names)]
    (folder / "ids" / f"{video}.ids").write_text("\n".join(["CVHCI_TRACKLABELS_V1", *lines, ""]))
    for t in range(len(names)):
        np.save(folder / "features" / video / f"{10 * t + 2}.npy", generator.normal(size=(t + 1, width)))
    return folder


def test_tracks_of_all_videos_are_bags(tmp_path):
    write_video(write_video(tmp_path), "buffy_s05e02", ("tara", "buffy"))
    write_video(tmp_path, "bbt_s01e01", ("leonard",))
    tracks = load_face_tracks(tmp_path)
    assert tracks.X.shape == (1 + 2 + 3 + 1 + 2, 4)
    assert tracks.groups.tolist() == [0, 1, 1, 2, 2, 2, 3, 4, 4]
    assert tracks.y.tolist() == [1, 0, 0, 1, 1, 1, 0, 1, 1]
    assert load_face_tracks(tmp_path, "leonard", "bbt").y.tolist() == [1]


def test_experiments_find_them(tmp_path):
    assert buffy(tmp_path) is None
    write_video(tmp_path / "buffy")
    assert not has_face_tracks(tmp_path)
    for problem in (buffy(tmp_path), buffy(tmp_path / "buffy"), SOURCES["buffy"](tmp_path, False)):
        assert problem.n_bags == 3
        assert problem.targets[""].sum() == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not begin with CVHCI_TRACKLABELS_V1"),
        ("CVHCI_TRACKLABELS_V1\n2 buffy summers", "line 2 of .* is '2 buffy summers'"),
        ("CVHCI_TRACKLABELS_V1\n2 buffy\n2 riley", "line 3 of .* is '2 riley'"),
        ("CVHCI_TRACKLABELS_V1\n3 buffy", "there is no file .*3.npy; download"),
        ("CVHCI_TRACKLABELS_V1\n2 riley", "no track in .* is labelled 'buffy'"),
    ],
)
def test_broken_labels(tmp_path, text, words):
    write_video(tmp_path)
    (tmp_path / "ids" / "buffy_s05e01.ids").write_text(text)
    with pytest.raises(DatasetError, match=words):
        load_face_tracks(tmp_path)


def test_broken_features(tmp_path):
    write_video(tmp_path)
    file = tmp_path / "features" / "buffy_s05e01" / "12.npy"
    np.save(file, np.zeros((2, 7)))
    with pytest.raises(DatasetError, match=r"has 3 bags of .* features"):
        load_face_tracks(tmp_path)
    file.write_bytes(b"no array")
    with pytest.raises(DatasetError, match="cannot be read as an array"):
        load_face_tracks(tmp_path)
    with file.open("wb") as stream:  # a header that promises terabytes
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 4)})
    with pytest.raises(DatasetError, match="cannot be read as an array"):
        load_face_tracks(tmp_path)
    with pytest.raises(DatasetError, match="there is no file"):
        load_face_tracks(tmp_path / "nowhere")
