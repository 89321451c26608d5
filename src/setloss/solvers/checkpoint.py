"""Checkpoints: the best parameters of a run in one small file, from which another run starts.

The file holds the parameters, a digest of the problem, the iterations and seconds spent, and the method at work. It
replaces the one before in a single step, so a crash leaves the old file or the new one. Resuming is a warm start: the
solver begins at the parameters and computes every bound anew.
"""

from __future__ import annotations

import glob
import os
import warnings
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from setloss.typing import Array

FORMAT = "setloss-checkpoint-3"
_FIELDS = ("format", "digest", "parameters", "iteration", "seconds", "method")
_DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    EOFError,
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors that reading a damaged file raises."""


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message says why and what to do."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; training goes on, and the file written before stays."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Parameters, iterations, seconds and the name of the method at work."""

    parameters: Array
    iteration: int
    seconds: float
    method: str


@dataclass
class Checkpoint:
    """A file for the progress on the problem with this digest; without a path it does nothing."""

    path: Path | None
    digest: str
    failed: bool = False

    @classmethod
    def at(cls, path: str | Path | None, digest: str) -> Checkpoint:
        """The checkpoint at `path`, which must be a file or nothing yet, in a folder that can be written."""
        if path is None:
            return cls(None, digest)
        target = Path(path)
        try:
            if target.exists() and not target.is_file():
                raise CheckpointError(f"the checkpoint {target} is not a file; give the name of one")
        except OSError as error:
            why = error.strerror
            raise CheckpointError(f"the checkpoint {target} cannot be used ({why}); give another") from None
        if not target.parent.is_dir():
            raise CheckpointError(f"the folder of the checkpoint {target} does not exist; create it first")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise CheckpointError(f"the folder of the checkpoint {target} cannot be written; give another")
        return cls(target, digest)

    def read(self) -> Progress | None:
        """The progress in the file, None if there is no file."""
        if self.path is None or not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file:
                arrays = np.load(file, allow_pickle=False)
                found = {name: arrays[name] for name in _FIELDS}
            progress = Progress(
                found["parameters"], int(found["iteration"]), float(found["seconds"]), str(found["method"])
            )
        except _DAMAGE as error:
            raise CheckpointError(
                f"{self.path} is damaged or no checkpoint of this version of setloss ({type(error).__name__}); "
                "delete it to start anew, or give another path"
            ) from None
        self._check(str(found["format"]), str(found["digest"]), progress)
        return progress

    def _check(self, written_as: str, digest: str, progress: Progress) -> None:
        """Refuse the progress of another problem, and numbers that no run has."""
        if written_as != FORMAT:
            raise CheckpointError(f"{self.path} has the format {written_as[:40]!r}, not {FORMAT!r}; delete it")
        if digest != self.digest:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another problem (data, labels, loss, operator or C differ); "
                "delete it, or give another path"
            )
        values = progress.parameters
        sound = values.dtype == np.float64 and bool(np.isfinite(values).all())
        if not (sound and progress.iteration >= 0 and 0 <= progress.seconds < np.inf):
            raise CheckpointError(f"the checkpoint {self.path} does not fit this problem; delete it to start anew")

    def write(self, progress: Progress) -> None:
        """Replace the file in one step. Where that fails, warn once and keep the old one."""
        if self.path is None:
            return
        try:
            self._replace(self.path, progress)
        except OSError as error:
            if not self.failed:
                self.failed = True
                warnings.warn(
                    f"the checkpoint {self.path} cannot be written ({error.strerror or error}); training goes on and "
                    "the file written before is kept. This is said once; later checkpoints are still tried.",
                    CheckpointWarning,
                    stacklevel=5,
                )

    def _replace(self, path: Path, progress: Progress) -> None:
        target = Path(os.path.realpath(path))
        for stale in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):  # of runs that were killed
            with suppress(OSError):
                stale.unlink()
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as file:
                np.savez(
                    file,
                    format=np.array(FORMAT),
                    digest=np.array(self.digest),
                    parameters=progress.parameters,
                    iteration=np.array(progress.iteration),
                    seconds=np.array(progress.seconds),
                    method=np.array(progress.method),
                )
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
