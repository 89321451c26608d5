"""Checkpoints: the best parameters of a run in one small file, from which another run starts.

The file holds the parameters, a digest of the problem, the iterations and seconds spent, and the method at work. It
replaces the one before in a single step, so a crash leaves the old file or the new one. Resuming is a warm start: the
solver begins at the parameters and computes every bound anew.
"""

from __future__ import annotations

import os
import warnings
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from setloss.files import replacing
from setloss.typing import Array

FORMAT = "setloss-checkpoint-3"

_DAMAGE = (OSError, ValueError, TypeError, ArithmeticError, LookupError, EOFError, MemoryError, NotImplementedError)
"""Errors that reading a damaged file raises, beside those of archives."""


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


@dataclass(frozen=True)
class Checkpoint:
    """A file for the progress on the problem with this digest; without a path it does nothing."""

    path: Path | None
    digest: str

    @classmethod
    def at(cls, path: str | Path | None, digest: str) -> Checkpoint:
        """The checkpoint at `path`, which must be a file or nothing yet, in a folder that can be written."""
        if path is None:
            return cls(None, digest)
        target = Path(path)
        try:
            usable = target.is_file() if target.exists() else target.parent.is_dir()
        except OSError:  # a name that is too long, a folder that is closed
            usable = False
        if not usable or not os.access(target.parent, os.W_OK | os.X_OK):
            raise CheckpointError(
                f"the checkpoint {target} cannot be written: it must be a file, or nothing yet in a folder that "
                "exists and can be written; give another path"
            )
        return cls(target, digest)

    def read(self) -> Progress | None:
        """The progress in the file, None if there is no file."""
        if self.path is None or not self.path.exists():
            return None
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                written_as, digest, method = (str(arrays[name]) for name in ("format", "digest", "method"))
                numbers = arrays["parameters"], int(arrays["iteration"]), float(arrays["seconds"])
        except (*_DAMAGE, zipfile.BadZipFile, zlib.error) as error:
            raise CheckpointError(
                f"{self.path} is damaged or no checkpoint of this version of setloss ({type(error).__name__}); "
                "delete it to start anew, or give another path"
            ) from None
        if written_as != FORMAT:
            raise CheckpointError(f"{self.path} has the format {written_as[:40]!r}, not {FORMAT!r}; delete it")
        if digest != self.digest:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to another problem (data, labels, loss, operator or C differ); "
                "delete it, or give another path"
            )
        parameters, iteration, seconds = numbers
        finite = parameters.dtype == np.float64 and np.isfinite(parameters).all()
        if not finite or iteration < 0 or not 0 <= seconds < np.inf:
            raise CheckpointError(f"the numbers in {self.path} are not those of a run; delete it to start anew")
        return Progress(*numbers, method)

    def write(self, progress: Progress) -> None:
        """Replace the file in one step. Where that fails, warn and keep the old one."""
        if self.path is None:
            return
        try:
            with replacing(self.path) as file:
                np.savez(file, format=FORMAT, digest=self.digest, **asdict(progress))
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} cannot be written ({error.strerror or error}); training goes on and the "
                "file written before is kept. Later checkpoints are still tried.",
                CheckpointWarning,
                stacklevel=5,
            )
