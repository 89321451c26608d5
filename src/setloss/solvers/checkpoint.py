"""Checkpoints: the state of a solver on disk, written atomically, resumed only on the very same problem."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from setloss.solvers.loop import State
    from setloss.solvers.problem import Problem

FORMAT = "setloss-checkpoint-1"
_NUMBERS = ("primal", "dual", "iteration", "passes", "exact")
_GROWING = frozenset(("planes", "plane_offsets", "idle", "bags"))


class CheckpointError(ValueError):
    """A checkpoint file that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Checkpoint:
    """A file and the fingerprint of the problem and method it belongs to; without a path it does nothing."""

    path: Path | None
    fingerprint: str

    @classmethod
    def at(cls, path: str | Path | None, problem: Problem, method: str) -> Checkpoint:
        """The checkpoint of this problem and method at `path`."""
        if path is None:
            return cls(None, "")
        target = Path(path)
        if target.is_dir():
            raise CheckpointError(f"the checkpoint {target} is a folder; give the name of a file")
        if not target.parent.is_dir():
            raise CheckpointError(f"the folder of the checkpoint {target} does not exist; create it first")
        return cls(target, f"{method}:{fingerprint(problem)}")

    def restore(self, state: State) -> float:
        """Bring `state` to where the file says, if there is one; returns the seconds spent before."""
        if self.path is None or not self.path.exists():
            return 0.0
        header, arrays = self._read(self.path)
        if header.get("fingerprint") != self.fingerprint:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another problem or solver (data, labels, loss, operator, "
                "C or solver differ). Delete it, or give another path."
            )
        names = {"best", *state.arrays}
        grown = {len(arrays[name]) for name in _GROWING & set(arrays)}
        fixed = {name for name in names & set(arrays) if name not in _GROWING}
        if (
            set(arrays) != names
            or len(grown) > 1
            or any(arrays[name].shape != _get(state, name).shape for name in fixed)
            or any(arrays[name].shape[1:] != _get(state, name).shape[1:] for name in names - fixed)
        ):
            raise CheckpointError(f"the checkpoint {self.path} does not fit this problem; delete it to start anew")
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
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                header = json.loads(str(file["header"]))
                if header.get("format") != FORMAT or not {"seconds", *_NUMBERS} <= set(header):
                    raise KeyError("format")
                return header, {name: file[name] for name in file.files if name != "header"}
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(
                f"{path} is not a checkpoint of setloss, or it is damaged ({type(error).__name__}). "
                "Delete it to start anew, or give another path."
            ) from None


def _get(state: State, name: str) -> Any:
    return state.best if name == "best" else state.arrays[name]


def fingerprint(problem: Problem) -> str:
    """A digest of everything the solution depends on."""
    digest = hashlib.sha256()
    design = problem.design
    rows = (design.dense, design.data, design.indices, design.indptr)
    arrays = (*rows, *problem.maps, problem.costs, *problem.surrogate.arrays)
    digest.update(repr((problem.shape, design.constant)).encode())
    for array in arrays:
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
