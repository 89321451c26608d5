"""Face tracks of television series in the layout of the Ball Clustering data (Tapaswi, Law and Fidler, ICCV 2019).

    FOLDER/ids/VIDEO.ids              CVHCI_TRACKLABELS_V1, then lines "TRACK NAME"
    FOLDER/features/VIDEO/TRACK.npy   an array (frames, features) for each track

The nearest public stand-in for the face tracks of the paper: season 5 of Buffy.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE, read_npy
from setloss.datasets.checks import require_finite
from setloss.datasets.data import DatasetError, Tracks

HEADER = "CVHCI_TRACKLABELS_V1"


def has_face_tracks(folder: Path, videos: str = "buffy") -> bool:
    """Whether the folder has labels and features of videos whose names begin so."""
    return any((folder / "features" / file.stem).is_dir() for file in (folder / "ids").glob(f"{videos}*.ids"))


def load_face_tracks(folder: str | Path, person: str = "buffy", videos: str = "buffy") -> Tracks:
    """Is the face that of one person? All labelled tracks of the videos whose names begin with `videos`.

    Tracks are bags of frames; `groups` numbers them over all videos.
    """
    root = Path(folder)
    files = sorted((root / "ids").glob(f"{videos}*.ids"))
    if not files:
        raise DatasetError(
            f"there is no file {root / 'ids' / videos}*.ids; the layout is ids/VIDEO.ids, features/VIDEO"
        )
    frames: list[NDArray[np.float32]] = []
    positive: list[bool] = []
    for file in files:
        for track, name in sorted(_labels(file).items()):
            frames.append(_features(root / "features" / file.stem / f"{track}.npy", frames))
            positive.append(name == person)
    if not any(positive):
        raise DatasetError(f"no track in {root / 'ids'} is labelled {person!r}")
    sizes = [len(part) for part in frames]
    y = np.repeat(np.array(positive, dtype=np.int8), sizes)
    return Tracks(np.concatenate(frames), y, np.repeat(np.arange(len(sizes)), sizes), None)


def _labels(file: Path) -> dict[int, str]:
    """The name of every track of a video."""
    lines = file.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0].strip() != HEADER:
        raise DatasetError(f"{file} does not begin with {HEADER}; it is not a file of track labels")
    found: dict[int, str] = {}
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not words[0].isdigit():
            raise DatasetError(f"line {number} of {file} is {line[:60]!r}; a line is a track and a name")
        if int(words[0]) in found:
            raise DatasetError(f"line {number} of {file} names track {words[0]} a second time")
        found[int(words[0])] = words[1]
    return found


def _features(file: Path, others: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if not file.is_file():
        raise DatasetError(f"there is no file {file}; download the features of all videos that have labels")
    try:
        array = read_npy(file)
    except DAMAGE as error:
        raise DatasetError(f"{file} cannot be read as an array ({type(error).__name__})") from None
    width = others[0].shape[1] if others else None
    if (
        array.ndim != 2
        or not len(array)
        or array.dtype.kind not in "fiu"
        or array.shape[1] != (width or array.shape[1])
    ):
        wanted = f"(frames, {width})" if width else "(frames, features)"
        raise DatasetError(f"{file} holds an array {array.shape} of {array.dtype}; a track is {wanted} numbers")
    array = np.ascontiguousarray(array, dtype=np.float32)
    require_finite(array, lambda row, column: f"frame {row}, feature {column} of {file}")
    return array
