"""Checkpoints: the state of a solver on disk, written atomically, resumed only on the very same problem.

What the file says of both objectives is not believed: the method computes it again (`setloss.solvers.verification`).
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE, ArchiveError, array_header, open_archive, read_array
from setloss.files import BusyFileError, not_a_file, only_writer, replacing
from setloss.solvers.verification import ImpossibleStateError

if TYPE_CHECKING:
    from setloss.solvers.loop import State, Trainable

FORMAT = "setloss-checkpoint-2"
_NUMBERS = ("primal", "dual", "iteration", "passes", "exact")
LARGEST = 1e150
"""Numbers of a state are smaller: features are below 1e100."""

_PER_PLANE = frozenset(("planes", "plane_offsets", "idle", "bags", "ids", "points", "multipliers", "born"))
_GROWING = _PER_PLANE | {"iterates"}


class CheckpointError(ValueError):
    """A checkpoint file that cannot be used; the message says why and what to do."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; training goes on, and the one before stays."""


@dataclass
class Checkpoint:
    """A file and the fingerprint of the problem and method it belongs to; without a path it does nothing."""

    path: Path | None
    fingerprint: str
    bags: int = 0
    failed: bool = field(default=False, init=False)

    @classmethod
    def at(cls, path: str | Path | None, problem: Trainable, method: str) -> Checkpoint:
        """The checkpoint of this problem and method at `path`."""
        if path is None:
            return cls(None, "")
        target = Path(path)
        wrong = not_a_file(target)
        if wrong is not None:
            raise CheckpointError(f"the checkpoint {target} is {wrong}; give the name of a file")
        if not target.parent.is_dir():
            raise CheckpointError(f"the folder of the checkpoint {target} does not exist; create it first")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise CheckpointError(
                f"the checkpoint {target} cannot be written: its folder does not let us; give another"
            )
        bags = 0 if problem.surrogate is None else len(problem.surrogate.bags)
        return cls(target, f"{method}:{problem.fingerprint()}", bags)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other runs away from the file, or say that one of them is already writing it."""
        if self.path is None:
            yield
            return
        try:
            with only_writer(self.path):
                yield
        except BusyFileError:
            raise CheckpointError(
                f"another run is writing the checkpoint {self.path}; wait for its end, or give each a path of its own"
            ) from None

    def resume(self, state: State, verify: Callable[[], None]) -> float:
        """Bring `state` to where the file says, if there is one, and verify it; returns the seconds spent before."""
        if self.path is None or not self.path.exists():
            return 0.0
        seconds = self._restore(self.path, state)
        try:
            verify()
        except ImpossibleStateError as error:
            raise self._does_not_fit(str(error)) from None
        return seconds

    def _does_not_fit(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.path} does not fit this problem: {why}; delete it to start anew"
        )

    def _restore(self, path: Path, state: State) -> float:
        header, arrays = self._read(path)
        if header.get("fingerprint") != self.fingerprint:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another problem or solver (data, labels, loss, operator, "
                "C or solver differ); delete it, or give another path"
            )
        misfit = _misfit(arrays, {"best": state.best, **state.arrays}, self.bags)
        if misfit:
            raise self._does_not_fit(misfit)
        state.best = arrays["best"]
        exact = state.exact
        for name in state.arrays:
            state.arrays[name] = arrays[name]
        state.arrays_replaced()
        for name in _NUMBERS:
            setattr(state, name, header[name])
        state.exact &= exact
        return float(header["seconds"])

    def write(self, state: State, seconds: float) -> None:
        """Replace the file in one step; where that fails, warn once and leave the old one: the work is worth more."""
        if self.path is None:
            return
        header: dict[str, Any] = {"format": FORMAT, "fingerprint": self.fingerprint, "seconds": seconds}
        header |= {name: getattr(state, name) for name in _NUMBERS}
        arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), "best": state.best, **state.arrays}
        try:
            with replacing(self.path) as file:
                np.savez(file, **arrays)
        except OSError as error:
            self._warn_once(error)

    def _warn_once(self, error: OSError) -> None:
        if not self.failed:
            self.failed = True
            warnings.warn(
                f"the checkpoint {self.path} cannot be written ({error.strerror or error}); training goes on and the "
                "file of before is kept. This is said once; later checkpoints are tried all the same.",
                CheckpointWarning,
                stacklevel=4,
            )

    def _read(self, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            with open_archive(path) as archive:
                members = archive.namelist()
                for member in members:
                    array_header(archive, member)
                arrays = {member.removesuffix(".npy"): read_array(archive, member) for member in members}
            header = json.loads(str(arrays.pop("header")))
            if not isinstance(header, dict):
                raise ArchiveError("has a header that is no dictionary")
            if header.get("format") != FORMAT:
                raise ArchiveError(f"has the format {str(header.get('format'))[:40]!r} and not {FORMAT!r}")
            for name in ("seconds", *_NUMBERS):
                if not _is_possible(name, header.get(name)):
                    raise ArchiveError(f"has {str(header.get(name))[:40]!r} for {name} in its header")
            return header, arrays
        except ArchiveError as error:
            what = f": it {error}"
        except DAMAGE as error:
            what = f" ({type(error).__name__})"
        raise CheckpointError(
            f"{path} is not a checkpoint of setloss, or it is damaged{what}; delete it to start anew, or give "
            "another path"
        )


def _is_possible(name: str, value: object) -> bool:
    """Whether a field of the header is one that a run can have: objectives may be infinite, counts are not."""
    if name == "exact":
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name == "iteration":
        return isinstance(value, int) and 0 <= value < 2**63
    return not math.isnan(value) if name in ("primal", "dual") else 0 <= value < math.inf


def _misfit(found: dict[str, Any], expected: dict[str, Any], bags: int) -> str:
    """Why arrays cannot take the place of those of a state, or nothing; some of them grow, all by as many rows.

    Solvers look up by `counts` and `bags`, kernels without a check, so their range is checked here.
    """
    if set(found) != set(expected):
        return f"it holds {', '.join(sorted(found))[:200]}"
    if len({found[name].shape[:1] for name in _PER_PLANE & set(found)}) > 1:
        return "its planes are of unequal number"
    ranges: dict[str, tuple[float, float]] = {"bags": (0, bags - 1), "gaps": (0, np.inf)}
    if "weights" in expected:
        ranges["counts"] = (1, expected["weights"].shape[-1])
    for name in expected:
        if not _like(found[name], expected[name], name in _GROWING):
            return f"{name} is {found[name].dtype} of shape {found[name].shape}"
        if name != "gaps" and not np.isfinite(found[name]).all():
            return f"{name} is not finite"
        low, high = ranges.get(name, (-LARGEST, LARGEST))
        if not np.all((low <= found[name]) & (found[name] <= high)):
            return f"{name} is out of range"
    return ""


def _like(found: NDArray[Any], expected: NDArray[Any], grows: bool) -> bool:
    same = found.dtype == expected.dtype and found.ndim == expected.ndim
    return same and found.shape[grows:] == expected.shape[grows:]
