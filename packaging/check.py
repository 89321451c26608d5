"""Build the wheel and the sdist, install them into fresh environments, and run the fast core tests in each.

``python packaging/check.py`` runs every job, ``python packaging/check.py core oldest`` some of them; `--python` names
the interpreters of the environments, as often as wanted. Nothing is written outside of a temporary folder, unless
`--out` names one for the wheel and the sdist, where all jobs have passed. A job that fails does not keep the others
from running; all of them are listed at the end, and the exit code is 1. Jobs:

sdist   the source distribution installs and its command runs
core    no extras, wheels only (so no compiler), and no licence of the GPL among what is installed
oldest  the oldest versions that pyproject.toml allows, with every extra but torch
others  one for each extra, alone
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple(extra for extra in PROJECT["optional-dependencies"] if extra != "all")
OLD_EXTRAS = tuple(extra for extra in EXTRAS if extra != "torch")
JOBS = ("sdist", "core", *EXTRAS, "oldest")

TEST_TOOLS = ("pytest>=8", "pytest-xdist>=3.7", "hypothesis>=6.100", "mpmath>=1.3")
FIXED = ("torch==2.13.0",)
"""What an extra takes in place of its lower bound or newest version."""

CORE_TESTS = (
    "setfunctions", "losses", "plans/test_batch.py", "cli", "io",
    "test_plots.py", "decomposition/test_closed_forms.py", "operators/test_cut.py",
    "operators/test_bd.py", "solvers/test_loop.py", "estimators", "nn/test_without_torch.py",
)  # fmt: skip
TESTS_OF_DASK = ("dask/test_estimators.py",)
TESTS_OF_EXTRAS = {"torch": ("nn/test_loss.py",), "dask": TESTS_OF_DASK, "oldest": TESTS_OF_DASK}

LICENCES = """
import sys
from importlib.metadata import distributions
for found in distributions():
    about = found.metadata
    names = [about.get("License-Expression") or "", *(c for c in about.get_all("Classifier") or () if "License" in c)]
    text = "; ".join(name for name in names if name) or (about.get("License") or "unknown").splitlines()[0]
    print(f"{about['Name']} {found.version}: {text}")
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own."""

    folder: Path

    @classmethod
    def new(cls, folder: Path, python: str) -> Environment:
        run(python, "-m", "venv", folder)
        return cls(folder)

    @property
    def commands(self) -> Path:
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    @property
    def python(self) -> Path:
        return self.commands / "python"

    def install(self, *requirements: object) -> None:
        """Wheels only: what needs a compiler fails here."""
        run(self.python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *requirements)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: the last line of its tests, or that it failed."""

    python: str
    job: str
    passed: bool
    said: str


class CheckFailedError(Exception):
    """A command of a job ended with a code other than 0."""


def main() -> None:
    """Run the jobs of the command line and say how each of them ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("jobs", nargs="*", default=[], metavar=f"{{{','.join(JOBS)}}}")
    parser.add_argument("--python", action="append", metavar="PATH", help="an interpreter; again for one more")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="a folder for the wheel and the sdist, if all jobs pass"
    )
    options = parser.parse_args()
    unknown = sorted(set(options.jobs) - set(JOBS))
    if unknown:
        parser.error(f"unknown job {', '.join(unknown)}; there are {', '.join(JOBS)}")
    pythons = options.python or [sys.executable]
    if options.out and len(pythons) > 1:
        parser.error("--out takes the files of one interpreter; name one --python")
    outcomes = [outcome for python in pythons for outcome in check_all(options.jobs or JOBS, python, options.out)]
    say("\n| Python | job | ended | tests |\n|---|---|---|---|")
    for outcome in outcomes:
        say(f"| {outcome.python} | {outcome.job} | {'passed' if outcome.passed else 'FAILED'} | {outcome.said} |")
    sys.exit(not all(outcome.passed for outcome in outcomes))


def check_all(jobs: Iterable[str], python: str, out: Path | None) -> Iterator[Outcome]:
    """Every job in an environment of this interpreter; where all pass, wheel and sdist go to `out`."""
    version = run(python, "-c", "import platform; print(platform.python_version())")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = build(folder, python)
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        tests = Path(shutil.move(next(folder.glob("setloss-*/")), folder / "tests-of-sdist"))
        shutil.rmtree(tests / "src")
        all_passed = True
        for job in jobs:
            began = time.monotonic()
            environment = Environment.new(folder / job, python)
            try:
                said, passed = check(job, environment, wheel, sdist, tests), True
            except CheckFailedError as failure:
                say(str(failure))
                said, passed = "see above", False
            shutil.rmtree(environment.folder)
            say(f"Python {version}, {job}: {said} ({time.monotonic() - began:.0f} s)")
            all_passed &= passed
            yield Outcome(version, job, passed, said)
        if out and all_passed:
            out.mkdir(parents=True, exist_ok=True)
            for file in (wheel, sdist):
                shutil.copy(file, out)


def build(folder: Path, python: str) -> tuple[Path, Path]:
    """The wheel and the sdist, with metadata that the index takes."""
    tools = Environment.new(folder / "build", python)
    tools.install("build", "twine")
    run(tools.python, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
    wheel, sdist = next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz"))
    run(tools.python, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def check(job: str, environment: Environment, wheel: Path, sdist: Path, tests: Path) -> str:
    """One job; returns the last line of its tests."""
    if job == "sdist":
        run(environment.python, "-m", "pip", "install", "--quiet", sdist)
        return run(environment.commands / "setloss", "--version")
    if job == "oldest":
        bounds = environment.folder / "lower-bounds.txt"
        bounds.write_text("\n".join(lower_bounds()) + "\n", encoding="utf-8")
        environment.install(f"{wheel}[{','.join(OLD_EXTRAS)}]", "-c", bounds)
    elif job == "core":
        environment.install(wheel)
        refuse_gpl(environment)
    else:
        fixed = [line for line in FIXED if line.startswith(job)]
        environment.install(*fixed, f"{wheel}[{job}]")
    environment.install(*TEST_TOOLS)
    chosen = [tests / "tests" / name for name in (*CORE_TESTS, *TESTS_OF_EXTRAS.get(job, ()))]
    # Old packages use what new ones of others have deprecated meanwhile.
    lenient = ["-W", "default::DeprecationWarning", "-W", "default::FutureWarning"] if job == "oldest" else []
    fast = ["-n", "2", "-m", "not slow"]
    return run(environment.python, "-m", "pytest", *fast, *lenient, *chosen, cwd=tests).splitlines()[-1]


def lower_bounds() -> Iterator[str]:
    """The oldest version of everything that pyproject.toml names, but for torch and the tools."""
    extras = PROJECT["optional-dependencies"]
    for requirement in (*PROJECT["dependencies"], *(line for extra in OLD_EXTRAS for line in extras[extra])):
        # Constraints name no extras; `>=` of the Python that a line is for stays as it is.
        bound, semicolon, python = re.sub(r"\[.*?\]", "", requirement).partition(";")
        yield bound.replace(">=", "==") + semicolon + python


def refuse_gpl(environment: Environment) -> None:
    """Fail where the metadata of an installed package name the GPL."""
    lines = run(environment.python, "-c", LICENCES).splitlines()
    say("\n".join(f"  {line}" for line in sorted(lines)))
    bad = [line for line in lines if re.search(r"\bA?GPL|GNU (Affero )?General Public", line)]
    if bad:
        raise CheckFailedError(f"licences of the GPL: {'; '.join(bad)}")


def run(*command: object, cwd: Path | None = None) -> str:
    """What a command prints; where it fails, an error with the end of it."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise CheckFailedError(
            f"{' '.join(map(str, command))}\n{done.stdout[-8000:]}\nended with code {done.returncode}"
        )
    return done.stdout.strip()


def say(text: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
