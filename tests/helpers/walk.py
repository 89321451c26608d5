"""The walk of a command from the command line to the kernels and back: the modules of setloss whose functions run.

``PYTHONPATH=tests python -m helpers.walk`` trains on a small file and lists them.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import setloss

FILES = (
    "datasets/",
    "files.py",
    "archives.py",
    "cli/data_options.py",
    "cli/models.py",
    "cli/output_",
    "estimators/pers",
    "io/models.py",
)
"""Modules that read the data and write the model, whatever is done in between."""

SOURCES = Path(setloss.__file__).parent


def modules_entered(work: Callable[[], object]) -> list[str]:
    """The modules of setloss in the order in which a function of theirs is first called; imports do not count."""
    found: dict[str, None] = {}

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(SOURCES)):
            called_by_import = frame.f_back is not None and frame.f_back.f_code.co_name == "<module>"
            if not called_by_import:
                found.setdefault(str(Path(code.co_filename).relative_to(SOURCES)))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


def train_small_tracks(folder: Path) -> list[str]:
    """The walk of ``setloss train`` on a few tracks, kernels being compiled already."""
    from helpers.command_line import run

    generator = np.random.default_rng(0)
    X = generator.standard_normal((30, 2))
    data, model = folder / "tracks.npz", folder / "model.skops"
    np.savez(data, X=X, y=(X[:, 0] > 0).astype(int), groups=np.repeat(np.arange(10), 3))

    def work():
        run("train", data, "--loss", "dice", "--operator", "bd", "--model", model)

    work()
    return modules_entered(work)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        walk = train_small_tracks(Path(folder))
    training = [module for module in walk if not module.startswith(FILES)]
    sys.stdout.write("\n".join([*walk, f"{len(walk)} modules, {len(training)} without files"]) + "\n")
