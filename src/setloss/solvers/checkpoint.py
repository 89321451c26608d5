"""Checkpoints: the state of a solver on disk, written atomically, resumed only on the very same problem."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from setloss.archives import DAMAGE, ArchiveError, array_header, open_archive, read_array

if TYPE_CHECKING:
    from setloss.solvers.loop import State, Trainable

FORMAT = "setloss-checkpoint-1"
_NUMBERS = ("primal", "dual", "iteration", "passes", "exact")
_GROWING = frozenset(("planes", "plane_offsets", "idle", "bags", "ids"))


class CheckpointError(ValueError):
    """A checkpoint file that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A file and the fingerprint of the problem and method it belongs to; without a path it does nothing."""

    path: Path | None
    fingerprint: str
    bags: int = 0

    @classmethod
    def at(cls, path: str | Path | None, problem: Trainable, method: str) -> Checkpoint:
        """The checkpoint of this problem and method at `path`."""
        if path is None:
            return cls(None, "")
        target = Path(path)
        if target.is_dir():
            raise CheckpointError(f"the checkpoint {target} is a folder; give the name of a file")
        if not target.parent.is_dir():
            raise CheckpointError(f"the folder of the checkpoint {target} does not exist; create it first")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise CheckpointError(
                f"the checkpoint {target} cannot be written: its folder does not let us; give another"
            )
        bags = 0 if problem.surrogate is None else len(problem.surrogate.bags)
        return cls(target, f"{method}:{problem.fingerprint()}", bags)

    def restore(self, state: State) -> float:
        """Bring `state` to where the file says, if there is one; returns the seconds spent before."""
        if self.path is None or not self.path.exists():
            return 0.0
        header, arrays = self._read(self.path)
        if header.get("fingerprint") != self.fingerprint:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another problem or solver (data, labels, loss, operator, "
                "C or solver differ); delete it, or give another path"
            )
        misfit = _misfit(arrays, {"best": state.best, **state.arrays}, self.bags)
        if misfit:
            raise CheckpointError(
                f"the checkpoint {self.path} does not fit this problem: {misfit}; delete it to start anew"
            )
        state.best = arrays["best"]
        state.derived.clear()
        for name in state.arrays:
            state.arrays[name] = arrays[name]
        for name in _NUMBERS:
            setattr(state, name, header[name])
        return float(header["seconds"])

    def write(self, state: State, seconds: float) -> None:
        """Replace the file in one step: a crash leaves the old one or the new one, never half of either."""
        if self.path is None:
            return
        header: dict[str, Any] = {"format": FORMAT, "fingerprint": self.fingerprint, "seconds": seconds}
        header |= {name: getattr(state, name) for name in _NUMBERS}
        arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), "best": state.best, **state.arrays}
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def _read(self, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            with open_archive(path) as archive:
                members = archive.namelist()
                for member in members:
                    array_header(archive, member)
                arrays = {member.removesuffix(".npy"): read_array(archive, member) for member in members}
            header = json.loads(str(arrays.pop("header")))
            if header.get("format") != FORMAT:
                raise ArchiveError(f"has the format {str(header.get('format'))[:40]!r} and not {FORMAT!r}")
            for name in ("seconds", *_NUMBERS):
                if not _is_number(header.get(name)):
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


def _is_number(value: object) -> bool:
    """Whether a field of the header is a number; the values of both objectives may be infinite, but not NaN."""
    return isinstance(value, int | float) and not math.isnan(value)


def _misfit(found: dict[str, Any], expected: dict[str, Any], bags: int) -> str:
    """Why arrays cannot take the place of those of a state, or nothing; some of them grow, all by as many rows.

    Solvers look up by `counts` and `bags`, kernels without a check, so their range is checked here.
    """
    if set(found) != set(expected):
        return f"it holds {', '.join(sorted(found))[:200]}"
    if len({found[name].shape[:1] for name in _GROWING & set(found)}) > 1:
        return "its planes are of unequal number"
    ranges = {"bags": (0, bags - 1)}
    if "weights" in expected:
        ranges["counts"] = (1, expected["weights"].shape[-1])
    for name in expected:
        if not _like(found[name], expected[name], name in _GROWING):
            return f"{name} is {found[name].dtype} of shape {found[name].shape}"
        if name != "gaps" and not np.isfinite(found[name]).all():
            return f"{name} is not finite"
        low, high = ranges.get(name, (-np.inf, np.inf))
        if not np.all((low <= found[name]) & (found[name] <= high)):
            return f"{name} is out of range"
    return ""


def _like(found: NDArray[Any], expected: NDArray[Any], grows: bool) -> bool:
    same = found.dtype == expected.dtype and found.ndim == expected.ndim
    return same and found.shape[grows:] == expected.shape[grows:]
